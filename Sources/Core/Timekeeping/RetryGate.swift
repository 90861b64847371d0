// SPDX-License-Identifier: Apache-2.0

/// Says when the next attempt at something that fails now and then is allowed: after a failure there is a wait with jitter
/// (``Backoff``), whatever happens there is a limit (``AttemptLimiter``), and news may end a wait, but not too often.
///
/// Whoever retries has one: for updates, tokens, ports and the store.
package struct RetryGate: Sendable {
  /// The least time between two waits that news have ended.
  package static let kickSpacing = Duration.seconds(30)

  /// An existential for the sake of the agents that hold a gate: a struct that contains one is passed by its address. Another
  /// struct of several kilobytes is copied by the compiler, as a whole, for calls that only read it.
  private var random: any RandomNumberGenerator & Sendable
  private var backoff = Backoff()
  /// Of all attempts, and of those that may have reached the other side; the latter as they were before the last attempt.
  private var limiter = AttemptLimiter()
  private var arrivals = AttemptLimiter()
  private var arrivalsBefore = AttemptLimiter()
  /// The last attempt has succeeded.
  private var isProven = false
  private var lastKickAt: BootInstant?

  /// The end of the wait; whether there is a limit beside it is for the caller to say.
  package private(set) var notBefore = BootInstant.boot

  /// - Parameter seed: of the jitter. Another one for each vehicle, so that a fleet does not retry as one.
  package init(seed: UInt64) {
    random = SplitMix64(seed: seed)
  }

  /// The earliest time that the limit allows, wait or no wait.
  ///
  /// Once an attempt has succeeded, those before it that never reached the other side count no more: an outage does not
  /// stretch the rhythm after it.
  package var spaced: BootInstant { isProven ? arrivals.earliest : limiter.earliest }

  /// The same for a last attempt, for which the next need not be spared.
  package var spacedLast: BootInstant { isProven ? arrivals.earliestLast : limiter.earliestLast }

  /// The attempts that limit the next one, oldest first, also across a restart.
  package var attempts: [BootInstant] { isProven ? arrivals.attempts : limiter.attempts }

  /// Attempts of the previous run, oldest first.
  package mutating func restore(_ attempts: [BootInstant]) {
    for attempt in attempts { attempted(at: attempt) }
  }

  /// The earliest time of the next attempt.
  package var earliest: BootInstant { max(notBefore, spaced) }

  /// An attempt is made; it counts for the limit.
  package mutating func attempted(at now: BootInstant) {
    limiter.attempted(at: now)
    arrivalsBefore = arrivals
    arrivals.attempted(at: now)
  }

  /// The last attempt has failed before anything reached the other side.
  package mutating func neverArrived() {
    arrivals = arrivalsBefore
  }

  /// The last attempt has succeeded: as `reset`.
  package mutating func succeeded() {
    isProven = true
    reset()
  }

  /// An attempt has failed.
  ///
  /// - Parameters:
  ///   - bounds: of the wait, which grows from failure to failure.
  ///   - floor: the least wait.
  ///   - pushback: the wait that the other side asks for. The usual wait begins at its end: a fleet that was given one date does
  ///     not return in one second.
  /// - Returns: the wait.
  package mutating func failed(
    _ bounds: Backoff.Bounds, floor: Duration = .zero, after pushback: Duration = .zero, at now: BootInstant
  ) -> Duration {
    isProven = false
    return hold(for: pushback + backoff.next(bounds, floor: floor, using: &random), at: now)
  }

  /// An attempt has failed in a way whose waits grow on an account of its own.
  ///
  /// - Returns: the wait.
  package mutating func failed(
    _ bounds: Backoff.Bounds, floor: Duration = .zero, growing other: inout Backoff, at now: BootInstant
  ) -> Duration {
    hold(for: other.next(bounds, floor: floor, using: &random), at: now)
  }

  /// Nothing is attempted for this time, which says nothing of the waits after it.
  @discardableResult
  package mutating func hold(for wait: Duration, at now: BootInstant) -> Duration {
    notBefore = now + wait
    return wait
  }

  /// The wait is over; the next failure's is as long as it would have been.
  package mutating func allow() {
    notBefore = .boot
  }

  /// An attempt has succeeded, or what stood in the way is gone: there is no wait, and the next is the first again.
  package mutating func reset() {
    backoff.reset()
    notBefore = .boot
  }

  /// News came that may end a wait: the same as `reset`, but not within 30 s of the last time.
  package mutating func kick(at now: BootInstant) {
    if let lastKickAt, now - lastKickAt < RetryGate.kickSpacing { return }
    lastKickAt = now
    reset()
  }
}
