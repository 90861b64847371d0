// SPDX-License-Identifier: Apache-2.0
package import Timekeeping

/// The time by the positions themselves, once it has kept step with elapsed time for a while.
///
/// Ages of positions are judged by it: it needs no clock of the machine, and means the same after a restart. A receiver's
/// first stamps after a cold start can be years off, and must not throw a backlog away; hence the while.
package struct SteadyTime: Sendable {
  /// How long stamps must keep step before they count.
  package static let patience = Duration.seconds(300)
  /// More than this between two stamps, beside the time that has passed, is a step.
  private static let tolerance = Duration.seconds(60)

  private var newest: (stamp: Timestamp, at: BootInstant)?
  private var steadySince = BootInstant.boot

  package init() {}

  /// Takes the stamp of a believed fix.
  package mutating func observe(_ stamp: Timestamp, at now: BootInstant) {
    if let newest {
      let step = (stamp - newest.stamp) - (now - newest.at)
      if step > SteadyTime.tolerance || step < .zero - SteadyTime.tolerance { steadySince = now }
    } else {
      steadySince = now
    }
    newest = (stamp, now)
  }

  /// The newest stamp; nil while it cannot be trusted with more than itself.
  package var time: Timestamp? {
    guard let newest, newest.at - steadySince >= SteadyTime.patience else { return nil }
    return newest.stamp
  }
}
