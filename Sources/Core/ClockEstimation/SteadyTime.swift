// SPDX-License-Identifier: Apache-2.0
package import Timekeeping

/// The current time by the positions' timestamps, once they have been consistent with elapsed time for a while.
///
/// The age of positions is relative to this time, so that it does not depend on the machine's clock, and is comparable
/// after a restart. A receiver's first timestamps after a cold start can be years off, and must not expire the backlog;
/// hence the settling time.
package struct SteadyTime: Sendable {
  /// How long timestamps must be consistent before they count.
  package static let settlingTime = Duration.seconds(300)
  /// A larger difference from elapsed time between two timestamps is a step. After a smaller one, the timestamps before
  /// it may have been the right ones.
  private static let tolerance = Duration.seconds(60)

  private var newest: (stamp: Timestamp, at: BootInstant)?
  private var steadySince = BootInstant.boot

  package init() {}

  /// Processes the timestamp of an accepted fix.
  package mutating func observe(_ stamp: Timestamp, at now: BootInstant) {
    if let newest {
      let step = (stamp - newest.stamp) - (now - newest.at)
      if step > SteadyTime.tolerance || step < .zero - SteadyTime.tolerance { steadySince = now }
    } else {
      steadySince = now
    }
    newest = (stamp, now)
  }

  /// The newest timestamp; nil while it is not reliable.
  package var time: Timestamp? {
    guard let newest, newest.at - steadySince >= SteadyTime.settlingTime else { return nil }
    return newest.stamp
  }

  /// The latest possible time, as the newest timestamp may be from long ago; nil while it is not reliable.
  package func latest(at now: BootInstant) -> Timestamp? {
    guard time != nil, let newest else { return nil }
    return newest.stamp + (now - newest.at) + SteadyTime.tolerance
  }
}
