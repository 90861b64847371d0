// SPDX-License-Identifier: Apache-2.0
import Positioning
import Timekeeping

/// Adds dates to times of day. Only RMC and ZDA have a date; other times get the date that puts them nearest to the
/// last known time plus the elapsed time.
struct NMEACalendar {
  private var reference: Timestamp?
  private var receivedAt = BootInstant.boot

  /// Whether no date is known yet.
  var isBlank: Bool { reference == nil }

  /// The receiver reported a date and a time.
  mutating func note(_ date: CivilDate, timeOfDay: Int64, at now: BootInstant) {
    reference = Timestamp(date, millisecondsOfDay: timeOfDay)
    receivedAt = now
  }

  /// The time with the date that puts it within half a day of the expected time. It becomes the reference for the next
  /// one.
  mutating func time(ofDay time: Int64, at now: BootInstant) -> Fix.Time {
    guard let reference else { return .ofDay(milliseconds: time) }
    let expected = reference + (now - receivedAt)
    let sameDay = expected.milliseconds - expected.millisecondsOfDay + time
    var stamp = Timestamp(milliseconds: sameDay)
    if sameDay - expected.milliseconds > 43_200_000 {
      stamp = Timestamp(milliseconds: sameDay - 86_400_000)
    } else if expected.milliseconds - sameDay > 43_200_000 {
      stamp = Timestamp(milliseconds: sameDay + 86_400_000)
    }
    self.reference = stamp
    receivedAt = now
    return .utc(stamp)
  }
}
