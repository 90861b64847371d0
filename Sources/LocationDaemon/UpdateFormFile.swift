// SPDX-License-Identifier: Apache-2.0
import SystemCalls

/// What the daemon has learned about the form of updates, in a small file in the state directory. It is written only if
/// a server has refused the compact form.
nonisolated struct UpdateFormFile {
  private static let name = "update-form"
  private static let maxTextSize = 4096

  /// Nil if the service has no state directory: then each run learns it again.
  private let path = Environment.serviceDirectory(in: Environment.value(of: "STATE_DIRECTORY"))
    .map { "\($0)/\(UpdateFormFile.name)" }

  /// - Returns: nil if there is no file, or it cannot be read: the run then learns the form again.
  func read() -> String? {
    path.flatMap { try? AtomicFile.read($0, limit: UpdateFormFile.maxTextSize) }.map {
      String(decoding: $0, as: UTF8.self)
    }
  }

  /// - Returns: why it could not be stored; nil on success.
  func store(_ text: String) -> String? {
    guard let path else { return nil }
    do throws(Errno) {
      try AtomicFile.write(Array(text.utf8), to: path, mode: 0o600, isDurable: true)
      return nil
    } catch {
      return "that the server refuses compact updates will be found out again after a restart: \(path) cannot be "
        + "written: \(error)"
    }
  }
}
