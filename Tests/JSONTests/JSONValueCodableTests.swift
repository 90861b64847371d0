// SPDX-License-Identifier: Apache-2.0
import Expectations
import FoundationEssentials
import JSON
import Testing

/// Encoding and decoding of `Codable` types, compared with FoundationEssentials.
struct JSONValueCodableTests {
  private struct Everything: Codable, Equatable {
    enum Kind: String, Codable { case serial, gpsd }
    enum End: Codable, Equatable {
      case none
      case exited(Int)
      case killed(signal: Int, core: Bool)
    }
    struct Part: Codable, Equatable {
      var points: [[Int]]
      var times: Int8?
    }

    var flag = true
    var text = "a/\"é\n"
    var small = UInt8.max
    var large = UInt64(Int64.max)
    var negative = Int64.min
    var number = 0.1
    var whole = 2.0
    var float: Float = 1.5
    var absent: String?
    var present: String? = ""
    var kind = Kind.gpsd
    var ends = [End.none, .exited(78), .killed(signal: 9, core: true)]
    var part = Part(points: [[1, 2], [], [-3]], times: nil)
    var counters = ["a": 1, "b": 2]
    var byNumber: [UInt32: [String]] = [188: ["ttyUSB"]]
    var parts: [String: [Part]] = ["x": [Part(points: [], times: -1)]]
  }

  @Test("a value is encoded as by FoundationEssentials, and decoded to the same value")
  func agreesWithTheLibrary() throws {
    let value = Everything()
    let encoded = try JSONValue(encoding: value)
    try expectEqual(JSONValue(parsing: [UInt8](JSONEncoder().encode(value))), encoded)
    try expectEqual(encoded.decode(Everything.self), value)
    try expectEqual(JSONDecoder().decode(Everything.self, from: Data(encoded.encoded)), value)
  }

  private struct Small: Codable { var count: UInt8 }

  @Test(
    "a missing member, a wrong type, a number out of range and a null are errors",
    arguments: [
      "{}", #"{"count":"1"}"#, #"{"count":256}"#, #"{"count":-1}"#, #"{"count":1.5}"#, #"{"count":null}"#, "[]", "1",
    ])
  func mismatch(text: String) throws {
    let value = try JSONValue(parsing: [UInt8](text.utf8))
    #expect(throws: DecodingError.self) { try value.decode(Small.self) }
  }

  @Test("decoding more elements than an array has is an error, and so is encoding a number that JSON cannot represent")
  func others() throws {
    struct Pair: Decodable {
      let first: Int
      let second: Int

      init(from decoder: any Decoder) throws {
        var elements = try decoder.unkeyedContainer()
        first = try elements.decode(Int.self)
        second = try elements.decode(Int.self)
      }
    }
    try expectEqual(JSONValue.array([.integer(1), .integer(2)]).decode(Pair.self).second, 2)
    #expect(throws: DecodingError.self) { try JSONValue.array([.integer(1)]).decode(Pair.self) }
    #expect(throws: EncodingError.self) { try JSONValue(encoding: [Double.nan]) }
  }
}
