// SPDX-License-Identifier: Apache-2.0
import Glibc
package import SystemCalls

/// A connection could not be made, or has ended.
package struct StreamSocketError: Error, Equatable, Sendable, CustomStringConvertible {
  package struct Code: RawRepresentable, Equatable, Sendable {
    package let rawValue: String

    package init(rawValue: String) {
      self.rawValue = rawValue
    }

    /// The name has no address.
    package static let unknownHost = Code(rawValue: "unknownHost")
    /// The host is there and nobody listens.
    package static let refused = Code(rawValue: "refused")
    /// There is no way to the host.
    package static let unreachable = Code(rawValue: "unreachable")
    /// It took too long.
    package static let timeout = Code(rawValue: "timeout")
    /// The other side ended the connection.
    package static let closed = Code(rawValue: "closed")
    /// The system refused in another way.
    package static let failed = Code(rawValue: "failed")
  }

  package let code: Code
  /// Host and port, and what is wrong.
  package let message: String
  package let cause: Errno?

  init(_ code: Code, _ message: String, cause: Errno? = nil) {
    self.code = code
    self.message = message
    self.cause = cause
  }

  /// What the kernel said to an attempt to connect, or later.
  init(_ name: String, _ error: Errno) {
    let code: Code =
      switch error.code {
      case ECONNREFUSED: .refused
      case ENETUNREACH, EHOSTUNREACH, ENETDOWN, EADDRNOTAVAIL, EAFNOSUPPORT: .unreachable
      case ETIMEDOUT: .timeout
      case ECONNRESET, EPIPE: .closed
      default: .failed
      }
    self.init(code, "\(name): \(error)", cause: error)
  }

  package var description: String { message }
}
