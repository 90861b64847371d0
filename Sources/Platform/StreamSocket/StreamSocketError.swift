// SPDX-License-Identifier: Apache-2.0
import Glibc
package import SystemCalls

/// A connection could not be established, or was closed.
package typealias StreamSocketError = PlatformError<StreamSocketErrorCode>

/// What is wrong with a connection.
package nonisolated enum StreamSocketErrorCode: Sendable {
  /// The name has no address.
  case unknownHost
  /// Connection refused: nothing listens on the port.
  case refused
  /// There is no route to the host.
  case unreachable
  /// Another program uses the address.
  case inUse
  /// Timeout.
  case timeout
  /// The peer closed the connection.
  case closed
  /// Any other error.
  case failed
}

nonisolated extension PlatformError where Code == StreamSocketErrorCode {
  /// The error of connecting, or of a later call.
  init(_ name: String, _ error: Errno) {
    let code: Code =
      switch error.code {
      case ECONNREFUSED: .refused
      case ENETUNREACH, EHOSTUNREACH, ENETDOWN, EADDRNOTAVAIL, EAFNOSUPPORT, ENODEV: .unreachable
      case EADDRINUSE: .inUse
      case ETIMEDOUT: .timeout
      case ECONNRESET, EPIPE: .closed
      default: .failed
      }
    self.init(code, "\(name): \(error)", cause: error)
  }
}
