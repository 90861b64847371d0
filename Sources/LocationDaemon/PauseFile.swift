// SPDX-License-Identifier: Apache-2.0
import Vehicle
import SystemCalls

/// The pause on disk. If the file exists, the vehicle is paused; its text says when the pause began.
nonisolated struct PauseFile {
  private let file: StateFile

  /// - Parameter stateDirectory: `$STATE_DIRECTORY`; the service's own directory in it is used.
  init(stateDirectory: String?) {
    file = StateFile("paused", stateDirectory: stateDirectory)
  }

  /// Nil if the service has no state directory.
  var path: String? { file.path }

  /// In the service's state directory.
  static var ofService: PauseFile {
    PauseFile(stateDirectory: Environment.value(of: "STATE_DIRECTORY"))
  }

  /// - Returns: the pause of an earlier run, and what is wrong. A file that cannot be read counts as a pause.
  func read() -> (record: PauseRecord?, problem: String?) {
    do throws(Errno) {
      return (try file.read().map { PauseRecord(text: $0) }, nil)
    } catch {
      return (
        PauseRecord(since: nil),
        "\(path ?? ""): cannot be read (\(error)), so it is unknown whether the service was paused; it is paused. "
          + "Correct the directory, then run fleet-locationctl resume to send positions"
      )
    }
  }

  /// Stores a pause, or its end (nil). The change is on disk when this returns.
  ///
  /// - Returns: why it could not be stored, and what to do; nil on success.
  func store(_ record: PauseRecord?) -> String? {
    guard let path else {
      return record == nil
        ? nil
        : "The pause will not survive a restart: the service has no state directory (StateDirectory= of the unit)"
    }
    do throws(Errno) {
      // An earlier text has the beginning of this pause.
      try file.store(record?.text, orEmpty: !file.exists)
      return nil
    } catch {
      if record?.offlineVehicle != nil {
        return "The pause is in force, and a restart sends OFFLINE once more: \(path) cannot be written: \(error)"
      }
      return record == nil
        ? "The end of the pause will not survive a restart: \(path) cannot be removed: \(error)"
        : "The pause will not survive a restart: \(path) cannot be written: \(error)"
    }
  }
}
