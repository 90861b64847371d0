// SPDX-License-Identifier: Apache-2.0

/// The error type of the platform wrappers: each declares its codes as an enum, and has a name for the error with them.
package struct PlatformError<Code: Equatable & Sendable>: Error, Equatable, Sendable, CustomStringConvertible {
  /// The kind of error, for callers. Determines the caller's reaction; the message does not.
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
