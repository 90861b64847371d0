// SPDX-License-Identifier: Apache-2.0
import Glibc
package import SystemCalls

/// The network cannot be watched.
package struct NetworkWatchError: Error, Equatable, Sendable, CustomStringConvertible {
  package struct Code: RawRepresentable, Equatable, Sendable {
    package let rawValue: String

    package init(rawValue: String) {
      self.rawValue = rawValue
    }

    /// This process may not have a netlink socket.
    package static let denied = Code(rawValue: "denied")
    /// Anything else: no descriptor or memory left.
    package static let failed = Code(rawValue: "failed")
  }

  package let code: Code
  /// What was asked, what the system said, and what to do.
  package let message: String
  package let cause: Errno

  init(_ code: Code, _ message: String, cause: Errno) {
    self.code = code
    self.message = message
    self.cause = cause
  }

  init(_ cause: Errno) {
    // EAFNOSUPPORT is systemd's answer, EPERM and EACCES those of other sandboxes.
    let isDenied = [EAFNOSUPPORT, EPERM, EACCES, EPROTONOSUPPORT].contains(cause.code)
    self.init(
      isDenied ? .denied : .failed,
      "no netlink socket: \(cause)\(isDenied ? "; allow AF_NETLINK in the unit's RestrictAddressFamilies" : "")",
      cause: cause)
  }

  package var description: String { message }
}
