// SPDX-License-Identifier: Apache-2.0

/// Why a route cannot be loaded.
package struct RouteFileError: Error, Equatable, Sendable {
  /// The kind of error, for callers.
  package enum Code: Sendable {
    /// The file is missing, is not a file, or may not be read.
    case unreadable
    /// Too many bytes, points or nested elements.
    case tooLarge
    /// Neither XML nor JSON, or XML with a document type, which could expand a small file into a huge one.
    case malformed
    /// Valid XML or JSON, but a point is out of range, or there are fewer than two points.
    case invalid
  }

  /// What is wrong with the file.
  package let code: Code
  /// `file:line:column: what is wrong and what is expected`; without line and column if it concerns the whole file.
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
