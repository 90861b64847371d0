// SPDX-License-Identifier: Apache-2.0
import Positioning
import Timekeeping

/// Decides with how many bytes gpsd's connection is read, so that the reports on the satellites are read with the next
/// fix and cause no wake-up of their own.
///
/// gpsd sends a group of reports for each fix: one with the position (TPV), and others, most of them later (SKY). What
/// comes between two positions is about as long each time: the connection is read when more than that has come, which
/// is the next position. If a group is shorter than expected, the connection is read shortly after the time at which
/// the position was expected. Receivers whose groups differ by more than a position are read with each report.
struct GPSDGroups: Sendable {
  /// The number of groups that are compared, and the number before the first decision.
  private static let memory = 8
  private static let minimumGroups = 4
  /// A longer period would delay a fix too much when the receiver's rate changes.
  private static let periods: ClosedRange<Int64> = 1...1000
  /// The time after the expected one at which the connection is read.
  private static let tolerance = Duration.milliseconds(10)
  /// The expected time follows fixes that come earlier by this much a period.
  private static let decay = Duration.milliseconds(2)
  /// The number of bytes is a multiple, so that it seldom changes.
  private static let step = 32
  private static let millisecondsPerDay: Int64 = 86_400_000

  /// The bytes of the last positions, and those before each.
  private var groups: [(length: Int, before: Int)] = []
  /// The receiver's time of the last fix, in milliseconds of the day, and the time until it.
  private var time: Int64?
  private var period: Int64 = 0
  /// When the last fix was expected, and when the next one is.
  private var expected: BootInstant?
  private var isLate = false

  /// When to read whatever has come; nil if that is done already.
  var deadline: BootInstant? { isLate || count == nil ? nil : expected.map { $0 + Self.tolerance } }

  /// The bytes from a fix on with which the next one has come; nil if that is not known.
  private var count: Int? {
    guard groups.count >= Self.minimumGroups, expected != nil else { return nil }
    let before = groups.map(\.before)
    let (shortest, longest) = (before.min() ?? 0, before.max() ?? 0)
    let length = groups.map(\.length).min() ?? 0
    // A little more than the longest, for a growing one.
    let count = (longest + length / 8 + Self.step) / Self.step * Self.step
    return longest > 0 && count <= shortest + length * 3 / 4 ? count : nil
  }

  /// The number of unread bytes with which to read.
  ///
  /// - Parameter read: the bytes that were read since the last fix.
  func lowWaterMark(after read: Int) -> Int {
    guard !isLate, let count else { return 1 }
    return max(count - read, 1)
  }

  /// A fix was read.
  ///
  /// - Parameters:
  ///   - length: the bytes of its report.
  ///   - before: the bytes between it and the report of the fix before.
  mutating func found(_ fix: Fix, length: Int, before: Int, at now: BootInstant) {
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
    groups.append((length, before))
    if groups.count > Self.memory { groups.removeFirst() }
    expected = max(now, expected.map { $0 - Self.decay } ?? now) + .milliseconds(period)
  }

  /// `deadline` has passed: until the next fix each report is read.
  mutating func late() { isLate = true }

  /// Several fixes came at once, or another connection begins.
  mutating func reset() { self = GPSDGroups() }
}
