// SPDX-License-Identifier: Apache-2.0

/// Decides when something that may fail can be attempted again: a jittered ``Backoff`` after failures, a rate limit
/// (``AttemptLimiter``) in any case, and a rate-limited reset of the backoff when conditions have changed.
///
/// Used for updates, tokens, ports and the store.
package struct RetryGate: Sendable {
  /// The minimum time between two resets by ``resetUnlessRecent(at:)``.
  package static let minimumResetSpacing = Duration.seconds(30)

  /// An existential on purpose: the compiler passes a struct that contains one by reference, but copies any other
  /// struct of several kilobytes, such as the agents that hold a gate, even for calls that only read it.
  private var random: any RandomNumberGenerator & Sendable
  private var backoff = Backoff()
  /// Limits of all attempts, and of those that may have reached the server; `previousArrivalLimiter` is the latter
  /// without the last attempt.
  private var limiter = AttemptLimiter()
  private var arrivalLimiter = AttemptLimiter()
  private var previousArrivalLimiter = AttemptLimiter()
  /// The last attempt succeeded.
  private var lastSucceeded = false
  private var lastResetAt: BootInstant?

  /// The end of the wait. The rate limit (``earliestByLimit``) applies in addition.
  package private(set) var notBefore = BootInstant.boot

  /// - Parameter seed: the seed of the jitter; differs between vehicles, so that a fleet does not retry in step.
  package init(seed: UInt64) {
    random = SplitMix64(seed: seed)
  }

  /// The earliest time that the rate limit allows, without the wait.
  ///
  /// After a success, earlier attempts that never reached the server no longer count, so that an outage does not slow
  /// down the updates after it.
  package var earliestByLimit: BootInstant { lastSucceeded ? arrivalLimiter.earliest : limiter.earliest }

  /// The same for a final attempt, which need not leave room for another.
  package var earliestFinalByLimit: BootInstant { lastSucceeded ? arrivalLimiter.earliestFinal : limiter.earliestFinal }

  /// The attempts that limit the next one, oldest first; passed on to the next run.
  package var attempts: [BootInstant] { lastSucceeded ? arrivalLimiter.attempts : limiter.attempts }

  /// Counts attempts of the previous run, oldest first.
  package mutating func restore(_ attempts: [BootInstant]) {
    for attempt in attempts { attempted(at: attempt) }
  }

  /// The earliest time of the next attempt.
  package var earliest: BootInstant { max(notBefore, earliestByLimit) }

  /// Records an attempt at `now`, which counts for the rate limit.
  package mutating func attempted(at now: BootInstant) {
    limiter.attempted(at: now)
    previousArrivalLimiter = arrivalLimiter
    arrivalLimiter.attempted(at: now)
  }

  /// The last attempt failed before anything reached the server.
  package mutating func failedUnsent() {
    arrivalLimiter = previousArrivalLimiter
  }

  /// The last attempt succeeded; resets the backoff.
  package mutating func succeeded() {
    lastSucceeded = true
    reset()
  }

  /// The last attempt failed.
  ///
  /// - Parameters:
  ///   - bounds: base and cap of the wait, which grows with each failure.
  ///   - minimum: the minimum wait.
  ///   - pushback: the wait that the server asked for. The backoff is added to it, so that a fleet that was given the
  ///     same time does not return in the same second.
  /// - Returns: the wait.
  package mutating func failed(
    _ bounds: Backoff.Bounds, minimum: Duration = .zero, after pushback: Duration = .zero, at now: BootInstant
  ) -> Duration {
    lastSucceeded = false
    return hold(for: pushback + backoff.next(bounds, floor: minimum, using: &random), at: now)
  }

  /// An attempt failed, and the waits after this kind of failure grow with a separate backoff.
  ///
  /// - Returns: the wait.
  package mutating func failed(
    _ bounds: Backoff.Bounds, minimum: Duration = .zero, growing other: inout Backoff, at now: BootInstant
  ) -> Duration {
    hold(for: other.next(bounds, floor: minimum, using: &random), at: now)
  }

  /// Waits without changing the backoff.
  @discardableResult
  package mutating func hold(for wait: Duration, at now: BootInstant) -> Duration {
    notBefore = now + wait
    return wait
  }

  /// Ends the wait without resetting the backoff.
  package mutating func endWait() {
    notBefore = .boot
  }

  /// Ends the wait and resets the backoff: an attempt succeeded, or the cause of the failures is gone.
  package mutating func reset() {
    backoff.reset()
    notBefore = .boot
  }

  /// Conditions have changed (the network came up, for example): calls ``reset()``, at most once in 30 s.
  package mutating func resetUnlessRecent(at now: BootInstant) {
    if let lastResetAt, now - lastResetAt < RetryGate.minimumResetSpacing { return }
    lastResetAt = now
    reset()
  }
}
