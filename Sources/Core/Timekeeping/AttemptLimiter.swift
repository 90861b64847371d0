// SPDX-License-Identifier: Apache-2.0

/// Rate limit of requests to one server: at least one second apart, at most twelve in any minute, whatever the reason.
///
/// Allows a burst of six; later attempts are spread over the minute, so that a series of quick failures is never
/// followed by a long silence: the wait is at most nine seconds. A steady request every five seconds is never delayed.
package struct AttemptLimiter: Equatable, Sendable {
  /// The maximum number of attempts in any sixty seconds.
  package static let perMinute = 12
  /// The minimum time between two attempts.
  package static let spacing = Duration.seconds(1)
  /// The number of consecutive intervals between attempts that need only be `spacing` long.
  private static let burstIntervals = 5

  /// The last attempts, oldest first, at most `perMinute`.
  package private(set) var attempts: [BootInstant] = []
  /// The earliest time of the next attempt.
  package private(set) var earliest = BootInstant.boot

  package init() {}

  /// The earliest time of a final attempt, such as at shutdown, which need not leave room for another.
  package var earliestFinal: BootInstant {
    guard let last = attempts.last else { return .boot }
    guard attempts.count == AttemptLimiter.perMinute, let first = attempts.first else {
      return last + AttemptLimiter.spacing
    }
    return max(last + AttemptLimiter.spacing, first + .seconds(60))
  }

  /// Records an attempt at `now`.
  package mutating func attempted(at now: BootInstant) {
    if attempts.count == AttemptLimiter.perMinute { attempts.removeFirst() }
    attempts.append(now)
    for (age, attempt) in attempts.reversed().enumerated() {
      earliest = max(earliest, attempt + AttemptLimiter.minimumIntervals[age])
    }
  }

  /// The minimum time since the last attempt, since the one before it, and so on.
  private static let minimumIntervals = (1...perMinute).map { count -> Duration in
    guard count > burstIntervals else { return spacing * count }
    return .milliseconds(60_000 - (perMinute - count) * (60_000 - burstIntervals * 1000) / (perMinute - burstIntervals))
  }
}
