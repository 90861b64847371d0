// SPDX-License-Identifier: Apache-2.0
import FleetEngine
import Timekeeping

/// What the journal gets of the connection to Fleet Engine: each outage with its end, and a series of short ones as one line.
struct OutageNotices: Sendable {
  /// An outage is reported at once, unless another was reported within this time.
  static let quiet = Duration.seconds(600)
  /// One that lasts this long is reported in any case.
  static let worthReporting = Duration.seconds(60)
  /// When one that lasts is reported again, since its beginning; then every hour.
  private static let reminders: [Duration] = [.seconds(600), .seconds(1200), .seconds(2400), .seconds(3600)]
  /// From this number on, past positions are worth a line of their own.
  private static let manyPositions = 10

  private struct Outage {
    var since: BootInstant
    var isReported = false
    /// Failures since the last that was reported, of the kinds that were.
    var tries = 0
    var kinds: Set<UpdateFailure.Category> = []
    var reminded = 0
  }

  private var outage: Outage?
  /// The last update was accepted.
  private var isOnline = false
  private var reportedAt: BootInstant?
  /// Outages that were not reported.
  private var suppressed = 0
  /// Past positions since the backlog was last empty.
  private var past = 0
  /// It was reported that positions are still to come.
  private var isAnnounced = false

  /// - Returns: what to report of a failed attempt.
  mutating func failed(_ failure: UpdateFailure, at now: BootInstant) -> Event? {
    isOnline = false
    var outage = self.outage ?? Outage(since: now)
    defer { self.outage = outage }
    let lasted = now - outage.since
    outage.tries += 1
    guard outage.isReported else {
      if failure.category.row.isTransient, lasted < OutageNotices.worthReporting, let reportedAt,
        now - reportedAt < OutageNotices.quiet
      {
        return outage.tries == 1 ? .interrupted(failure) : nil
      }
      outage.isReported = true
      outage.tries = 0
      outage.kinds = [failure.category]
      reportedAt = now
      defer { suppressed = 0 }
      return .offline(failure, after: lasted, untold: suppressed)
    }
    if outage.kinds.insert(failure.category).inserted {
      outage.tries = 0
      return .offline(failure, after: lasted, untold: 0)
    }
    guard lasted >= OutageNotices.reminder(outage.reminded) else { return nil }
    defer { outage.tries = 0 }
    while lasted >= OutageNotices.reminder(outage.reminded) { outage.reminded += 1 }
    return .stillOffline(failure, after: lasted, tries: outage.tries)
  }

  /// - Parameters:
  ///   - delivered: past positions that came with this update.
  ///   - waiting: past positions that are still to come.
  /// - Returns: what to report of an accepted update.
  mutating func accepted(delivered: Int, waiting: Int, at now: BootInstant) -> [Event] {
    past += delivered
    var events: [Event] = []
    defer { isOnline = true }
    if !isOnline {
      if let outage, !outage.isReported {
        suppressed += 1
      } else {
        events.append(.online(after: outage.map { now - $0.since }, delivered: past, waiting: waiting))
        // Positions whose arrival was just reported are not reported again.
        if waiting == 0 { past = 0 }
        isAnnounced = waiting > 0
        if outage != nil { reportedAt = now }
      }
      outage = nil
    }
    guard waiting == 0 else { return events }
    if past > 0, isAnnounced || past >= OutageNotices.manyPositions { events.append(.backfilled(past)) }
    past = 0
    isAnnounced = false
    return events
  }

  /// Positions of an earlier run were reported.
  mutating func announceBacklog() {
    isAnnounced = true
  }

  /// The settings are new: what is wrong with them is reported at once.
  mutating func beginAfresh() {
    outage?.kinds = []
    reportedAt = nil
  }

  /// A pause begins: what comes after it is no part of the outage before.
  mutating func forgetOutage() {
    isOnline = false
    outage = nil
    reportedAt = nil
  }

  private static func reminder(_ index: Int) -> Duration {
    index < reminders.count ? reminders[index] : .seconds(3600 * (index - reminders.count + 2))
  }
}
