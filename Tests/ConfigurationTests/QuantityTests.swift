// SPDX-License-Identifier: Apache-2.0
import Expectations
import Testing

@testable import Configuration

struct QuantityTests {
  @Test(
    "parts of a duration add up, and decimal fractions are exact",
    arguments: [
      ("10s", Duration.seconds(10)), ("5min", .seconds(300)), ("1h 30min", .seconds(5400)),
      ("500ms", .milliseconds(500)),
      ("7 days", .seconds(604_800)), ("0s", .zero), ("0.1s", .milliseconds(100)), ("1h30min", .seconds(5400)),
      (" 2 hours  1 s ", .seconds(7201)), ("1d", .seconds(86_400)), ("1.5 h", .seconds(5400)),
    ])
  func durations(_ text: String, _ duration: Duration) throws {
    try expectEqual(Quantity.duration(text), duration)
  }

  @Test("distances, speeds and sizes are converted from their units to metres, m/s and bytes")
  func others() throws {
    try expectEqual(Quantity.parse("25 m", as: Quantity.distances), 25)
    try expectEqual(Quantity.parse("1.5 km", as: Quantity.distances), 1500)
    expect(try abs(Quantity.parse("50 km/h", as: Quantity.speeds) - 13.888_888_888_888_889) < 1e-12)
    try expectEqual(Quantity.parse("13.9m/s", as: Quantity.speeds), 13.9)
    try expectEqual(Quantity.parse("30 mph", as: Quantity.speeds), 13.4112)
    try expectEqual(Quantity.parse("16 MB", as: Quantity.sizes), 16e6)
    try expectEqual(Quantity.parse("1 KiB", as: Quantity.sizes), 1024)
  }

  @Test(
    "invalid durations are rejected",
    arguments: [
      "", " ", "s", "10", "10 10", "1..5s", ".5s", "5.s", "1e3s", "+1s", "-1s", "inf s", "nan", "0x1p3s", "10S", "10ss",
      "1,5s",
      "10\u{0}s", "999999999999999999999999999999999999s", "99999999999 days", "10 s!", "١s",
    ])
  func refused(_ text: String) {
    #expect(throws: ValueProblem.self) { try Quantity.duration(text) }
  }

  @Test("a distance with several parts is rejected")
  func notAdded() {
    #expect(throws: ValueProblem.self) { try Quantity.parse("1 km 5 m", as: Quantity.distances) }
  }

  @Test(
    "a duration is printed in the largest unit that divides it",
    arguments: [
      (Duration.zero, "0s"), (.seconds(60), "1min"), (.milliseconds(1500), "1500ms"), (.seconds(86_400), "1 day"),
    ])
  func written(_ duration: Duration, _ text: String) {
    expectEqual(Quantity.text(duration), text)
  }
}
