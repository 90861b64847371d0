// SPDX-License-Identifier: Apache-2.0
package import Timekeeping

/// The offset of a receiver's clock, and its corrected timestamps.
///
/// A fix cannot be from the future, and Fleet Engine ignores all later positions after one that is. A receiver that has
/// not yet received the leap seconds is up to 18 s ahead for minutes after a cold start; others have a wrong date.
package struct ReceiverClock: Sendable {
  /// How far a timestamp may be ahead of the latest possible time: bounds and clocks are not exact.
  static let slack = Duration.seconds(3)
  /// The maximum latency of a receiver, which may also repeat buffered fixes; a larger lag is an error.
  static let maximumDelay = Duration.seconds(600)
  /// Time zones differ by multiples of this: some receivers are set to local time.
  private static let timeZoneStep: Int64 = 900
  /// GPS time is ahead of UTC by this; a receiver reports it as UTC until it has received the leap seconds.
  private static let leapSeconds = Duration.seconds(18)

  /// The correction that is subtracted from timestamps: whole seconds, positive if the clock is ahead.
  private(set) var offset = Duration.zero
  /// Consecutive fixes whose timestamps have the same error.
  private var contradiction: (offset: Duration, since: BootInstant, count: Int)?

  /// The result for a timestamp.
  enum Outcome: Equatable {
    /// It is right or can be corrected: `offset` applies, which has changed by `change`.
    case settled(change: Duration)
    /// It is wrong, and the correction is not confirmed yet.
    case wrong
  }

  /// Checks the timestamp of a fix that arrives at `now`. After `settled`, `offset` applies to it.
  ///
  /// - Parameters:
  ///   - bounds: time bounds; nil if only the receiver has the time.
  ///   - accepted: the time of the last accepted fix, and its arrival: a receiver whose clock has jumped since then had
  ///     the right time.
  ///   - otherTime: the time by the clock of another source, which was used last; nil if there is none.
  ///   - agreement: number and duration of consistent fixes that confirm an offset.
  mutating func check(
    _ stamp: Timestamp, bounds: TimeBounds?, after accepted: (time: Timestamp, at: BootInstant)?,
    otherTime: Timestamp? = nil, agreement: (count: Int, time: Duration), at now: BootInstant
  ) -> Outcome {
    guard let bounds else {
      // A long time offline does not correct a wrong clock.
      guard offset != .zero, let accepted, let error = errorAfterJump(stamp, accepted, at: now) else {
        return apply(offset)
      }
      return confirms(error, by: agreement, at: now) ? apply(error) : .settled(change: .zero)
    }
    guard let error = ReceiverClock.error(of: stamp, bounds, at: now, after: accepted, otherTime: otherTime) else {
      return apply(.zero)
    }
    let corrected = stamp - offset
    let isPossible = ReceiverClock.error(of: corrected, bounds, at: now) == nil
    // Within the bounds the offset remains unchanged.
    if bounds.earliest(at: now) - corrected <= ReceiverClock.slack, corrected <= bounds.latest(at: now) {
      return apply(offset)
    }
    // If a corrected timestamp is late, the report is late, or the clock's error has decreased: for example, it is
    // still an hour ahead, but has received the leap seconds. If it is ahead, the error has increased.
    return confirms(error, by: agreement, at: now) ? apply(error) : isPossible ? .settled(change: .zero) : .wrong
  }

  /// Whether enough consecutive fixes had the same error.
  private mutating func confirms(
    _ error: Duration, by agreement: (count: Int, time: Duration), at now: BootInstant
  ) -> Bool {
    guard let (offset, since, count) = contradiction,
      max(error - offset, offset - error) <= ReceiverClock.slack
    else {
      contradiction = (error, now, 1)
      return false
    }
    contradiction = (offset, since, count + 1)
    return count + 1 >= agreement.count && now - since >= agreement.time
  }

  /// The error of a timestamp if elapsed time continues the corrected ones: for example, the clock has received the
  /// leap seconds since, or is no longer an hour ahead.
  ///
  /// - Returns: nil if the clock has not jumped, or the report may only be late.
  private func errorAfterJump(
    _ stamp: Timestamp, _ accepted: (time: Timestamp, at: BootInstant), at now: BootInstant
  ) -> Duration? {
    let error = stamp - (accepted.time + (now - accepted.at))
    let change = error - offset
    func isAbout(_ right: Duration) -> Bool { max(error - right, right - error) <= ReceiverClock.slack }
    guard !isAbout(offset) else { return nil }
    if isAbout(.zero) { return .zero }
    let leap = change > .zero ? ReceiverClock.leapSeconds : .zero - ReceiverClock.leapSeconds
    let hasLeapt = isAbout(offset + leap)
    guard hasLeapt || max(change, .zero - change) > ReceiverClock.maximumDelay else { return nil }
    if isAbout(ReceiverClock.leapSeconds) { return ReceiverClock.leapSeconds }
    if hasLeapt { return offset + leap }
    return offset + .seconds((change + .milliseconds(change > .zero ? 500 : -500)).wholeSeconds)
  }

  private mutating func apply(_ newOffset: Duration) -> Outcome {
    defer { offset = newOffset }
    contradiction = nil
    return .settled(change: newOffset - offset)
  }

  /// The error of a timestamp in whole seconds; nil if it is within the bounds, or earlier than a lone response.
  ///
  /// - Parameters:
  ///   - accepted: the time of an earlier fix, and its arrival. If it lies within the bounds, it is closer to the truth
  ///     than a bound, which after slow responses is many seconds off.
  ///   - otherTime: the time by the clock of another source: the same if that lies within the bounds.
  package static func error(
    of stamp: Timestamp, _ bounds: TimeBounds, at now: BootInstant,
    after accepted: (time: Timestamp, at: BootInstant)? = nil, otherTime: Timestamp? = nil
  ) -> Duration? {
    let (minimumError, maximumError) = (stamp - bounds.latest(at: now), stamp - bounds.earliest(at: now))
    guard minimumError > slack || (maximumError < .zero - maximumDelay && !bounds.isLone) else { return nil }
    if minimumError - .seconds(1) <= leapSeconds, leapSeconds <= maximumError + .seconds(1) { return leapSeconds }
    let seconds = maximumError.wholeSeconds - (maximumError < .zero ? 1 : 0)
    let zoneOffset = Duration.seconds(seconds - ((seconds % timeZoneStep) + timeZoneStep) % timeZoneStep)
    // After slow responses the bounds are many seconds apart.
    if zoneOffset >= minimumError { return zoneOffset }
    for time in [accepted.map { $0.time + (now - $0.at) }, otherTime] {
      guard let time, bounds.earliest(at: now) <= time, time <= bounds.latest(at: now) else { continue }
      // All reports take about the same time to arrive.
      return .seconds((stamp - time + .milliseconds(stamp > time ? 500 : -500)).wholeSeconds)
    }
    // Rounded up: a timestamp may be one second late, but not early.
    return .seconds(maximumError.wholeSeconds + (maximumError > .zero ? 1 : 0))
  }
}
