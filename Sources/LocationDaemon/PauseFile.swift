// SPDX-License-Identifier: Apache-2.0
import Glibc
import Delivery
import SystemCalls

/// A pause on disk: a small file in the service's own directory. That it is there is the pause; its text says since when.
nonisolated struct PauseFile {
  private static let name = "paused"
  private static let longestText = 4096

  /// Nil when the service has no directory of its own.
  let path: String?

  /// - Parameter stateDirectory: `$STATE_DIRECTORY`, whose first directory counts.
  init(stateDirectory: String?) {
    path = stateDirectory?.split(separator: ":").first.map { "\($0)/\(PauseFile.name)" }
  }

  /// In the directory that systemd made for the service.
  static var ofService: PauseFile {
    PauseFile(stateDirectory: Environment.value(of: "STATE_DIRECTORY"))
  }

  /// - Returns: what an earlier run has left; why that cannot be told.
  func read() -> (note: PauseNote?, trouble: String?) {
    guard let path else { return (nil, nil) }
    do throws(Errno) {
      guard let bytes = try AtomicFile.read(path, limit: PauseFile.longestText) else { return (nil, nil) }
      return (PauseNote(text: String(decoding: bytes, as: UTF8.self)), nil)
    } catch {
      return (
        nil,
        "\(path): whether there was a pause cannot be told (\(error)); positions are sent. Mend the directory, then "
          + "fleet-locationctl pause"
      )
    }
  }

  /// Keeps a pause, or that there is none. It is on disk when this returns.
  ///
  /// - Returns: why it could not be kept, and what to do; nil when it was.
  func keep(_ note: PauseNote?) -> String? {
    guard let path else {
      return note == nil
        ? nil
        : "The pause will not survive a restart: the service has no directory of its own (StateDirectory= of the unit)"
    }
    do throws(Errno) {
      guard let note else {
        try AtomicFile.remove(path)
        return nil
      }
      // On a full disk the name alone says enough.
      try AtomicFile.write(Array(note.text.utf8), to: path, mode: 0o600, isDurable: true, isNameEnough: true)
      return nil
    } catch {
      if note?.offline != nil {
        return "The pause is in force, and a restart sends OFFLINE once more: \(path) cannot be written: \(error)"
      }
      return note == nil
        ? "The end of the pause will not survive a restart: \(path) cannot be removed: \(error)"
        : "The pause will not survive a restart: \(path) cannot be written: \(error)"
    }
  }
}
