// SPDX-License-Identifier: Apache-2.0
package import FleetEngine
package import Timekeeping

/// What became of the updates of the last half hour, minute by minute, and of the last one.
package struct RecentOutcomes: Equatable, Sendable {
  /// Minutes that are kept, the one that is not over yet among them.
  static let most = 30

  private struct Minute: Equatable {
    /// Since boot.
    var index: Int64
    var accepted = 0
    var failed = 0
  }

  /// How an update ended.
  package struct Outcome: Equatable, Sendable {
    /// Nil: it was accepted.
    package var failure: UpdateFailure.Category?
    /// Past positions that went with it and were accepted.
    package var past: Int
    /// When it ended.
    package var at: BootInstant
    /// From the request to its end.
    package var took: Duration
  }

  /// Those in which an update ended, oldest first.
  private var minutes: [Minute] = []
  /// Of the last update that has ended.
  package private(set) var last: Outcome?

  /// An update has been accepted.
  ///
  /// - Parameter past: the number of past positions in it.
  mutating func accepted(past: Int, sentAt: BootInstant, at now: BootInstant) {
    last = Outcome(failure: nil, past: past, at: now, took: now - sentAt)
    minutes[minute(at: now)].accepted += 1
  }

  mutating func failed(_ category: UpdateFailure.Category, sentAt: BootInstant, at now: BootInstant) {
    last = Outcome(failure: category, past: 0, at: now, took: now - sentAt)
    minutes[minute(at: now)].failed += 1
  }

  private mutating func minute(at now: BootInstant) -> Int {
    let index = now.nanoseconds / 60_000_000_000
    if let last = minutes.last, last.index == index { return minutes.count - 1 }
    if minutes.count == RecentOutcomes.most { minutes.removeFirst() }
    minutes.append(Minute(index: index))
    return minutes.count - 1
  }

  /// Accepted and failed ones of each minute, oldest first, from the first one of the last half hour on; empty ones too.
  /// Nil when none has ended since.
  package func minutes(at now: BootInstant) -> [[Int]]? {
    let current = now.nanoseconds / 60_000_000_000
    let recent = minutes.filter { $0.index > current - Int64(RecentOutcomes.most) && $0.index <= current }
    guard let first = recent.first else { return nil }
    var rows = [[Int]](repeating: [0, 0], count: Int(current - first.index) + 1)
    for minute in recent { rows[Int(minute.index - first.index)] = [minute.accepted, minute.failed] }
    return rows
  }
}
