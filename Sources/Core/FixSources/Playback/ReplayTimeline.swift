// SPDX-License-Identifier: Apache-2.0
package import Positioning
package import Timekeeping

/// Maps the times of a recording to the present, and its speeds to the pace.
package struct ReplayTimeline: Sendable {
  private let pace: Double
  private let shiftsTimes: Bool
  private let start: Moment
  private var previous: Timestamp?
  /// Whether a fix had a date. Until then the date of `previous` comes from the clock, which may be wrong.
  private var isDated = false
  /// The time since the start according to the shifted timestamps.
  private var elapsed = Duration.zero
  /// The shifted time of the last fix.
  private var lastShiftedTime: Timestamp?

  /// Maximum gap: a recording that was interrupted for a night continues after a minute.
  package static let maximumGap = Duration.seconds(60)

  /// - Parameters:
  ///   - pace: 1 is the recorded pace, 2 twice as fast; 0 makes every fix due at once.
  ///   - shiftsTimes: whether timestamps are shifted so that the first fix is at `start`, or keep their recorded
  ///     values. Shifted times follow the pace, and so do the speeds; at pace 0 they keep the recorded intervals.
  ///   - start: the start of the replay.
  package init(pace: Double, shiftsTimes: Bool, start: Moment) {
    self.pace = pace
    self.shiftsTimes = shiftsTimes
    self.start = start
  }

  /// When the next fix of the recording is due, and the fix with its shifted time and its speed at the pace. Nil if its
  /// shifted time would equal that of the previous fix: timestamps have a resolution of a millisecond, and at a high
  /// pace fixes may be closer together.
  package mutating func schedule(_ fix: Fix) -> (fix: Fix, due: BootInstant)? {
    if case .utc(let stamp) = fix.time, !isDated {
      isDated = true
      previous = previous.map { stamp.nearest(millisecondsOfDay: $0.millisecondsOfDay) }
    }
    let stamp: Timestamp? =
      switch fix.time {
      case .utc(let stamp): stamp
      case .ofDay(let milliseconds): (previous ?? start.wall).nearest(millisecondsOfDay: milliseconds)
      case nil: nil
      }
    var isLater = false
    if let stamp {
      if let previous {
        let gap = min(max(stamp - previous, .zero), ReplayTimeline.maximumGap)
        elapsed += pace > 0 ? .nanoseconds(Int64(min(Double(gap.nanoseconds) / pace, 9e18))) : gap
        isLater = gap > .zero
      }
      previous = stamp
    }
    let due = pace > 0 ? start.boot + elapsed : start.boot
    guard shiftsTimes else { return (fix, due) }
    let time = start.wall + elapsed
    if isLater, time == lastShiftedTime { return nil }
    lastShiftedTime = time
    var shifted = fix
    shifted.time = .utc(time)
    if pace > 0 {
      shifted.speed = fix.speed.map { $0 * pace }
      shifted.speedAccuracy = fix.speedAccuracy.map { $0 * pace }
    }
    return (shifted, due)
  }
}
