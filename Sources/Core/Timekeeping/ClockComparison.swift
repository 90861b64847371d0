// SPDX-License-Identifier: Apache-2.0

/// Tells from the machine's clocks, read together, that it slept or that somebody set the wall clock.
///
/// CLOCK_BOOTTIME counts through suspend and CLOCK_MONOTONIC does not; the wall clock keeps pace with CLOCK_BOOTTIME
/// unless it is set. The steady correction by a time daemon, 500 ppm at most, goes unnoticed as long as readings are less
/// than a quarter of an hour apart.
package struct ClockComparison: Sendable {
  /// What happened between two readings.
  package enum Change: Equatable, Sendable {
    /// The machine was suspended for this long.
    case slept(Duration)
    /// The wall clock was set by so much, forward or back.
    case stepped(Duration)
  }

  /// A smaller difference may come from reading one clock after the other.
  package static let threshold = Duration.milliseconds(500)

  private var slept: Duration
  private var offset: Duration

  /// - Parameters:
  ///   - moment: CLOCK_BOOTTIME and CLOCK_REALTIME.
  ///   - awake: CLOCK_MONOTONIC, read with them.
  package init(_ moment: Moment, awake: Duration) {
    slept = (moment.boot - .boot) - awake
    offset = (moment.wall - Timestamp(seconds: 0)) - (moment.boot - .boot)
  }

  /// What has happened since the last reading; sleep first.
  package mutating func read(_ moment: Moment, awake: Duration) -> [Change] {
    let before = self
    self = ClockComparison(moment, awake: awake)
    var changes: [Change] = []
    let rest = slept - before.slept
    if rest >= ClockComparison.threshold { changes.append(.slept(rest)) }
    let step = offset - before.offset
    if step >= ClockComparison.threshold || step <= .zero - ClockComparison.threshold { changes.append(.stepped(step)) }
    return changes
  }
}
