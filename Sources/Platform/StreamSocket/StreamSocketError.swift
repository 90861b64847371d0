// SPDX-License-Identifier: Apache-2.0
import Glibc
package import SystemCalls

/// A connection could not be made, or has ended.
package typealias StreamSocketError = PlatformError<StreamSocket>

nonisolated extension PlatformError.Code where Owner == StreamSocket {
  /// The name has no address.
  package static var unknownHost: Self { Self(rawValue: "unknownHost") }
  /// The host is there and nobody listens.
  package static var refused: Self { Self(rawValue: "refused") }
  /// There is no way to the host.
  package static var unreachable: Self { Self(rawValue: "unreachable") }
  /// Another program has the address.
  package static var inUse: Self { Self(rawValue: "inUse") }
  /// It took too long.
  package static var timeout: Self { Self(rawValue: "timeout") }
  /// The other side ended the connection.
  package static var closed: Self { Self(rawValue: "closed") }
  /// The system refused in another way.
  package static var failed: Self { Self(rawValue: "failed") }
}

nonisolated extension PlatformError where Owner == StreamSocket {
  /// What the kernel said to an attempt to connect, or later.
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
