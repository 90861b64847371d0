// SPDX-License-Identifier: Apache-2.0

/// Why a route cannot be driven.
package struct RouteFileError: Error, Equatable, Sendable {
  /// The kind of error, for who decides by it.
  package struct Code: Hashable, Sendable {
    private let name: String

    /// The file is missing, is not a file, or may not be read.
    package static let unreadable = Code(name: "unreadable")
    /// More bytes, points or nested elements than a route has.
    package static let tooLarge = Code(name: "too large")
    /// Neither XML nor JSON, or XML that is refused: a document type could make a small file a huge one.
    package static let malformed = Code(name: "malformed")
    /// XML or JSON, but a point has no place on Earth, or there are fewer than two of them.
    package static let invalid = Code(name: "invalid")
  }

  /// What is wrong with the file.
  package let code: Code
  /// `file:line:column: what is wrong and what is expected`; without line and column when it concerns the file.
  package let message: String

  init(_ code: Code, file: String, line: Int = 0, column: Int = 0, _ message: String) {
    self.code = code
    let place = line > 0 ? "\(file):\(line):\(column)" : file
    self.message = "\(place): \(message)"
  }
}

extension RouteFileError: CustomStringConvertible {
  package var description: String { message }
}
