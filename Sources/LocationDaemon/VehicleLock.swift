// SPDX-License-Identifier: Apache-2.0
import Delivery
import Configuration
import Vehicle
import FleetEngine
import Glibc
import ServiceManager
import SystemCalls
import TokenStore

/// The lock of the vehicle among the daemons of this machine: a file in a directory that only root and the service's
/// user can open, so that no other user can learn of a vehicle or lock it. The kernel releases it with the process.
nonisolated final class VehicleLock {
  /// Made by the package's tmpfiles.d, and the same for all units.
  static let standardDirectory = "/run/fleet-locationd.vehicles"
  /// Its environment variable, which the units set.
  static let variable = "FLEET_VEHICLE_LOCKS"

  /// The result of an attempt, which is in force once `use` is called.
  struct Attempt {
    /// The process that has locked the vehicle; nil if this one has, or cannot.
    var holder: VehicleHolder?
    /// Why the vehicle cannot be locked, and what to do; nil if it can, or if this machine has no such locks.
    var problem: String?
    fileprivate var key: String?
    fileprivate var lock: FileLock?
  }

  private let directory: String
  /// Whether a missing directory is reported: a process that no unit has started may run anywhere.
  private let isExpected: Bool
  private var current: (key: String, lock: FileLock)?
  private var reported: String?

  /// - Parameter directory: nil: that of the package, if it exists.
  init(directory: String? = Environment.value(of: VehicleLock.variable)) {
    self.directory = directory ?? VehicleLock.standardDirectory
    isExpected = directory != nil
  }

  /// Tries to lock the vehicle of these settings: service, provider and vehicle at an endpoint. Nothing changes yet.
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
        return Attempt(holder: VehicleHolder(unit: FileLock.remark(in: path), process: FileLock.holder(path)), key: key)
      case ENOENT where !isExpected, EROFS where !isExpected: return Attempt()
      default: return failed("\(error)")
      }
    }
  }

  /// Keeps the lock of this attempt, and releases the one before.
  ///
  /// - Returns: why the vehicle cannot be locked, if that was not reported before.
  func use(_ attempt: Attempt) -> String? {
    current = attempt.key.flatMap { key in attempt.lock.map { (key, $0) } }
    defer { reported = attempt.problem }
    return attempt.problem == reported ? nil : attempt.problem
  }

  /// The owner of the directory; nil if anyone but this user and root has access to it.
  private func owner() throws(Errno) -> uid_t? {
    let status = try Descriptor.open(directory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW).status()
    return status.st_mode & 0o077 == 0 ? status.st_uid : nil
  }

  private func failed(_ why: String) -> Attempt {
    Attempt(
      problem: "\(directory): \(why), so another daemon on this machine with the same vehicle would not be noticed"
        + (isExpected ? "; systemd-tmpfiles --create makes the directory, then restart the service" : ""))
  }
}
