// SPDX-License-Identifier: Apache-2.0
package import Timekeeping

/// Limits what a peer sends without any use, such as PING: 200 of it at once, and then one each second.
package struct FloodLimit: Equatable, Sendable {
  /// How many are allowed at once.
  package static let burst = 200

  /// Each one moves this forward by a second from now, or from where it is if that is later.
  package private(set) var usedUntil: BootInstant

  /// - Parameter usedUntil: that of an earlier value of the same peer.
  package init(usedUntil: BootInstant = .boot) {
    self.usedUntil = usedUntil
  }

  /// Counts one at `now`.
  ///
  /// - Returns: false if there were too many.
  package mutating func allows(at now: BootInstant) -> Bool {
    usedUntil = max(usedUntil, now) + .seconds(1)
    return usedUntil - now <= .seconds(FloodLimit.burst)
  }
}
