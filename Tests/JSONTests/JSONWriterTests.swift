// SPDX-License-Identifier: Apache-2.0
import Expectations
import JSON
import Testing
import Timekeeping

struct JSONWriterTests {
  private func written(_ write: (inout JSONWriter) -> Void) -> String {
    var writer = JSONWriter()
    write(&writer)
    return String(decoding: writer.bytes, as: UTF8.self)
  }

  @Test("objects and arrays nest, with commas where they belong")
  func structure() {
    let text = written {
      $0.openObject()
      $0.key("a")
      $0.openArray()
      $0.openArray()
      $0.closeArray()
      $0.openObject()
      $0.closeObject()
      $0.number(-7)
      $0.string("x")
      $0.time(Timestamp(milliseconds: 1_795_249_800_250))
      $0.closeArray()
      $0.key("b")
      $0.number(1.5, decimals: 2)
      $0.closeObject()
    }
    expectEqual(text, #"{"a":[[],{},-7,"x","2026-11-21T08:30:00.250Z"],"b":1.5}"#)
  }

  @Test(
    "a number has at most the requested decimals, no trailing zeros, and no negative zero",
    arguments: [
      (0.0, 1, "0"), (-0.0, 1, "0"), (-0.04, 1, "0"), (0.05, 1, "0.1"), (-0.05, 1, "-0.1"), (2.5, 0, "3"),
      (21.94, 1, "21.9"), (100, 2, "100"), (13.8888, 2, "13.89"), (-33.8567844499, 6, "-33.856784"),
      (0.000_001, 6, "0.000001"),
      (9.000_100, 6, "9.0001"), (-179.123_456_7, 6, "-179.123457"), (179.999_999_9, 6, "180"), (0.1, 9, "0.1"),
    ])
  func decimals(value: Double, decimals: Int, text: String) {
    expectEqual(written { $0.number(value, decimals: decimals) }, text)
  }

  @Test(
    "NaN, infinities and numbers that are too large are written as 0",
    arguments: [Double.nan, .infinity, -.infinity, 1e300, -1e19])
  func notRepresentable(value: Double) {
    expectEqual(written { $0.number(value, decimals: 1) }, "0")
  }

  @Test("integers of up to 64 bits are written exactly", arguments: [Int.min, -1, 0, 9, 10, .max])
  func integers(value: Int) {
    expectEqual(written { $0.number(value) }, "\(value)")
  }

  @Test("strings of any characters are read back unchanged")
  func strings() throws {
    var random = SplitMix64(seed: 3)
    for _ in 0..<2000 {
      var text = ""
      for _ in 0..<Int.random(in: 0...8, using: &random) {
        let most: UInt32 = Bool.random(using: &random) ? 0x7F : 0x10FFFF
        guard let scalar = Unicode.Scalar(UInt32.random(in: 0...most, using: &random)) else { continue }
        text.unicodeScalars.append(scalar)
      }
      let bytes = [UInt8](written { $0.string(text) }.utf8)
      try expectEqual(JSONValue(parsing: bytes).string.map { Array($0.utf8) }, Array(text.utf8))
    }
  }

  @Test("numbers are read back rounded to the requested decimals")
  func numbers() throws {
    var random = SplitMix64(seed: 4)
    for (decimals, scale) in [(1, 10.0), (2, 100), (6, 1e6)] {
      for _ in 0..<2000 {
        let value = Double.random(in: -10_000...10_000, using: &random)
        let text = written { $0.number(value, decimals: decimals) }
        let read = try #require(Double(text))
        expectEqual(read, (value * scale).rounded() / scale, "\(value)")
        expect(text.utf8.drop { $0 != UInt8(ascii: ".") }.count <= decimals + 1)
      }
    }
  }
}
