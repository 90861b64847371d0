// SPDX-License-Identifier: Apache-2.0
import Timekeeping

/// The backlog and its store.
extension VehicleAgent {
  /// The store persists every change, and the journal reports every loss.
  mutating func backlogChanged(_ change: Backlog.Change, at now: BootInstant, _ effects: inout [Effect]) {
    noteOutage(at: now, &effects)
    effects.append(.backlog(change))
    guard case .removed(let ids, let reason) = change else { return }
    statistics.removed[reason, default: 0] += ids.count
    report(eventLimiter.removed(ids.count, reason, within: delivery.backlog.thinnedWithin, at: now), &effects)
  }

  /// In a long outage the store collects changes for longer.
  mutating func noteOutage(at now: BootInstant, _ effects: inout [Effect]) {
    if let isLong = outage.change(at: now) { effects.append(.collectChanges(inOutage: isLong)) }
  }

  mutating func restoreBacklog(_ records: [Backlog.Record], at now: Moment, _ effects: inout [Effect]) {
    let before = delivery.backlog.count
    let changes = delivery.handle(.restored(records), at: now.boot)
    let more = delivery.backlog.count - before
    // The first request went ahead of reading the store: that must not prolong the wait for a fix.
    let since = storeReading.ended() ?? now.boot
    if more > 0 {
      report(eventLimiter.backlogRestored(more), &effects)
      withoutFixSince = since
    }
    apply(changes, at: now, &effects)
    removeWrongTimes(at: now, &effects)
  }

  /// Removes positions that are too old. Without a reliable time nothing is removed.
  mutating func expirePositions(at now: Moment, _ effects: inout [Effect]) {
    guard let (time, othersAreDue) = expiry.check(at: now.boot) else { return }
    apply(delivery.handle(.time(time), at: now.boot), at: now, &effects)
    if othersAreDue { effects.append(.forgetOthers(before: time - delivery.configuration.maxAge)) }
  }

  /// Reads the store, unless it has reported that it cannot be read.
  mutating func readStore(_ effects: inout [Effect]) {
    storeReading.ask()
    if case .memoryOnly = store { storeReading.failed() }
    effects.append(.readStore)
  }

  mutating func storeChanged(_ state: BacklogStoreState, at now: BootInstant, _ effects: inout [Effect]) {
    switch state {
    case .unread: storeReading.found(at: now)
    case .off, .memoryOnly: storeReading.failed()
    case .healthy: break
    }
    report(eventLimiter.storeChanged(from: store, to: state, count: delivery.backlog.count, at: now), &effects)
    store = state
  }
}
