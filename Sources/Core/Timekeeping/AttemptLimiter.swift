// SPDX-License-Identifier: Apache-2.0

/// Bounds the requests to one server in every state: at least a second between two, at most twelve in any minute.
///
/// Five may come in quick succession; those after them are spread over the minute, so that a row of quick failures is never
/// followed by a long silence: the wait is at most nine seconds. A steady request every five seconds is never delayed.
package struct AttemptLimiter: Equatable, Sendable {
  /// Attempts in any sixty seconds.
  package static let perMinute = 12
  /// The least time between two attempts.
  package static let spacing = Duration.seconds(1)
  /// Attempts that need only the spacing between them.
  private static let burst = 5

  /// The last attempts, oldest first, at most `perMinute`.
  package private(set) var attempts: [BootInstant] = []
  /// The earliest time of the next attempt.
  package private(set) var earliest = BootInstant.boot

  package init() {}

  /// The earliest time of a last attempt, for which the next need not be spared.
  package var earliestLast: BootInstant {
    guard let last = attempts.last else { return .boot }
    guard attempts.count == AttemptLimiter.perMinute, let first = attempts.first else {
      return last + AttemptLimiter.spacing
    }
    return max(last + AttemptLimiter.spacing, first + .seconds(60))
  }

  /// Counts an attempt that is made now.
  package mutating func attempted(at now: BootInstant) {
    if attempts.count == AttemptLimiter.perMinute { attempts.removeFirst() }
    attempts.append(now)
    for (age, attempt) in attempts.reversed().enumerated() {
      earliest = max(earliest, attempt + AttemptLimiter.distances[age])
    }
  }

  /// The least time since the last attempt, the one before it, and so on.
  private static let distances = (1...perMinute).map { count -> Duration in
    guard count > burst else { return spacing * count }
    return .milliseconds(60_000 - (perMinute - count) * (60_000 - burst * 1000) / (perMinute - burst))
  }
}
