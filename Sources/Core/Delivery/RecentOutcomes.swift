// SPDX-License-Identifier: Apache-2.0
package import FleetEngine
package import Timekeeping

/// The outcomes of the updates of the last half hour, per minute, and of the last update.
package struct RecentOutcomes: Equatable, Sendable {
  /// The number of minutes, including the current one.
  static let capacity = 30

  private struct Minute: Equatable {
    /// In minutes since boot.
    var index: Int64
    var accepted = 0
    var failed = 0
  }

  /// How an update ended.
  package struct Outcome: Equatable, Sendable {
    /// Nil: accepted.
    package var failure: UpdateFailure.Category?
    /// Accepted past positions.
    package var past: Int
    /// When it ended.
    package var at: BootInstant
    /// From the request to its end.
    package var duration: Duration
  }

  /// The minutes in which an update ended, oldest first.
  private var minutes: [Minute] = []
  /// The outcome of the last update.
  package private(set) var last: Outcome?

  /// An update was accepted.
  ///
  /// - Parameter past: the number of past positions in it.
  mutating func accepted(past: Int, sentAt: BootInstant, at now: BootInstant) {
    last = Outcome(failure: nil, past: past, at: now, duration: now - sentAt)
    minutes[indexOfMinute(at: now)].accepted += 1
  }

  mutating func failed(_ category: UpdateFailure.Category, sentAt: BootInstant, at now: BootInstant) {
    last = Outcome(failure: category, past: 0, at: now, duration: now - sentAt)
    minutes[indexOfMinute(at: now)].failed += 1
  }

  private mutating func indexOfMinute(at now: BootInstant) -> Int {
    let index = now.nanoseconds / 60_000_000_000
    if let last = minutes.last, last.index == index { return minutes.count - 1 }
    if minutes.count == RecentOutcomes.capacity { minutes.removeFirst() }
    minutes.append(Minute(index: index))
    return minutes.count - 1
  }

  /// Accepted and failed updates per minute, oldest first, beginning with the first minute of the last half hour that
  /// has any. Nil if there are none.
  package func countsPerMinute(at now: BootInstant) -> [[Int]]? {
    let current = now.nanoseconds / 60_000_000_000
    let recent = minutes.filter { $0.index > current - Int64(RecentOutcomes.capacity) && $0.index <= current }
    guard let first = recent.first else { return nil }
    var rows = [[Int]](repeating: [0, 0], count: Int(current - first.index) + 1)
    for minute in recent { rows[Int(minute.index - first.index)] = [minute.accepted, minute.failed] }
    return rows
  }
}
