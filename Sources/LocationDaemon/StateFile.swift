// SPDX-License-Identifier: Apache-2.0
import Glibc
import SystemCalls

/// A small file in the service's state directory.
nonisolated struct StateFile {
  private static let maxTextSize = 4096

  /// Nil if the service has no state directory.
  let path: String?

  /// - Parameter stateDirectory: `$STATE_DIRECTORY`; the service's own directory in it is used.
  init(_ name: String, stateDirectory: String? = Environment.value(of: "STATE_DIRECTORY")) {
    path = Environment.serviceDirectory(in: stateDirectory).map { "\($0)/\(name)" }
  }

  /// - Returns: nil if the file does not exist, or there is no state directory; empty if the file cannot be read.
  /// - Throws: the error of the directory or disk, if it is unknown whether the file exists.
  func read() throws(Errno) -> String? {
    guard let path, let bytes = try AtomicFile.read(path, limit: StateFile.maxTextSize) else { return nil }
    return String(decoding: bytes, as: UTF8.self)
  }

  var exists: Bool { path.map { FileAccess.error($0, F_OK) == nil } ?? false }

  /// Stores the text, or removes the file (nil). The change is on disk when this returns.
  ///
  /// - Parameter orEmpty: whether the existence of the file alone has a meaning, so that it replaces an earlier one
  ///   without its text if the disk is full.
  func store(_ text: String?, orEmpty: Bool = false) throws(Errno) {
    guard let path else { return }
    guard let text else { return try AtomicFile.remove(path) }
    try AtomicFile.write(
      Array(text.utf8), to: path, mode: 0o600, isDurable: true, allowsEmptyFile: orEmpty)
  }
}

/// Reports a lasting error only once.
nonisolated struct LastingError {
  private var last: String?

  /// - Parameter error: of the last attempt; nil if it succeeded.
  /// - Returns: a new error; nil if the attempt succeeded, or failed with the same error as the one before.
  mutating func report(_ error: String?) -> String? {
    defer { last = error }
    return error == last ? nil : error
  }
}
