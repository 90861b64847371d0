// SPDX-License-Identifier: Apache-2.0
package import Timekeeping

/// The time at which certificates are verified while the machine's clock is unset.
package enum CertificateTime {
  /// A clock before the build date is unset: then the time is the build date, or the known time if that is later.
  /// Spoofed satellite signals can make an expired certificate of a host valid, but not one of another authority.
  ///
  /// - Parameter known: the current time according to a receiver or a server; nil if there is none.
  /// - Returns: the time at which to check certificates; nil for the machine's clock.
  package static func at(_ now: Moment, buildDate: Timestamp, known: Timestamp? = nil) -> Timestamp? {
    guard now.wall < buildDate else { return nil }
    return max(known ?? buildDate, buildDate)
  }

  /// The same for a program that knows the error of this machine's clock from the daemon.
  ///
  /// - Parameter clockError: how far the clock is ahead; nil if it is not known.
  package static func at(_ now: Moment, buildDate: Timestamp, clockError: Duration?) -> Timestamp? {
    at(now, buildDate: buildDate, known: clockError.map { now.wall - $0 })
  }
}
