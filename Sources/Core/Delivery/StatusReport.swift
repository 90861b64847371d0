// SPDX-License-Identifier: Apache-2.0
import Authorization
import FleetEngine
import Positioning
package import Timekeeping

/// What a person or a script may ask of a running daemon. Ages and lifetimes are in seconds; no coordinates, only the
/// shape of the way of the last minutes.
package struct StatusReport: Equatable, Sendable, Encodable {
  package struct Fix: Equatable, Sendable, Encodable {
    package var mode: Int
    package var quality: String
    package var satellites: Int?
    /// Metres.
    package var horizontalAccuracy: Double?
    package var age: Int64
    package var isParked: Bool
  }

  package struct Failure: Equatable, Sendable, Encodable {
    package var category: String
    package var message: String
    package var since: Int64
    package var retryIn: Int64
  }

  package struct Source: Equatable, Sendable, Encodable {
    package var name: String
    /// `waiting`, `searching`, `good`, `lost` or `ended`.
    package var condition: String
    /// Whether the fixes are from it.
    package var isUsed: Bool
    /// Why it is used, or is not.
    package var explanation: String
  }

  /// When the next update goes, if nothing happens before.
  package struct NextUpdate: Equatable, Sendable, Encodable {
    /// Seconds from now; 0 is at once.
    package var due: Int64
    /// `report`, `heartbeat`, `retry` after a failure, or `token` when one has to come first.
    package var kind: String
  }

  /// How the last request to Fleet Engine ended.
  package struct Outcome: Equatable, Sendable, Encodable {
    /// `accepted`, or the category of the failure.
    package var result: String
    package var age: Int64
    /// From the request to its end.
    package var milliseconds: Int64
    /// Past positions that went with it and were accepted.
    package var past: Int
  }

  /// A line of the journal.
  package struct Event: Equatable, Sendable, Encodable {
    /// As in docs/journal.md.
    package var name: String
    /// `error`, `warning`, `notice` or `info`.
    package var level: String
    /// As in the journal, without coordinates.
    package var sentence: String
    /// Seconds since it was told last.
    package var age: Int64
    /// How often it was told in a row.
    package var times: Int
  }

  /// The shape of the way: no coordinates.
  package struct Track: Equatable, Sendable, Encodable {
    /// Age of its beginning.
    package var seconds: Int64
    /// Metres east and north of the newest position, oldest first; the last one is 0, 0.
    package var points: [[Int]]
  }

  package struct Backlog: Equatable, Sendable, Encodable {
    /// Positions that wait.
    package var count: Int
    /// How far the oldest lies behind the newest fix, by their own times; nil when there is none of either.
    package var oldestAge: Int64?
    /// `disk`, `memory` or `off`.
    package var store: String
    /// Why it is in memory only.
    package var storeTrouble: String?
    /// Size of the store's files; nil where there are none.
    package var bytes: Int64?
    /// Positions that left undelivered since the start, by their reason.
    package var removed: [String: Int]
    /// Metres between a position that was thinned and the way that the others tell; nil as long as none was.
    package var thinnedWithin: Double?
  }

  /// The same line as in `systemctl status`.
  package var summary: String
  /// The vehicle's ID.
  package var vehicle: String?
  /// Of the daemon; nil when whoever made the report did not say.
  package var version: String?
  /// For how long the daemon has run; nil as above.
  package var uptime: Int64?
  package var isOnline: Bool
  /// The driver is off duty.
  package var isPaused: Bool
  /// When the pause began, RFC 3339; nil when there is none, or nobody knew the time then.
  package var pausedSince: String?
  /// What is being read; nil when there is none.
  package var source: String?
  /// Why there is none.
  package var sourceTrouble: String?
  /// All of them in the order of preference, when there are several.
  package var sources: [Source]?
  package var fix: Fix?
  /// Age of the last accepted update.
  package var lastUpdate: Int64?
  /// A request is under way.
  package var isUpdating = false
  /// Nil during a pause, before the first fix, and when the daemon is about to stop.
  package var nextUpdate: NextUpdate?
  /// What became of the last update; nil before the first has ended.
  package var lastOutcome: Outcome?
  /// Updates accepted and failed in each of the last minutes, oldest first, the last one not over yet; nil when none has
  /// ended in the last half hour.
  package var lastMinutes: [[Int]]?
  /// Nil when the vehicle has not moved, and during a pause.
  package var track: Track?
  /// Newest first; nil when whoever made the report keeps none.
  package var events: [Event]?
  /// What is left of the token's life.
  package var token: Int64?
  package var tokenTrouble: String?
  /// For how long no token has come.
  package var tokenTroubleSince: Int64?
  package var failure: Failure?
  /// By how much this machine's clock is ahead, when it is wrong by half a minute or more.
  package var clockOffset: Int64?
  /// For how long there has been no network; nil when there is one, or nobody can tell.
  package var withoutNetwork: Int64?
  package var backlog: Backlog
  package var explanation: Explanation
  /// Counts since the start, by name.
  package var counters: [String: Int]
}

extension VehicleAgent {
  /// - Parameters:
  ///   - wall: this machine's clock, when it is to be judged.
  ///   - storeBytes: size of the store's files; nil where there are none.
  package func report(at now: BootInstant, wall: Timestamp? = nil, storeBytes: Int64? = nil) -> StatusReport {
    var report = StatusReport(
      summary: status(at: now, wall: wall), isOnline: isOnline && !network.isAbsent,
      isPaused: isPaused, pausedSince: pause?.since?.canonicalJSON, backlog: backlogReport(storeBytes),
      explanation: explanation(at: now), counters: statistics.counters)
    switch source {
    case .reading(let name): report.source = name
    case .lost(let why): report.sourceTrouble = why
    }
    report.vehicle = configuration.context?.scope.id
    report.sources = sourceReports
    if let lastFix {
      report.fix = StatusReport.Fix(
        mode: lastFix.mode.rawValue, quality: lastFix.quality.rawValue, satellites: lastFix.satellites,
        horizontalAccuracy: lastFix.horizontalAccuracy, age: (now - lastFixAt).wholeSeconds,
        isParked: policy.isParked)
    }
    report.lastUpdate = delivery.lastAcceptedAt.map { (now - $0).wholeSeconds }
    report.isUpdating = !delivery.isIdle
    report.nextUpdate = nextUpdate(at: now)
    report.lastOutcome = outcomes.lastReport(at: now)
    report.lastMinutes = outcomes.report(at: now)
    report.track = policy.newest.flatMap { isPaused ? nil : track.shape(endingAt: $0.coordinate, at: now) }
    report.token = tokens.token(at: now).map { ($0.deadline - now).wholeSeconds }
    report.tokenTrouble = tokens.lastFailure?.message
    report.tokenTroubleSince = tokens.failingSince.map { (now - $0).wholeSeconds }
    report.clockOffset = wall.flatMap { clocks.error(at: Moment(boot: now, wall: $0)) }?.offset.wholeSeconds
    report.failure = delivery.failure.map { failure in
      StatusReport.Failure(
        category: failure.category.rawValue, message: failure.message,
        since: delivery.failingSince.map { (now - $0).wholeSeconds } ?? 0,
        retryIn: wait(until: earliest, at: now))
    }
    report.withoutNetwork = network.absentSince.map { (now - $0).wholeSeconds }
    return report
  }

  private func nextUpdate(at now: BootInstant) -> StatusReport.NextUpdate? {
    guard phase == .running, !isPaused, policy.newest != nil, delivery.isIdle else { return nil }
    let due: (at: BootInstant, kind: String) =
      if tokens.token(at: now) == nil, let retry = tokens.nextDeadline(at: now) {
        (max(retry, earliest), "token")
      } else if delivery.failure != nil, delivery.isOwing {
        (earliest, "retry")
      } else if delivery.isOwing || policy.reason(at: now) != nil {
        (earliest, "report")
      } else {
        (
          max(policy.expected(hasFixes: !isFixLost) ?? earliest, earliest),
          policy.isParked || isFixLost ? "heartbeat" : "report"
        )
      }
    return StatusReport.NextUpdate(due: wait(until: due.at, at: now), kind: due.kind)
  }

  /// In seconds; what is left of one is still to be waited for.
  private func wait(until due: BootInstant, at now: BootInstant) -> Int64 {
    max((due - now + .milliseconds(999)).wholeSeconds, 0)
  }

  private func backlogReport(_ bytes: Int64?) -> StatusReport.Backlog {
    let waiting = delivery.waiting
    let oldest = waiting > 0 ? delivery.backlog.records.first?.location.time : nil
    var removed = [String: Int]()
    for (reason, count) in statistics.removed where reason != .delivered { removed[reason.rawValue] = count }
    var report = StatusReport.Backlog(
      count: waiting, oldestAge: newestTime.flatMap { newest in oldest.map { max((newest - $0).wholeSeconds, 0) } },
      store: "off", bytes: bytes, removed: removed)
    let within = delivery.backlog.thinnedWithin
    report.thinnedWithin = within > 0 ? within : nil
    switch store {
    case .off: break
    case .healthy: report.store = "disk"
    case .memoryOnly(let why): (report.store, report.storeTrouble) = ("memory", why)
    }
    return report
  }
}

extension Statistics {
  /// Every count under a name of its own, as in `fixes`, `rejected.stale`, `failed.network`.
  package var counters: [String: Int] {
    var counters = [
      "fixes": fixes, "attempts": attempts, "accepted": accepted, "abandoned": abandoned, "backfilled": backfilled,
      "tokenFetches": tokenFetches, "tokens": tokens,
    ]
    for (reason, count) in rejected { counters["rejected.\(reason.rawValue)"] = count }
    for (category, count) in failed { counters["failed.\(category.rawValue)"] = count }
    for (reason, count) in removed { counters["removed.\(reason.rawValue)"] = count }
    for (reason, count) in tokenFailures { counters["tokenFailed.\(reason)"] = count }
    return counters
  }
}
