// SPDX-License-Identifier: Apache-2.0
package import SystemCalls

/// A device or a recording cannot be read.
package struct SerialPortError: Error, Equatable, Sendable, CustomStringConvertible {
  package struct Code: RawRepresentable, Equatable, Sendable {
    package let rawValue: String

    package init(rawValue: String) {
      self.rawValue = rawValue
    }

    /// There is no such path.
    package static let missing = Code(rawValue: "missing")
    /// This user may not read it.
    package static let denied = Code(rawValue: "denied")
    /// Another program has it.
    package static let busy = Code(rawValue: "busy")
    /// It is a directory, a regular file or something else that is not what was asked for.
    package static let wrongKind = Code(rawValue: "wrongKind")
    /// The device does not do that speed.
    package static let badBaud = Code(rawValue: "badBaud")
    /// It was open and is gone: unplugged, or hung up.
    package static let vanished = Code(rawValue: "vanished")
    /// The system refused in another way.
    package static let failed = Code(rawValue: "failed")
  }

  package let code: Code
  /// The path, what is wrong with it, and what to do.
  package let message: String
  package let cause: Errno?

  init(_ code: Code, _ message: String, cause: Errno? = nil) {
    self.code = code
    self.message = message
    self.cause = cause
  }

  package var description: String { message }
}
