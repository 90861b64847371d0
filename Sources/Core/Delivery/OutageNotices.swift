// SPDX-License-Identifier: Apache-2.0
import FleetEngine
import Timekeeping

/// What the journal is told of the way to Fleet Engine: every outage with its end, and a road of short ones as one line.
struct OutageNotices: Sendable {
  /// An outage is told at once, unless another was told within this time.
  static let quiet = Duration.seconds(600)
  /// One that lasts so long is told in any case.
  static let worthTelling = Duration.seconds(60)
  /// When one that lasts is told again, since its beginning; then every hour.
  private static let reminders: [Duration] = [.seconds(600), .seconds(1200), .seconds(2400), .seconds(3600)]
  /// So many past positions are worth a line of their own.
  private static let manyPositions = 10

  private struct Outage {
    var since: BootInstant
    var isTold = false
    /// Failures since the last that was told, of the kinds that were.
    var tries = 0
    var kinds: Set<UpdateFailure.Category> = []
    var reminded = 0
  }

  private var outage: Outage?
  /// The last update was accepted.
  private var isOnline = false
  private var toldAt: BootInstant?
  /// Outages that were not told.
  private var untold = 0
  /// Past positions since the backlog was last empty.
  private var past = 0
  /// Somebody has read that positions are to come.
  private var isAnnounced = false

  /// - Returns: what is to be told of a failed attempt.
  mutating func failed(_ failure: UpdateFailure, at now: BootInstant) -> Event? {
    isOnline = false
    var outage = self.outage ?? Outage(since: now)
    defer { self.outage = outage }
    let lasted = now - outage.since
    outage.tries += 1
    guard outage.isTold else {
      if failure.category.row.isTransient, lasted < OutageNotices.worthTelling, let toldAt,
        now - toldAt < OutageNotices.quiet
      {
        return outage.tries == 1 ? .interrupted(failure) : nil
      }
      outage.isTold = true
      outage.tries = 0
      outage.kinds = [failure.category]
      toldAt = now
      defer { untold = 0 }
      return .offline(failure, after: lasted, untold: untold)
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
  /// - Returns: what is to be told of an update that was accepted.
  mutating func accepted(delivered: Int, waiting: Int, at now: BootInstant) -> [Event] {
    past += delivered
    var events: [Event] = []
    defer { isOnline = true }
    if !isOnline {
      if let outage, !outage.isTold {
        untold += 1
      } else {
        events.append(.online(after: outage.map { now - $0.since }, delivered: past, waiting: waiting))
        // What has just been told to have come counts as told.
        if waiting == 0 { past = 0 }
        isAnnounced = waiting > 0
        if outage != nil { toldAt = now }
      }
      outage = nil
    }
    guard waiting == 0 else { return events }
    if past > 0, isAnnounced || past >= OutageNotices.manyPositions { events.append(.backfilled(past)) }
    past = 0
    isAnnounced = false
    return events
  }

  /// Positions of an earlier run were told.
  mutating func announceBacklog() {
    isAnnounced = true
  }

  /// The settings are new: what is wrong with them is told at once.
  mutating func beginAfresh() {
    outage?.kinds = []
    toldAt = nil
  }

  /// Nothing is to fail any more: a pause begins.
  mutating func forgetOutage() {
    isOnline = false
    outage = nil
    toldAt = nil
  }

  private static func reminder(_ index: Int) -> Duration {
    index < reminders.count ? reminders[index] : .seconds(3600 * (index - reminders.count + 2))
  }
}
