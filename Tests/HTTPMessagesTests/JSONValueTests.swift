// SPDX-License-Identifier: Apache-2.0
import HTTPMessages
import Testing

@Suite struct JSONValueTests {
  private func parse(_ text: String) throws -> JSONValue { try JSONValue(parsing: [UInt8](text.utf8)) }

  @Test("values keep their kind")
  func kinds() throws {
    let value = try parse(#"{"a":null,"b":true,"c":42,"d":1.5,"e":"x","f":[1,"2"],"g":{"h":9007199254740993}}"#)
    #expect(value.value(at: "a") == nil)
    #expect(value.value(at: "b") == .bool(true))
    #expect(value.value(at: "c") == .integer(42))
    #expect(value.value(at: "d") == .number(1.5))
    #expect(value.value(at: "e")?.string == "x")
    #expect(value.value(at: "f")?.array == [.integer(1), .string("2")])
    #expect(value.value(at: "g.h")?.integer == 9_007_199_254_740_993)
  }

  @Test("a path finds nested keys, and a key that itself holds dots")
  func paths() throws {
    let value = try parse(#"{"data":{"token":"inner"},"data.token":"outer","a.b":{"c":1},"x":{"y.z":2}}"#)
    #expect(value.value(at: "data.token")?.string == "outer")
    #expect(value.value(at: "x.y.z")?.integer == 2)
    for path in ["", ".", "data.", ".token", "data.token.more", "none"] {
      #expect(value.value(at: path) == nil, "\(path)")
    }
  }

  @Test("whole numbers are read from numbers and strings, and nothing else")
  func integers() throws {
    let value = try parse(#"[1.0,"17",1e3,1e300,"1e3","x",true,-0.5]"#)
    #expect(value.array?.map(\.integer) == [1, 17, 1000, nil, nil, nil, nil, 0])
  }

  @Test(
    "what is not JSON throws, and nothing traps",
    arguments: ["", " ", "<html>", "{", #"{"a":}"#, "nul", "\u{0}", "[1,]x", #"{"a":1}{"b":2}"#])
  func notJSON(text: String) {
    #expect(throws: (any Error).self) { try parse(text) }
  }

  @Test("deep nesting, and bytes that are not UTF-8, throw")
  func hostile() {
    #expect(throws: (any Error).self) { try parse(String(repeating: "[", count: 100_000)) }
    #expect(throws: (any Error).self) { try JSONValue(parsing: [0x22, 0xFF, 0xFE, 0x22]) }
  }

  /// What an answer of 64 kB may hold at most.
  static let heavy: [(String, String)] = [
    ("65 arrays nested 490 deep", nest("[", "]", depth: 490, count: 65)),
    ("objects nested 490 deep", nest("{\"a\":", "}", depth: 490, count: 20)),
    ("arrays nested 31 deep", nest("[", "]", depth: 30, count: 1000)),
    ("20,000 empty arrays", nest("[", "]", depth: 1, count: 20_000)),
    ("20,000 numbers", "[" + Array(repeating: "1e", count: 20_000).joined(separator: "0,") + "0]"),
    ("as many arrays as there may be", nest("[", "]", depth: 1, count: 1000)),
    ("as many levels as there may be", nest("[", "]", depth: 31, count: 15)),
    ("as many objects as there may be", nest("{\"a\":", "}", depth: 30, count: 15)),
    (
      "numbers in 31 levels",
      nest("[", "]", depth: 30, count: 1).replacing("[]", with: "[" + String(repeating: "1,", count: 200) + "1]")
    ),
    ("one text", "\"" + String(repeating: "\\u0041", count: 10_000) + "\""),
  ]

  private static func nest(_ open: String, _ close: String, depth: Int, count: Int) -> String {
    let one = String(repeating: open, count: depth) + (open == "[" ? "" : "0") + String(repeating: close, count: depth)
    return "[" + Array(repeating: one, count: count).joined(separator: ",") + "]"
  }

  @Test("no answer of 64 kB holds up the loop", arguments: heavy)
  func heavyAnswers(name: String, text: String) {
    // A debug build on a loaded machine takes many times as long as a release build, which is to take 0.1 s at most. Without
    // the bounds the first of these takes minutes.
    let time = ContinuousClock().measure { _ = try? parse(text) }
    #expect(time < .seconds(2), "\(name): \(time)")
  }

  @Test("headers are found in any case, the first of a name")
  func headers() {
    let response = HTTPResponse(status: 200, headers: [("RETRY-after", "1"), ("Retry-After", "2")])
    #expect(response.header("retry-After") == "1")
    #expect(response.header("date") == nil)
  }

  @Test("everything but the unreserved characters is percent-encoded, byte by byte")
  func percentEncoding() {
    #expect("truck-17_a.b~c".percentEncoded == "truck-17_a.b~c")
    #expect("LKW 1/ä?#%".percentEncoded == "LKW%201%2F%C3%A4%3F%23%25")
    #expect("".percentEncoded == "")
  }

  @Test("a value is shown on one line, its keys in order, and nothing in it moves a cursor or turns the text around")
  func text() throws {
    let source = #"{"b":[1,-2.5,null,true],"a":"x\"y\\","c":{"é":"\u001b[2J\u202e\u2028\n"}}"#
    let value = try JSONValue(parsing: [UInt8](source.utf8))
    #expect(
      value.text == #"{"a": "x\"y\\", "b": [1, -2.5, null, true], "c": {"é": "\u001b[2J\u202e\u2028\u000a"}}"#)
    #expect(try JSONValue(parsing: [UInt8](value.text.utf8)) == value)
    #expect(JSONValue.string("\u{E0001}").text == #""\udb40\udc01""#)
  }
}
