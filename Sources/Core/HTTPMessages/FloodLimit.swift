// SPDX-License-Identifier: Apache-2.0
package import Timekeeping

/// Limits the messages of a peer that serve no purpose, such as PING: 200 at once, and then one per second.
package struct FloodLimit: Equatable, Sendable {
  /// How many messages are allowed at once.
  package static let burst = 200

  /// Each message moves this forward by a second: from now, or from its current value if that is later.
  private var usedUntil = BootInstant.boot

  package init() {}

  /// Counts a message at `now`.
  ///
  /// - Returns: false if there were too many.
  package mutating func admit(at now: BootInstant) -> Bool {
    usedUntil = max(usedUntil, now) + .seconds(1)
    return usedUntil - now <= .seconds(FloodLimit.burst)
  }
}
