// SPDX-License-Identifier: Apache-2.0
import Delivery
import PositionBacklog
import Timekeeping

/// The backlog and its store.
extension VehicleAgent {
  /// The store persists every change, and the journal reports every loss.
  mutating func backlogChanged(_ change: Backlog.Change, at now: BootInstant, _ effects: inout [Effect]) {
    noteOutage(at: now, &effects)
    effects.append(.backlog(change))
    guard case .removed(let ids, let reason) = change else { return }
    statistics.removed[reason, default: 0] += ids.count
    report(
      eventLimiter.removed(ids.count, reason, interpolationError: delivery.backlog.thinnedWithin, at: now), &effects)
  }

  /// In a long outage the store collects changes for longer.
  mutating func noteOutage(at now: BootInstant, _ effects: inout [Effect]) {
    if let isLong = network.outage.updateIsLong(at: now) { effects.append(.collectChanges(inOutage: isLong)) }
  }

  mutating func restoreBacklog(_ records: [Backlog.Record], at now: Moment, _ effects: inout [Effect]) {
    let before = delivery.backlog.count
    let changes = delivery.handle(.restored(records), at: now.boot)
    let more = delivery.backlog.count - before
    if more > 0 { report(eventLimiter.backlogRestored(more), &effects) }
    apply(changes, at: now, &effects)
    removeWrongTimes(at: now, &effects)
  }

  mutating func storeChanged(_ state: BacklogStoreState, at now: Moment, _ effects: inout [Effect]) {
    let before = delivery.store
    apply(delivery.handle(.store(state), at: now.boot), at: now, &effects)
    report(eventLimiter.storeChanged(from: before, to: state, count: delivery.backlog.count, at: now.boot), &effects)
  }
}
