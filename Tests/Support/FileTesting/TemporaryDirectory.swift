// SPDX-License-Identifier: Apache-2.0
package import Foundation

/// A directory of one test, with a path short enough for a socket; removed with its contents when this object is
/// released.
package final class TemporaryDirectory {
  package let path: String

  /// - Throws: what FileManager reports when /tmp cannot be written.
  package init() throws {
    path = "/tmp/fleet-\(String(UInt64.random(in: .min ... .max), radix: 36))"
    try FileManager.default.createDirectory(
      atPath: path, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }

  /// The path of a file of this name in the directory, whether it exists or not.
  package func callAsFunction(_ name: String) -> String { "\(path)/\(name)" }

  /// The names of the files in the directory, sorted.
  package var names: [String] {
    get throws { try FileManager.default.contentsOfDirectory(atPath: path).sorted() }
  }

  /// Writes a file, and replaces one of the same name.
  ///
  /// - Returns: its path.
  @discardableResult
  package func write(_ text: String, to name: String, mode: Int = 0o600) throws -> String {
    try write(Data(text.utf8), to: name, mode: mode)
  }

  /// Writes a file, and replaces one of the same name.
  ///
  /// - Returns: its path.
  @discardableResult
  package func write(_ contents: Data, to name: String, mode: Int = 0o600) throws -> String {
    let file = self(name)
    try contents.write(to: URL(fileURLWithPath: file))
    try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: file)
    return file
  }
}
