// SPDX-License-Identifier: Apache-2.0

/// Detects suspend and steps of the wall clock by comparing the machine's clocks, which are read together.
///
/// CLOCK_BOOTTIME counts through suspend and CLOCK_MONOTONIC does not; the wall clock keeps pace with CLOCK_BOOTTIME
/// unless it is stepped. The slewing of a time daemon, at most 500 ppm, stays below the threshold if readings are less
/// than a quarter of an hour apart.
package struct ClockComparison: Sendable {
  /// What happened between two readings.
  package enum Change: Equatable, Sendable {
    /// The machine was suspended for this long.
    case suspended(Duration)
    /// The wall clock was stepped by this much; negative is backward.
    case stepped(Duration)
  }

  /// Smaller differences can come from reading the clocks one after the other.
  package static let threshold = Duration.milliseconds(500)

  private var suspendedTime: Duration
  private var offset: Duration

  /// - Parameters:
  ///   - moment: CLOCK_BOOTTIME and CLOCK_REALTIME.
  ///   - awake: CLOCK_MONOTONIC, read with them.
  package init(_ moment: Moment, awake: Duration) {
    suspendedTime = (moment.boot - .boot) - awake
    offset = (moment.wall - Timestamp(seconds: 0)) - (moment.boot - .boot)
  }

  /// What has happened since the last reading; suspend comes first.
  package mutating func update(_ moment: Moment, awake: Duration) -> [Change] {
    let before = self
    self = ClockComparison(moment, awake: awake)
    var changes: [Change] = []
    let suspension = suspendedTime - before.suspendedTime
    if suspension >= ClockComparison.threshold { changes.append(.suspended(suspension)) }
    let step = offset - before.offset
    if step >= ClockComparison.threshold || step <= .zero - ClockComparison.threshold { changes.append(.stepped(step)) }
    return changes
  }
}
