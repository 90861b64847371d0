// SPDX-License-Identifier: Apache-2.0
import ExternalInput
import Testing

@Suite struct JSONBoundsTests {
  private func admits(_ text: String, _ bounds: JSONBounds = .message) -> Bool { bounds.admits(text.utf8) }

  private func nested(_ depth: Int, _ open: String = "[", _ close: String = "]") -> String {
    String(repeating: open, count: depth) + String(repeating: close, count: depth)
  }

  @Test("32 levels are admitted and 33 are not, arrays and objects alike")
  func depth() {
    #expect(admits(nested(32)))
    #expect(!admits(nested(33)))
    #expect(admits(nested(16, "[{\"a\":", "}]")))
    #expect(!admits(nested(17, "[{\"a\":", "}]")))
    // Depth is what is open at one place, not the number of brackets.
    #expect(admits("[" + Array(repeating: nested(31), count: 10).joined(separator: ",") + "]"))
  }

  @Test("values are counted wherever they are, by the number of levels they are in")
  func values() {
    let bounds = JSONBounds(maximumCost: 10)
    #expect(admits("[1,2,3,4,5,6,7,8,9]", bounds))
    #expect(!admits("[1,2,3,4,5,6,7,8,9,10]", bounds))
    #expect(admits(#"{"a":1,"b":[2,3],"c":{"d":4}}"#, bounds))
    #expect(!admits(#"{"a":1,"b":[2,3],"c":{"d":4},"e":5}"#, bounds))
    #expect(admits("[[[[]]]]", JSONBounds(maximumCost: 11)) && !admits("[[[[]]]]", bounds))
  }

  @Test("a report on 150 satellites is admitted")
  func satellites() {
    let one = #"{"PRN":1,"gnssid":0,"svid":1,"az":1.0,"el":1.0,"ss":1.0,"used":true,"health":1}"#
    let all = Array(repeating: one, count: 150).joined(separator: ",")
    #expect(admits(#"{"class":"SKY","device":"/dev/ttyUSB0","satellites":[\#(all)]}"#))
  }

  @Test(
    "what is in a string does not count",
    arguments: [#""[[[[[[[[[[,,,,,,,,,,""#, #""\"[[[[[[[[[[""#, #"["\\","[[[[[[[[[["]"#, #"{"[[[[[[,,,,,,":1}"#])
  func strings(text: String) {
    #expect(admits(text, JSONBounds(maximumCost: 8)))
  }

  @Test("a string that has ended does not hide what follows")
  func afterString() {
    #expect(!admits(#"["\\","# + nested(33) + "]"))
    #expect(!admits("\"\\\"\"" + nested(33)))
  }

  @Test("UTF-16 and UTF-32, where a quotation mark can be half of a character, are not admitted")
  func otherEncodings() {
    for text in ["{}", "[\"\u{2230}\"]", "\u{2230}[]"] {
      let units = Array(text.utf16)
      #expect(!JSONBounds.message.admits(units.flatMap { [UInt8($0 & 255), UInt8($0 >> 8)] }))
      #expect(!JSONBounds.message.admits(units.flatMap { [UInt8($0 >> 8), UInt8($0 & 255)] }))
    }
    #expect(!JSONBounds.message.admits([0x22, 0x00, 0x22]))
  }

  @Test("bytes that are no JSON do no harm")
  func garbage() {
    #expect(admits("]]]]}}}}"))
    #expect(admits(""))
    #expect(admits("\"\\"))
    #expect(JSONBounds.message.admits((UInt8(1)...255).map { $0 }))
  }
}
