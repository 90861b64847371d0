// SPDX-License-Identifier: Apache-2.0
package import Timekeeping

/// The time at which certificates are judged while the machine's clock cannot be right.
package enum CertificateTime {
  /// A clock before the build date is not set: then it is the build date, or the receiver's time where that is later. Who
  /// can forge satellite signals can make an expired certificate of a host pass, though not one of another authority.
  ///
  /// - Parameters:
  ///   - receiver: the time by the newest position; nil where there is none.
  /// - Returns: nil when the machine's clock is to judge.
  package static func at(_ now: Moment, buildDate: Timestamp, receiver: Timestamp? = nil) -> Timestamp? {
    guard now.wall < buildDate else { return nil }
    return max(receiver ?? buildDate, buildDate)
  }
}
