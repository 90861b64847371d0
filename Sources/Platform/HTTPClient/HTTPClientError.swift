// SPDX-License-Identifier: Apache-2.0

/// A client could not be made.
package struct HTTPClientError: Error, Equatable, Sendable, CustomStringConvertible {
  package struct Code: RawRepresentable, Equatable, Sendable {
    package let rawValue: String

    package init(rawValue: String) {
      self.rawValue = rawValue
    }

    /// libcurl could not be started, or the machine is out of memory or descriptors.
    package static let unavailable = Code(rawValue: "unavailable")
    /// libcurl on this machine was built without what is needed, or refuses a setting.
    package static let unsupported = Code(rawValue: "unsupported")
  }

  package let code: Code
  /// What failed, and what to do.
  package let message: String
  package let cause: (any Error)?

  init(_ code: Code, _ message: String, cause: (any Error)? = nil) {
    self.code = code
    self.message = message
    self.cause = cause
  }

  package var description: String { message }

  package static func == (left: HTTPClientError, right: HTTPClientError) -> Bool {
    left.code == right.code && left.message == right.message
  }
}
