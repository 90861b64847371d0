// SPDX-License-Identifier: Apache-2.0
package import Timekeeping

/// Maps the times of a recording to the present.
package struct ReplayTimeline: Sendable {
  private let pace: Double
  private let shiftsTimes: Bool
  private let start: Moment
  private var previous: Timestamp?
  private var elapsed = Duration.zero

  /// Maximum gap: a recording that was interrupted for a night continues after a minute.
  package static let longestGap = Duration.seconds(60)

  /// - Parameters:
  ///   - pace: 1 is the recorded pace, 2 twice as fast; 0 makes every fix due at once.
  ///   - shiftsTimes: whether timestamps are shifted so that the first fix is at `start`, or keep their values.
  ///   - start: the start of the replay.
  package init(pace: Double, shiftsTimes: Bool, start: Moment) {
    self.pace = pace
    self.shiftsTimes = shiftsTimes
    self.start = start
  }

  /// When the next fix of the recording is due, and the fix with its shifted time.
  package mutating func schedule(_ fix: Fix) -> (fix: Fix, due: BootInstant) {
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
