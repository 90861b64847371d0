// SPDX-License-Identifier: Apache-2.0
import Expectations
import Testing
import Timekeeping

struct TimestampTests {
  @Test(
    "RFC 3339 is parsed with any offset and fraction",
    arguments: [
      ("1970-01-01T00:00:00Z", 0), ("2026-11-21T08:30:00.250Z", 1_795_249_800_250),
      ("2026-11-21t08:30:00.2509999z", 1_795_249_800_250), ("2026-11-21T10:30:00+02:00", 1_795_249_800_000),
      ("2026-11-21 03:00:00-05:30", 1_795_249_800_000), ("2024-02-29T23:59:60Z", 1_709_251_200_000),
      ("1969-12-31T23:59:59.999Z", -1),
    ] as [(String, Int64)])
  func rfc3339(text: String, milliseconds: Int64) {
    expectEqual(Timestamp(rfc3339: text)?.milliseconds, milliseconds)
  }

  @Test(
    "text that is not RFC 3339 is rejected",
    arguments: [
      "", "2026-11-21", "2026-11-21T08:30:00", "2026-13-01T00:00:00Z", "2025-02-29T00:00:00Z", "2026-11-21T24:00:00Z",
      "2026-11-21T08:30:00.Z", "2026-11-21T08:30:00Zx", "2026-11-21T08:30:00+25:00", "-026-11-21T08:30:00Z",
      "2026-11-21T08:30:61Z", "２026-11-21T08:30:00Z",
    ])
  func notRFC3339(text: String) {
    expectNil(Timestamp(rfc3339: text))
  }

  @Test(
    "the canonical JSON form has a fraction only if it is not zero",
    arguments: [
      (1_795_249_800_000, "2026-11-21T08:30:00Z"), (1_795_249_800_250, "2026-11-21T08:30:00.250Z"),
      (1_795_249_800_007, "2026-11-21T08:30:00.007Z"), (-1, "1969-12-31T23:59:59.999Z"),
    ] as [(Int64, String)])
  func canonicalJSON(milliseconds: Int64, text: String) {
    expectEqual(Timestamp(milliseconds: milliseconds).canonicalJSON, text)
    expectEqual(Timestamp(rfc3339: text)?.milliseconds, milliseconds)
  }

  @Test("an HTTP date is parsed only in its preferred form")
  func httpDate() {
    expectEqual(Timestamp(httpDate: "Sat, 21 Nov 2026 08:30:00 GMT")?.milliseconds, 1_795_249_800_000)
    for text in [
      "Saturday, 21-Nov-26 08:30:00 GMT", "Sat Nov 21 08:30:00 2026", "Sat, 21 Nov 2026 08:30:00 UTC",
      "Sat, 21 nov 2026",
      "Sat, 31 Feb 2026 08:30:00 GMT", "",
    ] {
      expectNil(Timestamp(httpDate: text), "\(text)")
    }
  }

  @Test("timestamps at the limits of the range do not overflow", arguments: [Int64.min, .min + 1, .max - 1, .max])
  func ends(milliseconds: Int64) {
    let stamp = Timestamp(milliseconds: milliseconds)
    expect(!stamp.rfc3339.isEmpty)
    expect((0..<86_400_000).contains(stamp.millisecondsOfDay))
    _ = stamp + .seconds(Int64.max)
    _ = stamp - .seconds(Int64.max)
    _ = stamp - Timestamp(milliseconds: 0)
    _ = Timestamp(seconds: milliseconds)
  }

  @Test("day numbers and dates are converted consistently from the year 0 to 9999")
  func days() throws {
    for day in stride(from: Int64(-719_528), through: 2_932_896, by: 97) {
      let date = CivilDate(daysSince1970: day)
      expectEqual(date.daysSince1970, day)
      expectEqual(CivilDate(year: date.year, month: date.month, day: date.day), date)
    }
    let leap = try #require(CivilDate(year: 2024, month: 2, day: 29))
    expectEqual(leap.daysSince1970, 19_782)
    expectNil(CivilDate(year: 2100, month: 2, day: 29))
    expectNil(CivilDate(year: 10_000, month: 1, day: 1))
  }
}
