// SPDX-License-Identifier: Apache-2.0
package import Timekeeping

/// Places the fixes of a recording on today's clock.
package struct ReplayTimeline: Sendable {
  private let pace: Double
  private let shiftsTimes: Bool
  private let start: Moment
  private var previous: Timestamp?
  private var elapsed = Duration.zero

  /// The longest wait for the next fix: a recording that was interrupted for a night goes on after a minute.
  package static let longestGap = Duration.seconds(60)

  /// - Parameters:
  ///   - pace: 1 is the recording's own speed, 2 twice as fast; 0 gives every fix at once, and keeps nothing waiting.
  ///   - shiftsTimes: whether the recording's first fix is to be true now, and the others after it, or all keep their times.
  ///   - start: when the replay began.
  package init(pace: Double, shiftsTimes: Bool, start: Moment) {
    self.pace = pace
    self.shiftsTimes = shiftsTimes
    self.start = start
  }

  /// When the next fix of the recording is due, and what it looks like then.
  package mutating func place(_ fix: Fix) -> (fix: Fix, due: BootInstant) {
    let stamp: Timestamp? =
      switch fix.time {
      case .utc(let stamp): stamp
      case .ofDay(let milliseconds): (previous ?? start.wall).nearest(millisecondsOfDay: milliseconds)
      case nil: nil
      }
    if let stamp {
      if let previous, pace > 0 {
        let gap = min(max(stamp - previous, .zero), ReplayTimeline.longestGap)
        elapsed += .nanoseconds(Int64(Double(gap.nanoseconds) / pace))
      }
      previous = stamp
    }
    var placed = fix
    if shiftsTimes { placed.time = .utc(start.wall + elapsed) }
    return (placed, start.boot + elapsed)
  }
}
