// SPDX-License-Identifier: Apache-2.0
import Expectations
import JSON
import Testing

struct JSONValueTests {
  private func parse(_ text: String) throws -> JSONValue { try JSONValue(parsing: [UInt8](text.utf8)) }

  @Test("values keep their type, and a path to null finds nothing")
  func kinds() throws {
    let value = try parse(#"{"a":null,"b":true,"c":42,"d":1.5,"e":"x","f":[1,"2"],"g":{"h":9007199254740993}}"#)
    expectNil(value.value(at: "a"))
    expectEqual(value.value(at: "b"), .bool(true))
    expectEqual(value.value(at: "c"), .integer(42))
    expectEqual(value.value(at: "d"), .number(1.5))
    expectEqual(value.value(at: "e")?.string, "x")
    expectEqual(value.value(at: "f")?.array, [.integer(1), .string("2")])
    expectEqual(value.value(at: "g.h")?.integer, 9_007_199_254_740_993)
  }

  @Test("a path finds nested keys, and a key that contains dots")
  func paths() throws {
    let value = try parse(#"{"data":{"token":"inner"},"data.token":"outer","a.b":{"c":1},"x":{"y.z":2}}"#)
    expectEqual(value.value(at: "data.token")?.string, "outer")
    expectEqual(value.value(at: "x.y.z")?.integer, 2)
    for path in ["", ".", "data.", ".token", "data.token.more", "none"] {
      expectNil(value.value(at: path), "\(path)")
    }
  }

  @Test("only the needed members of objects become values, but the other members are validated too")
  func needed() throws {
    let text = #"{"a":[{"b":1,"x":{"b":[2,{}]},"y":"\u0041"},{"x":[],"b":"c"}],"x":1e999,"b":{"a":true,"z":null}}"#
    let value = try JSONValue(parsing: [UInt8](text.utf8), members: ["a", "b"])
    expectEqual(value.text, #"{"a": [{"b": 1}, {"b": "c"}], "b": {"a": true}}"#)
    for invalid in [#"{"x":{"y":[1,]},"a":1}"#, #"{"x":"\q"}"#, #"{"x":[{"y":1}"#, #"{"x"}"#, #"{"x":1]"#, #"{"x":}"#] {
      #expect(throws: JSONError.self, "\(invalid)") {
        try JSONValue(parsing: [UInt8](invalid.utf8), members: ["a"])
      }
    }
    #expect(throws: JSONError.tooComplex) {
      try JSONValue(parsing: [UInt8](#"{"x":[1,2,3]}"#.utf8), maximumValues: 4, members: ["a"])
    }
  }

  @Test("an integer is read from a number, without its fraction, or from a string of digits, and from nothing else")
  func integers() throws {
    let value = try parse(#"[1.0,"17",1e3,1e300,"1e3","x",true,-0.5]"#)
    expectEqual(value.array?.map(\.integer), [1, 17, 1000, nil, nil, nil, nil, 0])
  }

  @Test(
    "invalid JSON throws, and nothing traps",
    arguments: ["", " ", "<html>", "{", #"{"a":}"#, "nul", "\u{0}", "[1,]x", #"{"a":1}{"b":2}"#])
  func notJSON(text: String) {
    #expect(throws: (any Error).self) { try parse(text) }
  }

  @Test("nesting is limited, and so is the number of values if a limit is given")
  func limits() throws {
    func nested(_ depth: Int) -> String {
      String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
    }
    #expect(throws: Never.self) { try parse(nested(32)) }
    #expect(throws: JSONError.tooComplex) { try parse(nested(33)) }
    #expect(throws: JSONError.tooComplex) { try parse(String(repeating: "[", count: 100_000)) }
    let five = [UInt8](#"[1,{"a":2,"b":[]}]"#.utf8)
    try expectEqual(JSONValue(parsing: five, maximumValues: 5).array?.count, 2)
    #expect(throws: JSONError.tooComplex) { try JSONValue(parsing: five, maximumValues: 4) }
  }

  @Test(
    "a name or text with more than thirty consecutive combining marks is rejected: comparing it takes quadratic time")
  func combiningMarks() throws {
    let marks = String(repeating: "\u{301}\u{327}", count: 15)
    let escaped = String(repeating: #"\u0301\u0327"#, count: 15)
    for (text, one) in [(marks, "\u{301}"), (escaped, #"\u0301"#)] {
      try expectEqual(parse("{\"a\(text)\": \"\(text)b\(text)\"}").object?.count, 1)
      #expect(throws: JSONError.tooComplex) { try parse("{\"a\(text)\(one)\": 0}") }
      #expect(throws: JSONError.tooComplex) { try parse("\"\(text)\(one)\"") }
    }
    // Without the limit this would take more than a minute.
    let many = String(repeating: "\u{301}\u{327}", count: 200_000)
    #expect(throws: JSONError.tooComplex) { try parse("{\"a\(many)\": 0}") }
  }

  @Test(
    "an error names the offset of the unexpected byte",
    arguments: [
      ("", 0), ("  ", 2), ("[1 2]", 3), ("{\"a\" 1}", 5), ("[1,]", 3), ("nul", 3), ("[1]x", 3), ("\"\\x\"", 2),
      ("[1e400]", 1), ("\"a\n\"", 2), ("-x", 1), ("\"\\ud800x\"", 7), ("{a:1}", 1), ("[1}", 2),
    ])
  func offset(text: String, offset: Int) {
    #expect(throws: JSONError.malformed(offset: offset)) { try parse(text) }
  }

  @Test("integers that fit in 64 bits are exact, and other numbers are the nearest double")
  func numbers() throws {
    let text = """
      [0,-0,-0.0,1.0,1e3,9223372036854775807,-9223372036854775808,9223372036854775808,0.1,-1.5e-3,1e-400,
      9007199254740992.0,9007199254740993,9007199254740993.0,44444444444444444.44,1e18]
      """
    try expectEqual(
      parse(text).array,
      [
        .integer(0), .integer(0), .integer(0), .integer(1), .integer(1000), .integer(.max), .integer(.min),
        .number(0x1p63), .number(0.1), .number(-0.0015), .integer(0),
        .number(0x1p53), .integer(9_007_199_254_740_993), .number(0x1p53), .number(44_444_444_444_444_448),
        .number(1e18),
      ])
  }

  @Test("of several members with the same name the first is used, and a leading byte order mark is skipped")
  func oddities() throws {
    try expectEqual(parse(#"{"a":1,"b":0,"\u0061":2}"#), .object(["a": .integer(1), "b": .integer(0)]))
    try expectEqual(parse("\u{FEFF}[]"), .array([]))
    #expect(throws: (any Error).self) { try parse("[]\u{FEFF}") }
  }

  @Test("a value is encoded with its members sorted by name, and decoded to the same value")
  func written() throws {
    let source = #"{"b":[1,-2.5,null,true,1e20,[],{}],"a":"x\"y\\\n\u0001é😀","c/d":{"é":false}}"#
    let value = try parse(source)
    expectEqual(
      String(decoding: value.encoded, as: UTF8.self),
      #"{"a":"x\"y\\\n\u0001é😀","b":[1,-2.5,null,true,1e+20,[],{}],"c/d":{"é":false}}"#)
    try expectEqual(JSONValue(parsing: value.encoded), value)
  }

  @Test("a value is shown on one line with sorted keys, and characters that control the terminal are escaped")
  func text() throws {
    let source = #"{"b":[1,-2.5,null,true],"a":"x\"y\\","c":{"é":"\u001b[2J\u202e\u2028\n"}}"#
    let value = try JSONValue(parsing: [UInt8](source.utf8))
    expectEqual(
      value.text, #"{"a": "x\"y\\", "b": [1, -2.5, null, true], "c": {"é": "\u001b[2J\u202e\u2028\u000a"}}"#)
    try expectEqual(JSONValue(parsing: [UInt8](value.text.utf8)), value)
    expectEqual(JSONValue.string("\u{E0001}").text, #""\udb40\udc01""#)
  }
}
