// SPDX-License-Identifier: Apache-2.0
package import Timekeeping

/// By how much the clock of a receiver is wrong, and the stamps that it should have given.
///
/// A fix cannot come from the future, and Fleet Engine ignores every right position after one that does. A receiver that has
/// not yet received the leap seconds is up to 18 s ahead for minutes after a cold start; others have a wrong date.
package struct ReceiverClock: Sendable {
  /// A stamp may be ahead of the latest time that it can be by this much: bounds and clocks are not exact.
  static let slack = Duration.seconds(3)
  /// A receiver may report late, and repeat what it has held back; one that is behind by more is wrong.
  static let longestDelay = Duration.seconds(600)
  /// GPS time is ahead of UTC by this, until the receiver knows better.
  private static let leapSeconds = Duration.seconds(18)

  /// What is subtracted from its stamps: whole seconds, more than zero when it is ahead.
  private(set) var offset = Duration.zero
  /// Fixes in a row whose stamps are wrong by the same.
  private var challenge: (offset: Duration, since: BootInstant, count: Int)?

  /// What becomes of a stamp.
  enum Outcome: Equatable {
    /// It is right, or can be corrected: the offset, which has changed by this.
    case settled(change: Duration)
    /// It is wrong, and the receiver may still take it back.
    case wrong
  }

  /// Judges the stamp of a fix that arrives at `now`. After `settled`, `offset` holds for it.
  ///
  /// - Parameters:
  ///   - bounds: of the time; nil when only the receiver knows it.
  ///   - agreement: how many fixes, over how long, must agree before their offset counts.
  mutating func judge(
    _ stamp: Timestamp, bounds: TimeBounds?, agreement: (count: Int, time: Duration), at now: BootInstant
  ) -> Outcome {
    guard let bounds, let error = ReceiverClock.error(of: stamp, bounds, at: now) else { return use(.zero) }
    let corrected = stamp - offset
    let isPossible = ReceiverClock.error(of: corrected, bounds, at: now) == nil
    // Within what the bounds leave open, the offset stays as it is.
    if isPossible, bounds.earliest(at: now) - corrected <= ReceiverClock.slack { return use(offset) }
    // A corrected stamp that is late is a late report, or the clock is wrong by less than before: an hour ahead still, and the
    // leap seconds have come.
    return confirms(error, by: agreement, at: now) ? use(error) : isPossible ? .settled(change: .zero) : .wrong
  }

  /// Whether enough fixes in a row have been wrong by the same.
  private mutating func confirms(
    _ error: Duration, by agreement: (count: Int, time: Duration), at now: BootInstant
  ) -> Bool {
    guard let (offset, since, count) = challenge,
      max(error - offset, offset - error) <= ReceiverClock.slack
    else {
      challenge = (error, now, 1)
      return false
    }
    challenge = (offset, since, count + 1)
    return count + 1 >= agreement.count && now - since >= agreement.time
  }

  private mutating func use(_ new: Duration) -> Outcome {
    defer { offset = new }
    challenge = nil
    return .settled(change: new - offset)
  }

  /// By how much a stamp is wrong, in whole seconds; nil when it can be right.
  package static func error(of stamp: Timestamp, _ bounds: TimeBounds, at now: BootInstant) -> Duration? {
    let (ahead, most) = (stamp - bounds.latest(at: now), stamp - bounds.earliest(at: now))
    guard ahead > slack || most < .zero - longestDelay else { return nil }
    if ahead - .seconds(1) <= leapSeconds, leapSeconds <= most + .seconds(1) { return leapSeconds }
    // Rounded up: one that is a second late is right, one that is a second early is not.
    return .seconds(most.wholeSeconds + (most > .zero ? 1 : 0))
  }
}
