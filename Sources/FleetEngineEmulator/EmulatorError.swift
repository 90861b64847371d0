// SPDX-License-Identifier: Apache-2.0

/// Why the emulator itself could not do its work. Refusals of requests are `APIError`.
package struct EmulatorError: Error, Sendable, CustomStringConvertible {
  /// The kind of error, for who decides by it.
  package enum Code: Sendable {
    case key
    /// The file of a service account.
    case account
    case address
    case listening
    case recording
    /// The file of the route on the map.
    case route
    /// The pictures behind the map.
    case tiles
  }

  /// What the emulator could not do.
  package let code: Code
  /// Names the file or address, and what to do.
  package let message: String

  package init(_ code: Code, _ message: String) {
    self.code = code
    self.message = message
  }

  package var description: String { message }
}
