// SPDX-License-Identifier: Apache-2.0
import Positioning
import Timekeeping

/// Decides at how many unread bytes gpsd's connection is read, so that the reports on the satellites are read together
/// with the next fix and cause no additional wake-up.
///
/// gpsd sends a group of reports for each fix: one with the position (TPV), and others, most of which follow it (SKY).
/// The number of bytes between two positions is about the same each time: the connection is read when more bytes than
/// that have arrived, because these are the next position. If a group is shorter than expected, the connection is read
/// shortly after the time at which the position was expected. If the lengths of a receiver's groups differ by more than
/// a position, each of its reports is read at once.
struct GPSDGroups: Sendable {
  /// The number of groups that are compared, and the number that is needed before the first decision.
  private static let maximumGroups = 8
  private static let minimumGroups = 4
  /// A longer period would delay a fix too much when the receiver's rate changes.
  private static let periods: ClosedRange<Int64> = 1...1000
  /// How long after the expected time the connection is read.
  private static let tolerance = Duration.milliseconds(10)
  /// If fixes come earlier than expected, the expected time moves towards them by this much per period.
  private static let decay = Duration.milliseconds(2)
  /// The number of bytes is a multiple of this, so that it seldom changes.
  private static let step = 32
  private static let millisecondsPerDay: Int64 = 86_400_000

  /// The lengths of the last position reports, and the number of bytes before each.
  private var groups: [(length: Int, precedingBytes: Int)] = []
  /// The receiver's time of the last fix, in milliseconds of the day, and the time between it and the previous fix.
  private var time: Int64?
  private var period: Int64 = 0
  /// When the next fix is expected; nil if that is not known.
  private var expected: BootInstant?
  private var isLate = false

  /// When to read whatever has arrived; nil if each report is read anyway.
  var deadline: BootInstant? { isLate || byteThreshold == nil ? nil : expected.map { $0 + Self.tolerance } }

  /// The number of bytes after a fix at which the next fix has arrived; nil if that is not known.
  private var byteThreshold: Int? {
    guard groups.count >= Self.minimumGroups, expected != nil else { return nil }
    let precedingBytes = groups.map(\.precedingBytes)
    let (shortest, longest) = (precedingBytes.min() ?? 0, precedingBytes.max() ?? 0)
    let length = groups.map(\.length).min() ?? 0
    // A little more than the longest, in case the length grows.
    let threshold = (longest + length / 8 + Self.step) / Self.step * Self.step
    return longest > 0 && threshold <= shortest + length * 3 / 4 ? threshold : nil
  }

  /// The number of unread bytes at which to read the socket (SO_RCVLOWAT).
  ///
  /// - Parameter read: the number of bytes read since the last fix.
  func lowWaterMark(after read: Int) -> Int {
    guard !isLate, let byteThreshold else { return 1 }
    return max(byteThreshold - read, 1)
  }

  /// A fix was read.
  ///
  /// - Parameters:
  ///   - length: the length of its report, in bytes.
  ///   - precedingBytes: the number of bytes between it and the report of the previous fix.
  mutating func found(_ fix: Fix, length: Int, precedingBytes: Int, at now: BootInstant) {
    let previous = time
    time = fix.millisecondsOfDay
    let period = time.flatMap { time in
      previous.map { (time - $0 + Self.millisecondsPerDay) % Self.millisecondsPerDay }
    }
    guard let period, Self.periods.contains(period), period == self.period else {
      (groups, expected, self.period) = ([], nil, period ?? 0)
      return
    }
    isLate = false
    groups.append((length, precedingBytes))
    if groups.count > Self.maximumGroups { groups.removeFirst() }
    expected = max(now, expected.map { $0 - Self.decay } ?? now) + .milliseconds(period)
  }

  /// `deadline` has passed: until the next fix each report is read.
  mutating func deadlinePassed() { isLate = true }

  /// Several fixes came at once, or another connection begins.
  mutating func reset() { self = GPSDGroups() }
}
