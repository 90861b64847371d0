// SPDX-License-Identifier: Apache-2.0
import Timekeeping

/// What the backlog and its store have to do with each other.
extension VehicleAgent {
  /// The store follows every change, and the journal reports every loss.
  mutating func follow(_ change: Backlog.Change, at now: BootInstant, _ effects: inout [Effect]) {
    effects.append(.backlog(change))
    guard case .removed(let ids, let reason) = change else { return }
    statistics.removed[reason, default: 0] += ids.count
    if reason != .delivered, let (_, suppressed) = losses.admit(reason.rawValue, at: now) {
      let within = delivery.backlog.thinnedWithin
      effects.append(.event(.positionsDropped(ids.count, reason, within: within, suppressed: suppressed)))
    }
  }

  mutating func restore(_ records: [Backlog.Record], at now: Moment, _ effects: inout [Effect]) {
    let before = delivery.backlog.count
    let changes = delivery.handle(.restored(records), at: now.boot)
    let more = delivery.backlog.count - before
    if more > 0 {
      effects.append(.event(.backlogRestored(more)))
      outages.announceBacklog()
    }
    apply(changes, at: now, &effects)
  }

  /// Lets go what is too old. Without a position there is no time to judge by, and nothing goes.
  mutating func tidy(at now: Moment, _ effects: inout [Effect]) {
    guard let time = steadyTime.time else { return }
    apply(delivery.handle(.time(time), at: now.boot), at: now, &effects)
    if let forgotAt, now.boot - forgotAt < .seconds(3600) { return }
    forgotAt = now.boot
    effects.append(.forgetOthers(before: time - delivery.configuration.maxAge))
  }

  mutating func take(_ state: BacklogStoreState, at now: BootInstant, _ effects: inout [Effect]) {
    let before = store
    store = state
    switch (before, state) {
    case (_, .memoryOnly(let why)):
      if let (_, suppressed) = storeTroubles.admit(why, at: now) {
        effects.append(.event(.backlogInMemory(why, suppressed: suppressed)))
      }
    case (.memoryOnly, .healthy):
      storeTroubles.end()
      effects.append(.event(.backlogOnDisk(count: delivery.backlog.count)))
    default: break
    }
  }
}
