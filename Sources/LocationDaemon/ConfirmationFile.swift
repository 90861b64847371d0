// SPDX-License-Identifier: Apache-2.0
import SystemCalls

/// What the next start must know about settings that need a confirmation or were reverted, in a small file in the state
/// directory.
struct ConfirmationFile {
  private static let name = "settings-confirmation"
  private static let maxTextSize = 4096

  private let path: String?
  /// The last error, kept so that it is reported only once.
  private var lastError: String?

  /// - Parameter stateDirectory: `$STATE_DIRECTORY`; the service's own directory in it is used; nil stores nothing.
  init(stateDirectory: String?) {
    path = Environment.serviceDirectory(in: stateDirectory).map { "\($0)/\(ConfirmationFile.name)" }
  }

  /// In the service's state directory.
  static var ofService: ConfirmationFile {
    ConfirmationFile(stateDirectory: Environment.value(of: "STATE_DIRECTORY"))
  }

  /// - Returns: nil if there is no file, or it cannot be read.
  func read() -> String? {
    path.flatMap { try? AtomicFile.read($0, limit: ConfirmationFile.maxTextSize) }
      .map { String(decoding: $0, as: UTF8.self) }
  }

  /// Replaces the file, or removes it (nil). The change is on disk when this returns.
  ///
  /// - Returns: a new error; nil if it succeeded, or failed with the same error as last time.
  mutating func store(_ text: String?) -> String? {
    guard let path else { return nil }
    var newError: String?
    do throws(Errno) {
      if let text {
        try AtomicFile.write(Array(text.utf8), to: path, mode: 0o600, isDurable: true)
      } else {
        try AtomicFile.remove(path)
      }
    } catch {
      newError =
        "whether the new settings are confirmed will not survive a restart: \(path) cannot be written: \(error)"
    }
    defer { lastError = newError }
    return newError == lastError ? nil : newError
  }
}
