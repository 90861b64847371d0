// SPDX-License-Identifier: Apache-2.0
import Expectations
import Testing

@testable import FleetEngineEmulator

struct JSONTests {
  @Test(
    "a document is unchanged when it is parsed and written",
    arguments: [
      #"{"b":1,"a":[true,false,null],"c":{"d":-0.5e+10}}"#, "[]", "{}", "0", "-1.50", #""a\"b\\c\n""#, #""é😀""#,
    ])
  func roundTrip(_ text: String) throws {
    try expectEqual(JSONParser.parse(Array(text.utf8)).text, text)
  }

  @Test("escapes are decoded, including surrogate pairs")
  func escapes() throws {
    let parsed = try JSONParser.parse(Array(#""\u0041\/\t\uD83D\uDE00""#.utf8))
    expectEqual(parsed.string, "A/\t😀")
  }

  @Test(
    "text that is not JSON, repeats a name in an object, or is nested too deeply is rejected",
    arguments: [
      "", " ", "{", "[1,]", "{\"a\":1,}", "{a:1}", "{\"a\":1,\"a\":2}", "01", "1.", ".5", "+1", "1e", "NaN", "tru",
      "\"a",
      "\"\u{1}\"", #""\x""#, #""\u12""#, #""\uD800""#, #""\uD800\u0041""#, "1 2", "// no\n1", "'a'",
      String(repeating: "[", count: 200) + String(repeating: "]", count: 200),
    ])
  func malformed(_ text: String) {
    #expect(throws: JSONError.self) { try JSONParser.parse(Array(text.utf8)) }
  }

  @Test("bytes that are not UTF-8 are rejected")
  func notUTF8() {
    #expect(throws: JSONError.self) { try JSONParser.parse([0x22, 0xFF, 0x22]) }
  }

  @Test("a document that is truncated or has flipped bits is parsed or rejected, without a trap")
  func mutilated() {
    let document = Array(#"{"a":[1.5e3,"\u00e9\uD83D\uDE00é"],"b":{"c":null}}"#.utf8)
    for index in document.indices {
      _ = try? JSONParser.parse(Array(document[..<index]))
      for bit in 0..<8 {
        var changed = document
        changed[index] ^= 1 << bit
        _ = try? JSONParser.parse(changed)
      }
    }
  }

  @Test(
    "a number with a whole value is an integer",
    arguments: [("12", 12), ("1.0", 1), ("1e2", 100), ("-0", 0)] as [(String, Int64)])
  func whole(_ text: String, _ value: Int64) {
    expectEqual(JSON.number(text).integer, value)
  }

  @Test(
    "a number that is not whole, or too large, is not an integer", arguments: ["1.5", "1e300", "9223372036854775808"])
  func notWhole(_ text: String) {
    expectNil(JSON.number(text).integer)
  }

  @Test("base64 is encoded and decoded, and invalid base64 is rejected")
  func base64() {
    for count in 0..<20 {
      let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 * 37 + 250) }
      expectEqual(Base64.decode(Base64.encodeURLSafe(bytes), alphabet: .url), bytes)
    }
    expectEqual(Base64.decode("//4=", alphabet: .standard), [0xFF, 0xFE])
    for bad in ["//4", "/", "//4==", "__4=", "a b=", "===="] {
      expectNil(Base64.decode(bad, alphabet: .standard), "\(bad)")
    }
  }
}
