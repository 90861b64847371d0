// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import NMEA

@Suite struct NMEACensusTests {
  private static func census(_ text: String, portion: Int = .max) -> NMEACensus {
    var census = NMEACensus()
    var rest = Array(text.utf8)[...]
    while !rest.isEmpty {
      census.read(Array(rest.prefix(portion)).span)
      rest = rest.dropFirst(portion)
    }
    return census
  }

  private static let stream =
    "$GPGSV,1,1,00*79\r\n\u{1}noise$GP$GPGSV,1,1,00*79$GLGSV,1,1,00*65\n$PUBX,41,1*2B\r\n$GPGSV,1,1,00*00\r\n$GPTXT"

  @Test("addresses are counted where the checksum is right, whatever surrounds them", arguments: [1, 7, 64, .max])
  func counts(portion: Int) {
    let census = Self.census(Self.stream, portion: portion)
    #expect(census.counts["GPGSV"] == 2)
    #expect(census.talkers == ["GL", "GP"])
    #expect(census.kinds == ["GSV", "PUBX"])
    #expect(!census.hasPosition)
  }

  @Test("a `$` without an end does not grow for ever")
  func endless() {
    let census = Self.census("$" + String(repeating: "x", count: 100_000) + "$GPGSV,1,1,00*79")
    #expect(census.counts == ["GPGSV": 1])
  }
}
