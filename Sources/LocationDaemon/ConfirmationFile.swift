// SPDX-License-Identifier: Apache-2.0
import SystemCalls

/// What the next start must know about settings that need a confirmation or were reverted, in a small file in the state
/// directory.
struct ConfirmationFile {
  private let file = StateFile("settings-confirmation")
  private var error = LastingError()

  /// - Returns: nil if there is no file, or it cannot be read.
  func read() -> String? { try? file.read() }

  /// Replaces the file, or removes it (nil). The change is on disk when this returns.
  ///
  /// - Returns: a new error; nil if it succeeded, or failed with the same error as last time.
  mutating func store(_ text: String?) -> String? {
    do throws(Errno) {
      try file.store(text)
      return error.report(nil)
    } catch {
      return self.error.report(
        "whether the new settings are confirmed will not survive a restart: \(file.path ?? "") cannot be written: \(error)"
      )
    }
  }
}
