// SPDX-License-Identifier: Apache-2.0
import ClockEstimation
import ExternalInput
package import Connectivity
import SourceSelection
import PositionBacklog
import Delivery
package import Vehicle
import FleetEngine
import Positioning
import Timekeeping

extension StatusReport {
  /// The report of the agent's state; the caller adds release, uptime, events and others.
  ///
  /// - Parameter storeBytes: size of the backlog's files; nil without files.
  package init(_ snapshot: VehicleAgent.Snapshot, storeBytes: Int64? = nil) {
    let now = snapshot.now.boot
    summary = snapshot.statusLine
    vehicle = snapshot.vehicle
    service = snapshot.service
    vehicleState = snapshot.vehicleState?.rawValue
    state = State(snapshot.causeDescription)
    isOnline = snapshot.isOnline
    isPaused = snapshot.pause != nil
    pausedSince = snapshot.pause?.since?.canonicalJSON
    duty = snapshot.duty?.rawValue
    isOfflinePending = snapshot.isOfflinePending
    offDutySince = snapshot.offDuty?.since?.canonicalJSON
    source = snapshot.sources.name
    sourceTrouble =
      snapshot.isVehicleInUse
      ? "not opened while another process has the vehicle"
      : snapshot.sources.lossReason ?? (snapshot.sources.unreadNames.isEmpty ? nil : "not read while paused")
    sources = Source.all(in: snapshot.sources)
    fix = snapshot.fix.map { Fix($0, age: now - snapshot.fixReceivedAt, isParked: snapshot.isParked) }
    withoutFix = snapshot.fixMissingSince.map { (now - $0).wholeSeconds }
    satellitesInView = snapshot.fixMissingSince == nil ? nil : snapshot.sources.satellitesInView
    lastUpdate = snapshot.lastAcceptedAt.map { (now - $0).wholeSeconds }
    isUpdating = snapshot.isUpdating
    nextUpdate = NextUpdate(snapshot)
    nextRequest = snapshot.nextRequest
    updateForm = UpdateForm(snapshot)
    lastOutcome = Outcome(snapshot)
    lastMinutes = snapshot.outcomes.countsPerMinute(at: now)
    if snapshot.pause == nil, let newest = snapshot.newest {
      track = snapshot.track.shape(endingAt: newest.coordinate, at: now).map {
        Track(seconds: $0.age.wholeSeconds, points: $0.points)
      }
    }
    token = snapshot.tokenDeadline.map { ($0 - now).wholeSeconds }
    tokenTrouble = snapshot.tokenFailure?.withAdvice.text
    tokenTroubleSince = snapshot.tokenFailingSince.map { (now - $0).wholeSeconds }
    failure = Failure(snapshot)
    clockOffset = snapshot.clockError?.offset.wholeSeconds
    withoutNetwork = snapshot.networkAbsentSince.map { (now - $0).wholeSeconds }
    backlog = Backlog(snapshot, bytes: storeBytes)
    explanation = Explanation(snapshot)
    lastFix = snapshot.lastFixSentence
    counters = snapshot.statistics.counters
  }
}

extension StatusReport.Traffic {
  /// - Parameter day: the current day.
  package init(_ day: TrafficLedger.Day) {
    let date = day.date.text
    today = Period(day.counts, date)
    month = Period(day.month, String(date.prefix(7)))
  }
}

extension StatusReport.Traffic.Period {
  fileprivate init(_ counts: TrafficLedger.Counts, _ date: String) {
    let traffic = counts.traffic
    self.init(
      date: date, sent: traffic.totalSent, received: traffic.totalReceived, retransmitted: traffic.retransmitted,
      headers: traffic.sentHeaders &+ traffic.receivedHeaders, tokenProvider: counts.tokenProvider.total,
      updates: counts.updates, perUpdate: counts.bytesPerUpdate)
  }
}

extension StatusReport.State {
  fileprivate init(_ description: CauseDescription) {
    self.init(
      cause: description.reason, label: description.label, detail: description.detail.text,
      level: description.level.rawValue, advice: description.advice)
  }
}

extension StatusReport.NextUpdate {
  fileprivate init?(_ snapshot: VehicleAgent.Snapshot) {
    guard let next = snapshot.next else { return nil }
    kind =
      switch next {
      case .report: "report"
      case .heartbeat: "heartbeat"
      case .retry: "retry"
      case .offline: "offline"
      case .token: "token"
      }
    due = next.time.map(snapshot.seconds(until:)) ?? 0
  }
}

extension StatusReport.Fix {
  fileprivate init(_ fix: Fix, age: Duration, isParked: Bool) {
    self.init(
      mode: fix.mode.rawValue, quality: fix.quality.rawValue, satellites: fix.satellites,
      horizontalAccuracy: fix.horizontalAccuracy, age: age.wholeSeconds, isParked: isParked)
  }
}

extension StatusReport.UpdateForm {
  fileprivate init(_ snapshot: VehicleAgent.Snapshot) {
    let why: String? =
      switch snapshot.updateForm {
      case .untested, .accepted: nil
      case .off: "compact_updates is off"
      case .rejected(let status): "the server refuses compact ones (HTTP \(status))"
      case .fallback(let end):
        "compact ones failed, and are tried again "
          + (end.map { "in \(max($0 - snapshot.now.boot, .zero).humanReadable)" } ?? "later")
      }
    self.init(form: why == nil ? "compact" : "plain", reason: why, isSet: snapshot.updateForm == .off)
  }
}

extension StatusReport.Failure {
  init?(_ snapshot: VehicleAgent.Snapshot) {
    guard let failure = snapshot.failure else { return nil }
    self.init(
      category: failure.category.rawValue, message: failure.message,
      since: snapshot.failingSince.map { (snapshot.now.boot - $0).wholeSeconds } ?? 0,
      retryIn: snapshot.isUpdating ? 0 : snapshot.next.map { $0.time.map(snapshot.seconds(until:)) ?? 0 })
  }
}

extension StatusReport.Outcome {
  init?(_ snapshot: VehicleAgent.Snapshot) {
    guard let outcome = snapshot.outcomes.last else { return nil }
    self.init(
      result: outcome.failure?.rawValue ?? "accepted", age: (snapshot.now.boot - outcome.at).wholeSeconds,
      milliseconds: outcome.duration.nanoseconds / 1_000_000, past: outcome.past)
  }
}

extension StatusReport.Backlog {
  fileprivate init(_ snapshot: VehicleAgent.Snapshot, bytes: Int64?) {
    count = snapshot.pendingCount
    oldestAge = snapshot.oldestAge?.wholeSeconds
    switch snapshot.store {
    case .off: store = "off"
    case .unread: store = "unread"
    case .healthy: store = "disk"
    case .memoryOnly(let why): (store, storeTrouble) = ("memory", why)
    }
    self.bytes = bytes
    removed = [:]
    for (reason, count) in snapshot.statistics.removed where reason != .delivered { removed[reason.rawValue] = count }
    thinnedWithin = snapshot.thinnedWithin > 0 ? snapshot.thinnedWithin : nil
  }
}

extension StatusReport.Source {
  /// Each source with its explanation; nil if there is only one.
  fileprivate static func all(in overview: SourceOverview) -> [StatusReport.Source]? {
    guard overview.sources.count > 1 else { return nil }
    return overview.sources.enumerated().map { index, source in
      let isUsed = index == overview.used
      let explanation: String
      if isUsed {
        // The sources of higher priority have explanations of their own.
        let hold = overview.hold.map { "; \($0.phrase)" } ?? ""
        explanation =
          overview.reasonForUse(problems: index == 0 ? "" : "no source of higher priority is good") + hold
      } else if case .good = source.condition, index > overview.used ?? index {
        explanation = "good, in reserve"
      } else {
        explanation = source.conditionText
      }
      return StatusReport.Source(
        name: source.name, condition: source.condition.name, isUsed: isUsed, explanation: explanation)
    }
  }
}

extension SourceOverview.Condition {
  fileprivate var name: String {
    switch self {
    case .waiting: "waiting"
    case .searching: "searching"
    case .good: "good"
    case .lost: "lost"
    case .ended: "ended"
    }
  }
}

extension Statistics {
  /// All counters by name, as in `fixes`, `rejected.stale`, `failed.network`.
  fileprivate var counters: [String: Int] {
    var counters = [
      "fixes": fixes, "held": held, "attempts": attempts, "accepted": accepted, "abandoned": abandoned,
      "backfilled": backfilled, "tokenFetches": tokenFetches, "tokens": tokens,
    ]
    for (reason, count) in rejected { counters["rejected.\(reason.rawValue)"] = count }
    for (category, count) in failed { counters["failed.\(category.rawValue)"] = count }
    for (reason, count) in removed { counters["removed.\(reason.rawValue)"] = count }
    for (reason, count) in tokenFailures { counters["tokenFailed.\(reason)"] = count }
    return counters
  }
}
