// SPDX-License-Identifier: Apache-2.0

/// The error type of the platform wrappers: each wrapper declares its codes as an enum, and gives a name to the error
/// with these codes.
package struct PlatformError<Code: Equatable & Sendable>: Error, Equatable, Sendable, CustomStringConvertible {
  /// The kind of error, which determines the caller's reaction; the message does not.
  package let code: Code
  /// One sentence: the file, device, host or call, what is wrong, and the remedy. Without secrets.
  package let message: String
  /// The error of the system call; nil if the error did not come from one.
  package let cause: Errno?

  package init(_ code: Code, _ message: String, cause: Errno? = nil) {
    self.code = code
    self.message = message
    self.cause = cause
  }

  package var description: String { message }
}
