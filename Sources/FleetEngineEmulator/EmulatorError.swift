// SPDX-License-Identifier: Apache-2.0

/// Why the emulator itself failed. Errors in requests are `APIError`.
package struct EmulatorError: Error, Sendable, CustomStringConvertible {
  /// The kind of error.
  package enum Code: Sendable {
    case key
    /// The file of a service account.
    case account
    case address
    case listening
    case recording
    /// The file of the route on the map.
    case route
    /// The background tiles of the map.
    case tiles
  }

  /// What failed.
  package let code: Code
  /// The message, with the file or address, and what to do.
  package let message: String

  package init(_ code: Code, _ message: String) {
    self.code = code
    self.message = message
  }

  package var description: String { message }
}
