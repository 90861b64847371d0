// SPDX-License-Identifier: Apache-2.0
import PositionBacklog
import Delivery
import Authorization
import Daemon
import Vehicle
import FleetEngine
import Positioning
import Timekeeping

/// Power cuts and kills, and the next start of the daemon; the disk keeps its contents.
extension World {
  /// Cuts the power or kills the daemon: the contents of memory are lost, including changes that the store had not
  /// written.
  func cutPower(for seconds: Int, isOfPower: Bool) {
    note(isOfPower ? "* the power is cut" : "* the program is killed")
    cut = nil
    cutAt.append(now)
    coverage.acts.cover(isOfPower ? .powerCut : .kill)
    coverStatistics()
    if isOfPower {
      boots += 1
      if !scenario.keepsRuntimeFiles { storedRunState = nil }
    }
    loseUnwritten()
    if let run = daemon.run { noteThinning(in: run.vehicle) }
    abandonUpdate()
    dropConnection()
    (fetch, deadline, lastPlan) = (nil, nil, nil)
    (reach, wasParked) = (Reach(), nil)
    isOff = true
    closePorts()
    queue.schedule(.powerReturns, at: now + .seconds(max(seconds, isOfPower ? 6 : 1)))
  }

  /// While the disk works, everything that was recorded before this time is on disk. During a suspend nothing is
  /// written.
  var writtenUntil: Disk.WrittenUntil {
    func time(_ interval: Duration) -> BootInstant {
      now - interval - (now - resumedAt < interval ? suspendedFor : .zero)
    }
    let usual = time(scenario.commitInterval ?? Disk.commitInterval)
    let inOutage = time(scenario.commitInterval ?? Disk.commitIntervalInOutage)
    // Changes collected in an outage are written soon after its end; exactly at that time, they may not be on disk yet.
    let outages = reach.outageEndedAt.map { $0 < usual ? $0 : .boot } ?? .boot
    return Disk.WrittenUntil(usual: usual, inOutage: max(inOutage, outages))
  }

  private func loseUnwritten() {
    let since = openFile.troubledSince ?? writtenUntil
    for (name, records) in pending {
      let onDisk = disk.held[name] ?? [:]
      for id in records.keys where onDisk[id] == nil {
        let key = Disk.Key(vehicle: name, id: id)
        lose(key)
        if let (at, isInOutage, _) = recorded[key], at < (isInOutage ? since.inOutage : since.usual) {
          violate("a position is lost that was recorded \((now - at).inSeconds) s before")
        }
      }
      for id in onDisk.keys where records[id] == nil { revived[Disk.Key(vehicle: name, id: id), default: 0] += 1 }
    }
  }

  func powerReturns() {
    note("* the program starts again")
    guard isStartable else { return }
    isOff = false
    restoreDirectory()
    runNumber += 1
    startedAt = now
    starts[runNumber] = now
    let boot = "\(boots)"
    // The kernel has been up for a while when the daemon starts.
    if configuration.tokenKey?.boot != boot { bootedAt = now - .seconds(12) }
    configuration.tokenKey = StoredToken.Key(subject: vehicle, boot: boot)
    configuration.boot = boot
    published = Published(traffic: published.traffic)
    replaceDaemon(
      by: World.daemon(
        seed: programSeed, pause: pauseNote, traffic: published.traffic, confirmation: installation.confirmation,
        at: bootNow))
    installation.forceRestarts += 1
    copy = [:]
    unrestored = disk.held
    openFile = OpenFile()
    lockedVehicle = nil
    formRefusals = 0
    launch()
  }

  /// The daemon has its first settings: the shell passes it what previous runs have stored.
  func beginRun() {
    installation.ranAt = now
    if let storedRunState { handle(.runStateFound(storedRunState)) }
    if let storedUpdateForm { handle(.updateFormFound(storedUpdateForm)) }
    if let storedToken { handle(.tokenFound(storedToken)) }
    if let pauseNote { handle(.pause(pauseNote)) }
    if let dutyNote { handle(.goOffline(dutyNote)) }
    guard runNumber > 0 || scenario.hasInstallationFaults else {
      pass(.start)
      return startPorts()
    }
    startPorts()
    // A machine that monitors its network reports the network's state at the start.
    if addresses > 0 || absentSince != nil { changeNetwork(isUsable: absentSince == nil) }
    pass(.start)
    // A navigation app connects again.
    if scenario.hasInstallationFaults { ask(.monitorPositions) }
  }
}
