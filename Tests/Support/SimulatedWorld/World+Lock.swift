// SPDX-License-Identifier: Apache-2.0
import Daemon
import Vehicle
import Timekeeping

/// Other daemons on this machine, for vehicles that the daemon's settings may also name.
extension World {
  private static let other = VehicleHolder(unit: "fleet-locationd@van.service", processID: 812)

  private var hasOthers: Bool { scenario.faults.contains { $0.place == .machine } }

  /// Tries to lock the vehicle, as the shell does at the start, and when the agent requests it.
  func lockVehicle() {
    guard hasOthers, finishedAt == nil else { return }
    handle(.vehicleLocked(by: lock(vehicle)))
  }

  /// - Returns: the other daemon that has locked the vehicle; nil if this daemon has.
  func lock(_ vehicle: String) -> VehicleHolder? {
    guard lockedVehicle != vehicle, isLockedByOther(vehicle) else {
      lockedVehicle = vehicle
      if let since = inUseSince { inactiveSpans.append(since...now) }
      inUseSince = nil
      return nil
    }
    lockedVehicle = nil
    inUseSince = inUseSince ?? now
    // The ports are opened again afterwards.
    for index in ports.indices { ports[index].fineSince = nil }
    return World.other
  }

  private func isLockedByOther(_ vehicle: String) -> Bool {
    let isLockedByOther = scenario.isActive(at: second) { if case .otherDaemon(vehicle) = $0 { true } else { false } }
    if isLockedByOther { coverage.faults.cover(.otherDaemon) }
    return isLockedByOther
  }

  /// The pause, and the time in which another daemon has locked the vehicle, unless they have ended.
  var openPauses: [ClosedRange<BootInstant>] {
    [pausedAt, inUseSince].compactMap { $0.map { $0...max(now, $0) } }
  }

  /// The daemon locks the vehicle soon after the other daemon has ended and the settings name the vehicle.
  func checkLock() {
    guard inUseSince != nil, !isOff, finishedAt == nil, isRunning else { return }
    let end = scenario.faults.filter { $0.place == .machine }.map { Double($0.until) }.max() ?? 0
    if second - max(end, World.seconds(max(startedAt, resumedAt, installation.ranAt))) > 6 {
      violate("another daemon has ended \(second - end) s ago, and the vehicle is not locked")
    }
  }
}
