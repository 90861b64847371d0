// SPDX-License-Identifier: Apache-2.0
import ClockEstimation
package import Timekeeping

/// When positions are too old, by the positions' timestamps.
package struct BacklogExpiry: Sendable {
  /// How often positions of other vehicles in the store are checked.
  static let otherVehiclesPeriod = Duration.seconds(3600)

  private var steadyTime = SteadyTime()
  private var lastOthersCheckAt: BootInstant?

  package init() {}

  /// A position with this timestamp was accepted.
  package mutating func observe(_ stamp: Timestamp, at now: BootInstant) {
    steadyTime.observe(stamp, at: now)
  }

  /// - Returns: the reference time for ages, the latest possible time of a position, and whether positions of other
  ///   vehicles are due for a check as well; nil if no time is reliable: then nothing expires.
  package mutating func check(at now: BootInstant) -> (time: Timestamp, latest: Timestamp, othersAreDue: Bool)? {
    guard let time = steadyTime.time, let latest = steadyTime.latest(at: now) else { return nil }
    if let lastOthersCheckAt, now - lastOthersCheckAt < BacklogExpiry.otherVehiclesPeriod {
      return (time, latest, false)
    }
    lastOthersCheckAt = now
    return (time, latest, true)
  }
}
