// SPDX-License-Identifier: Apache-2.0
import SystemCalls

/// What the daemon has learned about the form of updates, in a small file in the state directory. It is written only if
/// a server has refused the compact form.
nonisolated struct UpdateFormFile {
  private let file = StateFile("update-form")

  /// - Returns: nil if there is no file, or it cannot be read: the run then learns the form again.
  func read() -> String? { try? file.read() }

  /// - Returns: why it could not be stored; nil on success.
  func store(_ text: String) -> String? {
    do throws(Errno) {
      try file.store(text)
      return nil
    } catch {
      return
        "that the server refuses compact updates will be found out again after a restart: \(file.path ?? "") cannot "
        + "be written: \(error)"
    }
  }
}
