// SPDX-License-Identifier: Apache-2.0
import Foundation
import Glibc

/// A directory of one test, with a path short enough for a socket; it goes with this object.
final class TemporaryDirectory {
  let path: String

  init() throws {
    var template = Array("/tmp/flit-XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else { throw TestFailure("mkdtemp: \(String(cString: strerror(errno)))") }
    path = String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }

  func callAsFunction(_ name: String) -> String { "\(path)/\(name)" }

  /// - Returns: the path of the file.
  @discardableResult
  func write(_ text: String, to name: String, mode: mode_t = 0o600) throws -> String {
    let file = self(name)
    try Data(text.utf8).write(to: URL(fileURLWithPath: file))
    chmod(file, mode)
    return file
  }
}

/// What a test could not do, or waited for in vain.
struct TestFailure: Error, CustomStringConvertible {
  let description: String

  init(_ description: String) {
    self.description = description
  }
}
