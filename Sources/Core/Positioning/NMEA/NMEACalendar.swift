// SPDX-License-Identifier: Apache-2.0
import Timekeeping

/// Gives times of day their dates. Only RMC and ZDA tell a date; the moment they tell, and the time that has passed since,
/// is what every other time must be near.
struct NMEACalendar {
  private var reference: Timestamp?
  private var received = BootInstant.boot

  /// Whether no date was told yet.
  var isBlank: Bool { reference == nil }

  /// The receiver told a date with a time.
  mutating func note(_ date: CivilDate, timeOfDay: Int64, at now: BootInstant) {
    reference = Timestamp(date, millisecondsOfDay: timeOfDay)
    received = now
  }

  /// The time with the date that puts it within half a day of what is expected. It is the next expectation.
  mutating func time(ofDay time: Int64, at now: BootInstant) -> Fix.Time {
    guard let reference else { return .ofDay(milliseconds: time) }
    let expected = reference + (now - received)
    let sameDay = expected.milliseconds - expected.millisecondsOfDay + time
    var stamp = Timestamp(milliseconds: sameDay)
    if sameDay - expected.milliseconds > 43_200_000 {
      stamp = Timestamp(milliseconds: sameDay - 86_400_000)
    } else if expected.milliseconds - sameDay > 43_200_000 {
      stamp = Timestamp(milliseconds: sameDay + 86_400_000)
    }
    self.reference = stamp
    received = now
    return .utc(stamp)
  }
}
