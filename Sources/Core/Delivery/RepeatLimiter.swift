// SPDX-License-Identifier: Apache-2.0
import Timekeeping

/// Admits the first of a series of like events, then one per `period`, and counts the rest. Events of several kinds that take
/// turns are as many series.
struct RepeatLimiter: Sendable {
  static let period = Duration.seconds(600)
  /// More than there are reasons; a subject with changing words in it cannot take all memory.
  private static let mostRows = 32

  private struct Row {
    var lastAt: BootInstant
    var suppressed = 0
  }

  private var rows: [String: Row] = [:]

  /// - Parameter subject: what makes events alike.
  /// - Returns: nil when this one is suppressed; else the number that were since the last that was admitted.
  mutating func admit(_ subject: String, at now: BootInstant) -> Int? {
    guard let row = rows[subject] else {
      if rows.count == RepeatLimiter.mostRows, let oldest = rows.min(by: { $0.value.lastAt < $1.value.lastAt }) {
        rows[oldest.key] = nil
      }
      rows[subject] = Row(lastAt: now)
      return 0
    }
    guard now - row.lastAt >= RepeatLimiter.period else {
      rows[subject]?.suppressed += 1
      return nil
    }
    rows[subject] = Row(lastAt: now)
    return row.suppressed
  }

  /// All series are over: the next event of each is the first.
  mutating func end() {
    rows = [:]
  }
}
