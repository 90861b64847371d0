// SPDX-License-Identifier: Apache-2.0
import Timekeeping

/// Admits the first of a series of similar events, then one per `period`, and counts the rest. Each subject has its own
/// series.
struct RepeatLimiter: Sendable {
  static let period = Duration.seconds(600)
  /// More than the number of reasons; bounds the memory for subjects with variable text.
  private static let maximumRows = 32

  private struct Row {
    var lastAdmittedAt: BootInstant
    var suppressed = 0
  }

  private var rows: [String: Row] = [:]

  /// - Parameter subject: identifies the series.
  /// - Returns: nil if this event is suppressed; otherwise the number suppressed since the last one admitted.
  mutating func admit(_ subject: String, at now: BootInstant) -> Int? {
    guard let row = rows[subject] else {
      if rows.count == RepeatLimiter.maximumRows,
        let oldest = rows.min(by: { $0.value.lastAdmittedAt < $1.value.lastAdmittedAt })
      {
        rows[oldest.key] = nil
      }
      rows[subject] = Row(lastAdmittedAt: now)
      return 0
    }
    guard now - row.lastAdmittedAt >= RepeatLimiter.period else {
      rows[subject]?.suppressed += 1
      return nil
    }
    rows[subject] = Row(lastAdmittedAt: now)
    return row.suppressed
  }

  /// Ends all series: the next event of each is the first.
  mutating func end() {
    rows = [:]
  }
}
