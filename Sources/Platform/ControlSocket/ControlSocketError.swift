// SPDX-License-Identifier: Apache-2.0
package import SystemCalls

/// The control socket cannot be made, or nobody answers at it.
package struct ControlSocketError: Error, Equatable, Sendable, CustomStringConvertible {
  package struct Code: RawRepresentable, Equatable, Sendable {
    package let rawValue: String

    package init(rawValue: String) {
      self.rawValue = rawValue
    }

    /// There is no socket, or nobody listens at it: the daemon does not run.
    package static let absent = Code(rawValue: "absent")
    /// This user may not use it.
    package static let denied = Code(rawValue: "denied")
    /// The daemon did not answer in time, or broke off.
    package static let silent = Code(rawValue: "silent")
    /// The system refuses.
    package static let failed = Code(rawValue: "failed")
  }

  package let code: Code
  /// Names the path, what was expected, and what to do.
  package let message: String
  package let cause: Errno?

  init(_ code: Code, _ message: String, cause: Errno? = nil) {
    self.code = code
    self.message = message
    self.cause = cause
  }

  package var description: String { message }
}
