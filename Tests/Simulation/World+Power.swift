// SPDX-License-Identifier: Apache-2.0
import Authorization
import Delivery
import FleetEngine
import Positioning
import Timekeeping

/// The machine loses its power, or sleeps; the disk remembers, or is full.
extension World {
  /// Everything in memory is gone, and what the store had not written yet.
  ///
  /// - Parameter undone: effects that were not performed.
  func cutPower(for seconds: Int, isOfPower: Bool, before undone: ArraySlice<VehicleAgent.Effect>) {
    note(isOfPower ? "!power cut" : "!killed")
    cut = nil
    if isOfPower {
      boots += 1
      storedRunState = nil
    }
    loseUnwritten()
    for effect in undone {
      guard case .backlog(.removed(let ids, .delivered)) = effect else { continue }
      for id in ids { revived[Disk.Key(vehicle: vehicle, id: id), default: 0] += 1 }
    }
    thinnedWithin = max(thinnedWithin, agent.delivery.backlog.thinnedWithin)
    giveUpUpdate()
    (fetch, deadline, promise) = (nil, nil, nil)
    isOff = true
    closePorts()
    queue.schedule(.powerReturns, at: now + .seconds(max(seconds, isOfPower ? 6 : 1)))
  }

  private func loseUnwritten() {
    // Nobody writes in sleep.
    let slept = now - wakesAt < Disk.commitInterval ? sleepLasts : .zero
    let since = store.troubledSince ?? now - Disk.commitInterval - slept
    for (name, records) in pending {
      let onDisk = disk.held[name] ?? [:]
      for id in records.keys where onDisk[id] == nil {
        let key = Disk.Key(vehicle: name, id: id)
        lostInCuts.insert(key)
        if let at = recorded[key], at < since {
          violate("a position is lost that was recorded \((now - at).inSeconds) s before")
        }
      }
      for id in onDisk.keys where records[id] == nil { revived[Disk.Key(vehicle: name, id: id), default: 0] += 1 }
    }
  }

  func powerReturns() {
    note("!power returns")
    isOff = false
    life += 1
    startedAt = now
    starts[life] = now
    let boot = "\(boots)"
    // The kernel has been up for a while when the program starts.
    if configuration.tokenKey?.boot != boot { bootedAt = now - .seconds(12) }
    configuration.tokenKey = StoredToken.Key(subject: vehicle, boot: boot)
    configuration.boot = boot
    agent = VehicleAgent(configuration, seed: scenario.seed &+ life &* 1_000_003)
    copy = [:]
    left = disk.held
    store = StoreShell(configuration.delivery.endpoint.vehicle, seed: scenario.seed &+ life &* 17)
    if let storedRunState { handle(.runStateFound(storedRunState)) }
    if let storedToken { handle(.tokenFound(storedToken)) }
    if let pauseNote { handle(.pause(pauseNote)) }
    handle(.sources(World.candidates(scenario)))
    startPorts()
    // A machine that monitors its network reports its state at the start.
    if addresses > 0 || absentSince != nil { changeNetwork(isUsable: absentSince == nil) }
    handle(.store(.unread))
  }
}
