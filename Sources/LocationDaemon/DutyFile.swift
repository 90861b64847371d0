// SPDX-License-Identifier: Apache-2.0
import Vehicle
import SystemCalls

/// The driver's duty on disk. If the file exists, the driver is off duty; its text says when this began, and for which
/// vehicle.
nonisolated struct DutyFile {
  private let file: StateFile

  /// - Parameter stateDirectory: `$STATE_DIRECTORY`; the service's own directory in it is used.
  init(stateDirectory: String?) {
    file = StateFile("offline", stateDirectory: stateDirectory)
  }

  /// In the service's state directory.
  static var ofService: DutyFile {
    DutyFile(stateDirectory: Environment.value(of: "STATE_DIRECTORY"))
  }

  /// - Returns: what an earlier run has stored, and what is wrong. If it is unknown whether the driver was on duty, the
  ///   driver counts as off duty: a vehicle without a driver must not be offered trips.
  func read() -> (record: DutyRecord?, problem: String?) {
    let path = file.path ?? ""
    let consequence = "so it is unknown whether the driver was on duty; the vehicle is OFFLINE"
    do throws(Errno) {
      guard let record = try file.read().map({ DutyRecord(text: $0) }) else { return (nil, nil) }
      return (record, record.vehicle == nil ? "\(path): cannot be read or is damaged, \(consequence)" : nil)
    } catch {
      return (DutyRecord(since: nil), "\(path): cannot be read (\(error)), \(consequence)")
    }
  }

  /// Stores that the driver is off duty, or on duty (nil). The change is on disk when this returns.
  ///
  /// - Returns: why it could not be stored, and what to do; nil on success.
  func store(_ record: DutyRecord?) -> String? {
    guard let path = file.path else {
      return record == nil
        ? nil : "OFFLINE will not survive a restart: the service has no state directory (StateDirectory= of the unit)"
    }
    do throws(Errno) {
      // That OFFLINE was accepted is only added to a record that is complete without it.
      try file.store(record?.text, orEmpty: record?.isOfflineAccepted == false || !file.exists)
      return nil
    } catch {
      if record?.isOfflineAccepted == true {
        return "OFFLINE is in force, and a restart sends it once more: \(path) cannot be written: \(error)"
      }
      return record == nil
        ? "ONLINE will not survive a restart: \(path) cannot be removed: \(error)"
        : "OFFLINE will not survive a restart: \(path) cannot be written: \(error)"
    }
  }
}
