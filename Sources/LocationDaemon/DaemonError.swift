// SPDX-License-Identifier: Apache-2.0

/// Why the daemon cannot begin, or cannot take new settings.
package struct DaemonError: Error, Sendable {
  /// One of `ExitCode`.
  package let code: Int32
  /// One line or more for a person: file, key or device, and what to do.
  package let message: String
  package let cause: (any Error)?

  package init(_ code: Int32, _ message: String, cause: (any Error)? = nil) {
    self.code = code
    self.message = message
    self.cause = cause
  }
}
