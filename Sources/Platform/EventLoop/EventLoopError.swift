// SPDX-License-Identifier: Apache-2.0
package import SystemCalls

/// The loop could not do what was asked.
package struct EventLoopError: Error, Equatable, Sendable, CustomStringConvertible {
  package struct Code: RawRepresentable, Equatable, Sendable {
    package let rawValue: String

    package init(rawValue: String) {
      self.rawValue = rawValue
    }

    /// The loop itself could not be made or run.
    package static let loop = Code(rawValue: "loop")
    /// A descriptor, timer, signal, child or path could not be watched.
    package static let source = Code(rawValue: "source")
  }

  package let code: Code
  /// What was asked and what the system said.
  package let message: String
  package let cause: Errno

  /// - Parameter result: what libsystemd returned: a negative errno.
  init(_ code: Code, _ what: String, result: Int32) {
    cause = Errno(result == .min ? .max : abs(result))
    self.code = code
    message = "cannot \(what): \(cause)"
  }

  init(_ code: Code, _ what: String, cause: Errno) {
    self.cause = cause
    self.code = code
    message = "cannot \(what): \(cause)"
  }

  package var description: String { message }
}
