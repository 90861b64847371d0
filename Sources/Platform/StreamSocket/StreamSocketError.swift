// SPDX-License-Identifier: Apache-2.0
import Glibc
package import SystemCalls

/// A connection could not be established, or was closed.
package typealias StreamSocketError = PlatformError<StreamSocket>

nonisolated extension PlatformError.Code where Owner == StreamSocket {
  /// The name has no address.
  package static var unknownHost: Self { Self(rawValue: "unknownHost") }
  /// Connection refused: nothing listens on the port.
  package static var refused: Self { Self(rawValue: "refused") }
  /// There is no route to the host.
  package static var unreachable: Self { Self(rawValue: "unreachable") }
  /// Another program uses the address.
  package static var inUse: Self { Self(rawValue: "inUse") }
  /// Timeout.
  package static var timeout: Self { Self(rawValue: "timeout") }
  /// The peer closed the connection.
  package static var closed: Self { Self(rawValue: "closed") }
  /// Any other error.
  package static var failed: Self { Self(rawValue: "failed") }
}

nonisolated extension PlatformError where Owner == StreamSocket {
  /// The error of connecting, or a later one.
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
