// SPDX-License-Identifier: Apache-2.0
import Expectations
import Testing

@testable import FleetEngineEmulator

struct RFC3339Tests {
  @Test(
    "a time is read to the millisecond",
    arguments: [
      ("1970-01-01T00:00:00Z", 0), ("2026-11-21T09:00:00.25Z", 1_795_251_600_250),
      ("2026-11-21T10:00:00.250999999+01:00", 1_795_251_600_250), ("1969-12-31T23:59:59.5Z", -500),
      ("2000-02-29T12:00:00Z", 951_825_600_000), ("0001-01-01T00:00:00Z", -62_135_596_800_000),
      ("9999-12-31T23:59:59.999Z", 253_402_300_799_999),
    ] as [(String, Int64)])
  func read(_ text: String, _ milliseconds: Int64) {
    expectEqual(RFC3339.milliseconds(text), milliseconds)
  }

  @Test(
    "an invalid time is rejected",
    arguments: [
      "", "yesterday", "2026-11-21", "2026-11-21T09:00:00", "2026-11-21 09:00:00Z", "2026-02-29T00:00:00Z",
      "2026-13-01T00:00:00Z", "2026-00-01T00:00:00Z", "2026-11-00T00:00:00Z", "2026-11-21T24:00:00Z",
      "2026-11-21T09:60:00Z", "2026-11-21T09:00:60Z", "2026-11-21T09:00:00.Z", "2026-11-21T09:00:00.1234567890Z",
      "2026-11-21T09:00:00z", "2026-11-21T09:00:00+0100", "0000-01-01T00:00:00Z", "2026-11-21T09:00:00Z ",
      "1900-02-29T00:00:00Z", "２026-11-21T09:00:00Z",
    ])
  func refuse(_ text: String) {
    expectNil(RFC3339.milliseconds(text))
  }

  @Test(
    "a time that is written is read back unchanged",
    arguments: [-62_135_596_800_000, -1, 0, 951_782_400_000, 1_795_251_600_250, 253_402_300_799_999] as [Int64])
  func roundTrip(_ milliseconds: Int64) {
    expectEqual(RFC3339.milliseconds(RFC3339.text(milliseconds: milliseconds)), milliseconds)
  }

  @Test("HTTP dates have the format of RFC 9110")
  func httpDate() {
    expectEqual(RFC3339.httpDate(784_111_777_000), "Sun, 06 Nov 1994 08:49:37 GMT")
    expectEqual(RFC3339.httpDate(0), "Thu, 01 Jan 1970 00:00:00 GMT")
  }
}
