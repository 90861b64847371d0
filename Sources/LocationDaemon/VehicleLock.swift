// SPDX-License-Identifier: Apache-2.0
import Delivery
import Configuration
import Vehicle
import FleetEngine
import Glibc
import ServiceManager
import SystemCalls
import TokenStore

/// The lock that reserves the vehicle for one daemon of this machine: a file in a directory that only root and the
/// service's user can open, so that no other user can find out or lock a vehicle. The kernel releases it when the
/// process ends.
nonisolated final class VehicleLock {
  /// Made by the package's tmpfiles.d, and shared by all units.
  static let defaultDirectory = "/run/fleet-locationd.vehicles"
  /// The environment variable with the directory, which the units set.
  static let directoryVariable = "FLEET_VEHICLE_LOCKS"

  /// The result of an attempt. It replaces the current lock when `use` is called.
  struct Attempt {
    /// The process that has locked the vehicle; nil if this process has locked it, or cannot.
    var holder: VehicleHolder?
    /// Why the vehicle cannot be locked, and what to do; nil if it can, or if this machine has no such locks.
    var problem: String?
    fileprivate var key: String?
    fileprivate var lock: FileLock?
  }

  private let directory: String
  /// Whether a missing directory is a problem to report: a process that no unit has started may run anywhere.
  private let isDirectoryExpected: Bool
  private var current: (key: String, lock: FileLock)?
  private var reportedProblem: String?

  /// - Parameter directory: nil for the directory of the package, if it exists.
  init(directory: String? = Environment.value(of: VehicleLock.directoryVariable)) {
    self.directory = directory ?? VehicleLock.defaultDirectory
    isDirectoryExpected = directory != nil
  }

  /// Tries to lock the vehicle of these settings, which is identified by endpoint, service, provider and vehicle ID.
  /// The current lock is kept until `use`; a new one is released with an attempt that is not used.
  func attempt(_ settings: Settings) -> Attempt {
    // The path of the URL contains service, provider and vehicle.
    guard settings.agent.context != nil, let key = Digest.hexadecimal(of: settings.agent.delivery.endpoint.url) else {
      return Attempt()
    }
    if let current, current.key == key { return Attempt(key: key, lock: current.lock) }
    let path = "\(directory)/\(key)"
    do throws(Errno) {
      guard let owner = try owner() else { return failed("users other than its owner have access to it") }
      return Attempt(key: key, lock: try FileLock(path, remark: ServiceUnit.current, owner: owner))
    } catch {
      switch error.code {
      case EWOULDBLOCK:
        return Attempt(
          holder: VehicleHolder(unit: FileLock.remark(in: path), processID: FileLock.holder(path)), key: key)
      case ENOENT where !isDirectoryExpected, EROFS where !isDirectoryExpected: return Attempt()
      default: return failed("\(error)")
      }
    }
  }

  /// Keeps the lock of this attempt, and releases the previous one.
  ///
  /// - Returns: why the vehicle cannot be locked, unless that was reported before.
  func use(_ attempt: Attempt) -> String? {
    current = attempt.key.flatMap { key in attempt.lock.map { (key, $0) } }
    defer { reportedProblem = attempt.problem }
    return attempt.problem == reportedProblem ? nil : attempt.problem
  }

  /// The owner of the directory; nil if its mode gives access to users other than the owner.
  private func owner() throws(Errno) -> uid_t? {
    let status = try Descriptor.open(directory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW).status()
    return status.st_mode & 0o077 == 0 ? status.st_uid : nil
  }

  private func failed(_ why: String) -> Attempt {
    Attempt(
      problem: "\(directory): \(why), so another daemon on this machine with the same vehicle would not be noticed"
        + (isDirectoryExpected ? "; systemd-tmpfiles --create makes the directory, then restart the service" : ""))
  }
}
