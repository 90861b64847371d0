// SPDX-License-Identifier: Apache-2.0
import Glibc
package import SystemCalls

/// The network cannot be monitored.
package typealias NetworkWatchError = PlatformError<NetworkWatchErrorCode>

/// Why the network is not monitored.
package nonisolated enum NetworkWatchErrorCode: Sendable {
  /// This process is not permitted to use netlink sockets.
  case permissionDenied
  /// Any other error: no descriptor or memory left.
  case failed
}

nonisolated extension PlatformError where Code == NetworkWatchErrorCode {
  /// The error for a failed call on a netlink socket.
  init(_ cause: Errno) {
    // EAFNOSUPPORT is systemd's error, EPERM and EACCES those of other sandboxes.
    let isDenied = [EAFNOSUPPORT, EPERM, EACCES, EPROTONOSUPPORT].contains(cause.code)
    self.init(
      isDenied ? .permissionDenied : .failed,
      "no netlink socket: \(cause)\(isDenied ? "; allow AF_NETLINK in the unit's RestrictAddressFamilies" : "")",
      cause: cause)
  }
}
