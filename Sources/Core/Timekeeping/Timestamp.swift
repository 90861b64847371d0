// SPDX-License-Identifier: Apache-2.0

/// Civil time, UTC, in milliseconds. It is only as good as the clock that it comes from, and is never used for a
/// deadline.
package struct Timestamp: Hashable, Comparable, Sendable {
  /// Milliseconds since 1970-01-01T00:00:00Z; negative before it. Leap seconds are not counted (POSIX).
  package let milliseconds: Int64

  package init(milliseconds: Int64) {
    self.milliseconds = milliseconds
  }

  /// - Parameter seconds: clamped to the range of milliseconds.
  package init(seconds: Int64) {
    let (product, overflow) = seconds.multipliedReportingOverflow(by: 1000)
    milliseconds = overflow ? (seconds < 0 ? .min : .max) : product
  }

  package static func < (left: Timestamp, right: Timestamp) -> Bool {
    left.milliseconds < right.milliseconds
  }

  /// This time moved by `duration`, truncated to the millisecond; saturates.
  package static func + (stamp: Timestamp, duration: Duration) -> Timestamp {
    stamp.moved(milliseconds: duration.milliseconds)
  }

  func moved(milliseconds delta: Int64) -> Timestamp {
    let (sum, overflow) = milliseconds.addingReportingOverflow(delta)
    return Timestamp(milliseconds: overflow ? (delta < 0 ? .min : .max) : sum)
  }

  package static func - (stamp: Timestamp, duration: Duration) -> Timestamp {
    stamp + (.zero - duration)
  }

  /// The time from `right` to `left`; negative when `left` is earlier.
  package static func - (left: Timestamp, right: Timestamp) -> Duration {
    let (difference, overflow) = left.milliseconds.subtractingReportingOverflow(right.milliseconds)
    let milliseconds: Int64 = overflow ? (left < right ? .min : .max) : difference
    return Duration(attoseconds: Int128(milliseconds) * Duration.attosecondsPerMillisecond)
  }

  /// Whether it is in the years 1 to 9999, which RFC 3339 can represent.
  package var isInCalendar: Bool { (-62_135_596_800_000..<253_402_300_800_000).contains(milliseconds) }

  /// Milliseconds since midnight UTC, 0 to 86,399,999.
  package var millisecondsOfDay: Int64 {
    let rest = milliseconds % 86_400_000
    return rest < 0 ? rest + 86_400_000 : rest
  }
}

extension Duration {
  fileprivate static var attosecondsPerMillisecond: Int128 { 1_000_000_000_000_000 }

  /// Whole milliseconds, truncated toward zero, clamped to Int64.
  var milliseconds: Int64 { quotient(exponent: 15, powerOfFive: 30_517_578_125) }
}

extension Timestamp {
  /// GPS week numbers of ten bits roll over after this. Only one candidate of a date is within this time after the
  /// build date.
  package static let plausibleRange = Duration.seconds(1024 * 7 * 86_400)

  /// Whether it is a plausible current time: after the build date, within one GPS rollover.
  package func isPlausible(after buildDate: Timestamp) -> Bool {
    buildDate <= self && self - buildDate < Timestamp.plausibleRange
  }
}

/// A clock reading: both clocks, read together.
package struct Moment: Hashable, Sendable {
  /// Elapsed time, which is reliable.
  package var boot: BootInstant
  /// The wall clock, which may be unset or stepped.
  package var wall: Timestamp

  package init(boot: BootInstant, wall: Timestamp) {
    self.boot = boot
    self.wall = wall
  }
}
