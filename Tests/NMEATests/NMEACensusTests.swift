// SPDX-License-Identifier: Apache-2.0
import Expectations
import Testing
import Timekeeping

@testable import NMEA

struct NMEACensusTests {
  private static func census(_ text: String, portion: Int = .max) throws -> NMEACensus {
    var decoder = NMEADecoder()
    decoder.census = NMEACensus()
    var rest = Array(text.utf8)[...]
    while !rest.isEmpty {
      decoder.decode(Array(rest.prefix(portion)), at: .boot) { _ in }
      rest = rest.dropFirst(portion)
    }
    return try #require(decoder.census)
  }

  private static let stream =
    "$GPGSV,1,1,00*79\r\n\u{1}noise$GP$GPGSV,1,1,00*79$GLGSV,1,1,00*65\n$PUBX,41,1*2B\r\n$GPGSV,1,1,00*00\r\n$GPTXT"

  @Test(
    "sentences with a valid checksum are counted by talker and type, whatever is between them",
    arguments: [1, 7, 64, .max])
  func counts(portion: Int) throws {
    let census = try Self.census(Self.stream, portion: portion)
    expectEqual(census.counts["GPGSV"], 2)
    expectEqual(census.talkers, ["GL", "GP"])
    expectEqual(census.kinds, ["GSV", "PUBX"])
    expect(!census.hasPosition)
  }

  @Test("an endless sentence is not counted, but the sentence that follows it is")
  func endless() throws {
    let census = try Self.census("$" + String(repeating: "x", count: 100_000) + "$GPGSV,1,1,00*79")
    expectEqual(census.counts, ["GPGSV": 1])
  }
}
