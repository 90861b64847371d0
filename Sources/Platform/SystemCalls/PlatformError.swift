// SPDX-License-Identifier: Apache-2.0

/// The error type of the platform wrappers. Each wrapper has its own by its main type, `Owner`, and declares its codes
/// beside it.
package struct PlatformError<Owner>: Error, Equatable, Sendable, CustomStringConvertible {
  /// The kind of error, for callers. A wrapper's codes are static members for its `Owner`.
  package struct Code: RawRepresentable, Equatable, Sendable {
    package let rawValue: String

    package init(rawValue: String) {
      self.rawValue = rawValue
    }
  }

  /// Determines the caller's reaction; the message does not.
  package let code: Code
  /// One sentence: the file, device, host or call, what is wrong, and the remedy. Without secrets.
  package let message: String
  /// The system call's error, if it is one.
  package let cause: Errno?

  package init(_ code: Code, _ message: String, cause: Errno? = nil) {
    self.code = code
    self.message = message
    self.cause = cause
  }

  package var description: String { message }
}
