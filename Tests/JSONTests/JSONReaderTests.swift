// SPDX-License-Identifier: Apache-2.0
import Expectations
import JSON
import JSONTesting
import Testing
import Timekeeping

struct JSONReaderTests {
  private func scan(_ text: String) -> Bool? { JSONReader.object([UInt8](text.utf8), hasMember: "error") }

  @Test(
    "an object without the member is recognized, even if the member's name occurs elsewhere in it",
    arguments: [
      "{}", " {\r\n\t} ", #"{"name":"providers/p/deliveryVehicles/v"}"#,
      #"{"a":{"error":1},"b":["error",{"error":2}]}"#,
      #"{"errors":1,"Error":2,"erro":3,"":4,"rror":5,"eerror":6}"#, #"{"a":"error","b":"\"error\":1"}"#,
      #"{"a":-0.5e+3,"b":0,"c":[true,false,null,[],{}],"d":"\u00e9\ud83d\ude00\\\/\b\f\n\r\t é😀"}"#,
    ])
  func without(text: String) {
    expectEqual(scan(text), false)
  }

  @Test(
    "an object with the member is recognized, whatever its value, position and spelling",
    arguments: [
      #"{"error":null}"#, #"{ "error" : {"code":403} }"#, #"{"a":[{}],"error":0}"#, #"{"error":1,"error":2}"#,
      #"{"error":1,"a":2}"#, #"{"\u0065rror":1}"#, #"{"err\u006fr":[]}"#, #"{"\u0065\u0072\u0072\u006F\u0072":""}"#,
    ])
  func with(text: String) {
    expectEqual(scan(text), true)
  }

  @Test(
    "for text that is not a JSON object the result is nil",
    arguments: [
      "", " ", "<html>", "[]", "\"ok\"", "1", "null", "{", "}", "{}{}", "{}x", "{},", #"{"a"}"#,
      #"{"a":}"#, #"{"a":1,}"#,
      #"{,"a":1}"#, #"{a:1}"#, #"{'a':1}"#, #"{"a":1]"#, #"{"a":[1}"#, #"{"a":[1,]}"#, #"{"a":[,1]}"#,
      #"{"a":01}"#,
      #"{"a":1.}"#, #"{"a":.5}"#, #"{"a":+1}"#, #"{"a":1e}"#, #"{"a":-}"#, #"{"a":nul}"#, #"{"a":truex}"#,
      #"{"a":NaN}"#,
      #"{"a":"x}"#, "{\"a\":\"\n\"}", #"{"a":"\x"}"#, #"{"a":"\u12"}"#, #"{"a":"\ud800"}"#, #"{"a":"\udc00"}"#,
      #"{"a":"\ud800\u0041"}"#, #"{"a" 1}"#, #"{"a":1 "b":2}"#, #"{"error":1"#, #"{"a":1}/**/"#,
    ])
  func neither(text: String) {
    expectNil(scan(text))
  }

  @Test(
    "bytes that are not UTF-8 are not JSON",
    arguments: [
      [0xFF], [0x80], [0xC0, 0x80], [0xC3], [0xE0, 0x80, 0x80], [0xED, 0xA0, 0x80], [0xE2, 0x82],
      [0xF0, 0x80, 0x80, 0x80],
      [0xF4, 0x90, 0x80, 0x80], [0xF5, 0x80, 0x80, 0x80], [0xE2, 0x28, 0xA1],
    ] as [[UInt8]])
  func encoding(bytes: [UInt8]) {
    expectNil(JSONReader.object([UInt8](#"{"a":""#.utf8) + bytes + [UInt8](#""}"#.utf8), hasMember: "error"))
  }

  @Test("nesting is limited: for deeper input the result is nil, even with a million levels")
  func depth() {
    func nested(_ depth: Int) -> String {
      #"{"a":"# + String(repeating: "[", count: depth - 1) + String(repeating: "]", count: depth - 1) + "}"
    }
    expectEqual(scan(nested(JSONReader.maximumDepth)), false)
    expectNil(scan(nested(JSONReader.maximumDepth + 1)))
    expectNil(scan(nested(1_000_000)))
    expectNil(scan(String(repeating: #"{"error":"#, count: 1_000_000)))
  }

  /// Returns a random document, nested at most `depth` levels deep.
  private func document(_ depth: Int, _ random: inout SplitMix64) -> String {
    let space = ["", "", "", " ", "\n\t"].randomElement(using: &random) ?? ""
    switch Int.random(in: 0..<(depth > 0 ? 9 : 6), using: &random) {
    case 0: return space + ["null", "true", "false"][Int.random(in: 0..<3, using: &random)]
    case 1: return "\(Int.random(in: -1000...1000, using: &random))" + space
    case 2: return "\(Double.random(in: -1e6...1e6, using: &random))"
    case 3, 4, 5: return text(&random)
    case 6:
      let elements = (0..<Int.random(in: 0...3, using: &random)).map { _ in document(depth - 1, &random) }
      return "[" + space + elements.joined(separator: ",") + "]"
    default:
      let members = (0..<Int.random(in: 0...3, using: &random)).map { _ in
        (Int.random(in: 0..<5, using: &random) == 0 ? #""error""# : text(&random)) + space + ":"
          + document(depth - 1, &random)
      }
      return "{" + members.joined(separator: space + ",") + "}"
    }
  }

  private func text(_ random: inout SplitMix64) -> String {
    let pieces = ["a", "error", "é", "😀", #"\n"#, #"\""#, #"\\"#, #"\u0065"#, #"\ud83d\ude00"#, " ", "}", "]", ","]
    let count = Int.random(in: 0...4, using: &random)
    return "\"" + (0..<count).map { _ in pieces.randomElement(using: &random) ?? "" }.joined() + "\""
  }

  @Test(
    "random documents, whole or damaged, are parsed as by FoundationEssentials; damaged ones may also be rejected")
  func agreesWithTheLibrary() {
    var random = SplitMix64(seed: 16)
    var seen = [0, 0, 0]
    for round in 0..<20_000 {
      var bytes = [UInt8](document(5, &random).utf8)
      let isWhole = round % 2 == 0
      if !isWhole {
        let place = Int.random(in: 0..<bytes.count, using: &random)
        switch Int.random(in: 0..<4, using: &random) {
        case 0: bytes.removeSubrange(place...)
        case 1: bytes.remove(at: place)
        case 2: bytes.insert(bytes[Int.random(in: 0..<bytes.count, using: &random)], at: place)
        default: bytes[place] = UInt8.random(in: 0...255, using: &random)
        }
      }
      let value = try? JSONValue(parsing: bytes)
      let agrees = value.map { ReferenceJSON(parsing: bytes)?.agrees(with: $0) == true }
      expect(agrees ?? !isWhole, "\(String(decoding: bytes, as: UTF8.self))")
      let found = JSONReader.object(bytes, hasMember: "error")
      expectEqual(found, value?.object.map { $0["error"] != nil }, "\(String(decoding: bytes, as: UTF8.self))")
      seen[found.map { $0 ? 2 : 1 } ?? 0] += 1
    }
    expect(seen.allSatisfy { $0 > 500 }, "\(seen)")
  }
}
