// SPDX-License-Identifier: Apache-2.0
import Authorization
import Delivery
import Positioning
import Timekeeping

/// The machine loses its power, or sleeps; the disk remembers, or is full.
extension World {
  /// Everything in memory is gone, and what the store had not written yet.
  ///
  /// - Parameter undone: what the agent wanted done, and nobody did.
  func cutPower(for seconds: Int, isOfPower: Bool, before undone: ArraySlice<VehicleAgent.Effect>) {
    note(isOfPower ? "!power cut" : "!killed")
    cut = nil
    if isOfPower { boots += 1 }
    loseUnwritten()
    for effect in undone {
      guard case .backlog(.removed(let ids, .delivered)) = effect else { continue }
      for id in ids { revived[StoreModel.Key(vehicle: vehicle, id: id), default: 0] += 1 }
    }
    thinnedWithin = max(thinnedWithin, agent.delivery.backlog.thinnedWithin)
    store.crash()
    giveUpUpdate()
    (fetch, deadline, promise) = (nil, nil, nil)
    isOff = true
    queue.schedule(.powerReturns, at: now + .seconds(max(seconds, 6)))
  }

  func loseUnwritten() {
    let disk = store.held[vehicle] ?? [:]
    for (id, _) in copy where disk[id] == nil {
      let key = StoreModel.Key(vehicle: vehicle, id: id)
      lostInCuts.insert(key)
      // Nobody writes in sleep.
      let slept = now - wakesAt < StoreModel.commitInterval ? sleepLasts : .zero
      let since = store.troubledSince ?? now - StoreModel.commitInterval - slept
      if let at = recorded[key], at < since {
        violate("a position is lost that was recorded \((now - at).inSeconds) s before")
      }
    }
    for id in disk.keys where copy[id] == nil { revived[StoreModel.Key(vehicle: vehicle, id: id), default: 0] += 1 }
  }

  func powerReturns() {
    note("!power returns")
    isOff = false
    life += 1
    startedAt = now
    let boot = "\(boots)"
    // The kernel has been up for a while when the program starts.
    if configuration.tokenKey?.boot != boot { bootedAt = now - .seconds(12) }
    configuration.tokenKey = KeptToken.Key(subject: vehicle, boot: boot)
    agent = VehicleAgent(configuration, seed: scenario.seed &+ life &* 1_000_003)
    copy = [:]
    if let pauseNote { tell(.pause(pauseNote)) }
    tell(.sources([World.source]))
    tell(.source(0, .reading("/dev/gps0")))
    // A machine that can tell of its network does so at the start.
    if addresses > 0 || absentSince != nil { changeNetwork(isUsable: absentSince == nil) }
    restore()
    if let keptToken { tell(.tokenFound(keptToken)) }
  }

  /// Gives the agent what the store holds of its vehicle.
  func restore() {
    let held = store.held[vehicle] ?? [:]
    for (id, record) in held where copy[id] == nil { copy[id] = record }
    tell(.restored(Array(held.values)))
  }

  func commitStore() {
    guard !isOff else { return }
    let isFull = scenario.isActive(at: second) { if case .diskFull = $0 { true } else { false } }
    note("!store commits \(copy.count)\(isFull ? ", disk full" : "")")
    let wasTroubled = store.troubledSince != nil
    if store.commit(copy, of: vehicle, isFull: isFull, at: now) {
      if wasTroubled { tell(.store(.healthy)) }
    } else {
      if !wasTroubled { tell(.store(.memoryOnly("the disk is full"))) }
      if !isOff { store.note(at: now) { queue.schedule(.storeCommits, at: $0) } }
    }
  }
}
