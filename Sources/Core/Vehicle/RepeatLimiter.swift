// SPDX-License-Identifier: Apache-2.0
import Timekeeping

/// Admits the first of a series of similar events, or the first few, then one per `period`, and counts the rest. Each
/// subject has its own series.
struct RepeatLimiter: Sendable {
  static let period = Duration.seconds(600)
  /// More than the number of reasons; bounds the memory for subjects with variable text.
  private static let maximumRows = 32

  private struct Row {
    /// From then on, `burst` events are admitted again; each that is admitted moves it by a period.
    var restTime: BootInstant
    var suppressed = 0
  }

  private let burst: Int
  private var rows: [String: Row] = [:]

  /// - Parameter burst: events of a subject that are admitted at once.
  init(burst: Int = 1) {
    self.burst = burst
  }

  /// - Parameter subject: identifies the series.
  /// - Returns: nil if this event is suppressed; otherwise the number suppressed since the last one admitted.
  mutating func admit(_ subject: String, at now: BootInstant) -> Int? {
    let row = rows[subject]
    let start = max(row?.restTime ?? now, now)
    guard start - now <= RepeatLimiter.period * (burst - 1) else {
      rows[subject]?.suppressed += 1
      return nil
    }
    if row == nil, rows.count == RepeatLimiter.maximumRows,
      let oldest = rows.min(by: { $0.value.restTime < $1.value.restTime })
    {
      rows[oldest.key] = nil
    }
    rows[subject] = Row(restTime: start + RepeatLimiter.period)
    return row?.suppressed ?? 0
  }

  /// Ends all series: the next event of each is the first.
  mutating func end() {
    rows = [:]
  }
}
