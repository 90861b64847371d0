// SPDX-License-Identifier: Apache-2.0
import Glibc
import Delivery
import SystemCalls

/// The pause on disk: a small file in the state directory. If the file exists, the vehicle is paused; its text says
/// since when.
nonisolated struct PauseFile {
  private static let name = "paused"
  private static let maxTextSize = 4096

  /// Nil if the service has no state directory.
  let path: String?

  /// - Parameter stateDirectory: `$STATE_DIRECTORY`; its first directory is used.
  init(stateDirectory: String?) {
    path = stateDirectory?.split(separator: ":").first.map { "\($0)/\(PauseFile.name)" }
  }

  /// In the service's state directory.
  static var ofService: PauseFile {
    PauseFile(stateDirectory: Environment.value(of: "STATE_DIRECTORY"))
  }

  /// - Returns: the pause of an earlier run, or why the file cannot be read.
  func read() -> (record: PauseRecord?, trouble: String?) {
    guard let path else { return (nil, nil) }
    do throws(Errno) {
      guard let bytes = try AtomicFile.read(path, limit: PauseFile.maxTextSize) else { return (nil, nil) }
      return (PauseRecord(text: String(decoding: bytes, as: UTF8.self)), nil)
    } catch {
      return (
        nil,
        "\(path): cannot be read (\(error)), so it is unknown whether the service was paused; positions are sent. "
          + "Correct the directory, then run fleet-locationctl pause"
      )
    }
  }

  /// Stores a pause, or its end (nil). It is on disk when this returns.
  ///
  /// - Returns: why it could not be stored, and what to do; nil on success.
  func store(_ record: PauseRecord?) -> String? {
    guard let path else {
      return record == nil
        ? nil
        : "The pause will not survive a restart: the service has no state directory (StateDirectory= of the unit)"
    }
    do throws(Errno) {
      guard let record else {
        try AtomicFile.remove(path)
        return nil
      }
      // `isNameEnough`: on a full disk the file is empty, which still pauses the vehicle.
      try AtomicFile.write(Array(record.text.utf8), to: path, mode: 0o600, isDurable: true, isNameEnough: true)
      return nil
    } catch {
      if record?.offline != nil {
        return "The pause is in force, and a restart sends OFFLINE once more: \(path) cannot be written: \(error)"
      }
      return record == nil
        ? "The end of the pause will not survive a restart: \(path) cannot be removed: \(error)"
        : "The pause will not survive a restart: \(path) cannot be written: \(error)"
    }
  }
}
