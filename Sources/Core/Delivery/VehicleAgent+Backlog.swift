// SPDX-License-Identifier: Apache-2.0
import Timekeeping

/// What the backlog and its store have to do with each other.
extension VehicleAgent {
  /// The store follows every change, and the journal reports every loss.
  mutating func follow(_ change: Backlog.Change, at now: BootInstant, _ effects: inout [Effect]) {
    effects.append(.backlog(change))
    guard case .removed(let ids, let reason) = change else { return }
    statistics.removed[reason, default: 0] += ids.count
    report(notices.removed(ids.count, reason, within: delivery.backlog.thinnedWithin, at: now), &effects)
  }

  mutating func restore(_ records: [Backlog.Record], at now: Moment, _ effects: inout [Effect]) {
    let before = delivery.backlog.count
    let changes = delivery.handle(.restored(records), at: now.boot)
    let more = delivery.backlog.count - before
    // The first request had its time to itself: that is no reason to wait longer for a fix.
    let since = storeReading.ended() ?? now.boot
    if more > 0 {
      report(notices.backlogRestored(more), &effects)
      withoutFixSince = since
    }
    apply(changes, at: now, &effects)
    removeWrongTimes(at: now, &effects)
  }

  /// Lets go what is too old. Without a position there is no time to judge by, and nothing goes.
  mutating func tidy(at now: Moment, _ effects: inout [Effect]) {
    guard let (time, othersAreDue) = expiry.check(at: now.boot) else { return }
    apply(delivery.handle(.time(time), at: now.boot), at: now, &effects)
    if othersAreDue { effects.append(.forgetOthers(before: time - delivery.configuration.maxAge)) }
  }

  /// Asks for what the store holds, unless it has said that it cannot be read.
  mutating func readStore(_ effects: inout [Effect]) {
    storeReading.ask()
    if case .memoryOnly = store { storeReading.failed() }
    effects.append(.readStore)
  }

  mutating func take(_ state: BacklogStoreState, at now: BootInstant, _ effects: inout [Effect]) {
    switch state {
    case .unread: storeReading.found(at: now)
    case .off, .memoryOnly: storeReading.failed()
    case .healthy: break
    }
    report(notices.storeChanged(from: store, to: state, count: delivery.backlog.count, at: now), &effects)
    store = state
  }
}
