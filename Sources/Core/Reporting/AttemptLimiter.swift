// SPDX-License-Identifier: Apache-2.0
package import Timekeeping

/// Bounds the requests of a vehicle in every state: at least a second between two, at most twelve in any minute.
package struct AttemptLimiter: Equatable, Sendable {
  package static let perMinute = 12
  package static let spacing = Duration.seconds(1)

  /// The last attempts, oldest first, at most `perMinute`.
  private var attempts: [BootInstant] = []

  package init() {}

  /// The earliest time of the next attempt.
  package var earliest: BootInstant {
    guard let last = attempts.last else { return .boot }
    guard attempts.count == AttemptLimiter.perMinute, let first = attempts.first else {
      return last + AttemptLimiter.spacing
    }
    return max(last + AttemptLimiter.spacing, first + .seconds(60))
  }

  package mutating func attempted(at now: BootInstant) {
    if attempts.count == AttemptLimiter.perMinute { attempts.removeFirst() }
    attempts.append(now)
  }
}
