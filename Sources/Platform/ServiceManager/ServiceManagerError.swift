// SPDX-License-Identifier: Apache-2.0
package import SystemCalls

/// A secret cannot be had.
package struct ServiceManagerError: Error, Equatable, Sendable, CustomStringConvertible {
  package struct Code: RawRepresentable, Equatable, Sendable {
    package let rawValue: String

    package init(rawValue: String) {
      self.rawValue = rawValue
    }

    /// There is no such credential or file.
    package static let missing = Code(rawValue: "missing")
    /// Credentials are handed out to a service, and this is none.
    package static let notHandedOut = Code(rawValue: "notHandedOut")
    /// This user may not read it.
    package static let denied = Code(rawValue: "denied")
    /// Others may read it.
    package static let exposed = Code(rawValue: "exposed")
    /// It is empty, too long, not text, or no regular file.
    package static let unusable = Code(rawValue: "unusable")
  }

  package let code: Code
  /// Which credential or file, what is wrong with it, and what to do. Never what it holds.
  package let message: String
  package let cause: Errno?

  init(_ code: Code, _ message: String, cause: Errno? = nil) {
    self.code = code
    self.message = message
    self.cause = cause
  }

  package var description: String { message }
}
