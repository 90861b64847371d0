// SPDX-License-Identifier: Apache-2.0

/// What a wrapper of a system's library throws. Each wrapper has an error of its own by its main type, `Owner`, and declares
/// the codes beside it.
package struct PlatformError<Owner>: Error, Equatable, Sendable, CustomStringConvertible {
  /// The kind of error, for who decides by it. A wrapper's codes are `static` members for its `Owner`.
  package struct Code: RawRepresentable, Equatable, Sendable {
    package let rawValue: String

    package init(rawValue: String) {
      self.rawValue = rawValue
    }
  }

  /// Decides what the caller does; the message does not.
  package let code: Code
  /// One sentence: the file, device, host or call, what is wrong with it, and what to do. Without secrets.
  package let message: String
  /// What the kernel said, where it was the kernel.
  package let cause: Errno?

  package init(_ code: Code, _ message: String, cause: Errno? = nil) {
    self.code = code
    self.message = message
    self.cause = cause
  }

  package var description: String { message }
}
