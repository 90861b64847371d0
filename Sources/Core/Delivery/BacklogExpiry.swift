// SPDX-License-Identifier: Apache-2.0
import Timekeeping

/// When positions are too old, by the positions' own time.
struct BacklogExpiry: Sendable {
  /// How often the store looks for positions of other vehicles that are too old.
  static let period = Duration.seconds(3600)

  private var steadyTime = SteadyTime()
  private var forgotAt: BootInstant?

  /// A position of this time was accepted.
  mutating func observe(_ stamp: Timestamp, at now: BootInstant) {
    steadyTime.observe(stamp, at: now)
  }

  /// - Returns: the time by which ages are judged, and whether positions of other vehicles are due to be judged as well; nil
  ///   as long as no time can be trusted: then nothing is too old.
  mutating func check(at now: BootInstant) -> (time: Timestamp, othersAreDue: Bool)? {
    guard let time = steadyTime.time else { return nil }
    if let forgotAt, now - forgotAt < BacklogExpiry.period { return (time, false) }
    forgotAt = now
    return (time, true)
  }
}
