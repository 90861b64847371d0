// SPDX-License-Identifier: Apache-2.0
import FleetEngine
import Timekeeping

/// Log policy for the connection to Fleet Engine: each outage and its end are reported; series of short outages are
/// aggregated.
struct OutageReporter: Sendable {
  /// An outage is reported at once, unless another was reported within this time.
  static let quietPeriod = Duration.seconds(600)
  /// An outage that lasts this long is always reported.
  static let reportThreshold = Duration.seconds(60)
  /// Times since the start of a lasting outage at which it is reported again; after the last one, hourly.
  private static let reminders: [Duration] = [.seconds(600), .seconds(1200), .seconds(2400), .seconds(3600)]
  /// From this number on, delivered past positions are reported separately.
  private static let announcementThreshold = 10

  private struct Outage {
    var since: BootInstant
    var isReported = false
    /// Failures since the last report, and the categories that were reported.
    var attempts = 0
    var reportedCategories: Set<UpdateFailure.Category> = []
    var remindersSent = 0
  }

  private var outage: Outage?
  /// The last update was accepted.
  private var isOnline = false
  private var reportedAt: BootInstant?
  /// Of the last outage that was reported.
  private var reportedCategory: UpdateFailure.Category?
  /// Outages that were not reported.
  private var suppressed = 0
  /// Past positions delivered since the backlog was last empty.
  private var past = 0
  /// It was reported that past positions are pending.
  private var isAnnounced = false

  /// - Returns: the event to report for a failed attempt, if any.
  mutating func failed(_ failure: UpdateFailure, at now: BootInstant) -> Event? {
    isOnline = false
    var outage = self.outage ?? Outage(since: now)
    defer { self.outage = outage }
    let lasted = now - outage.since
    outage.attempts += 1
    guard outage.isReported else {
      if failure.category.row.isTransient || isRepeated(failure.category),
        lasted < OutageReporter.reportThreshold, let reportedAt, now - reportedAt < OutageReporter.quietPeriod
      {
        return outage.attempts == 1 ? .interrupted(failure) : nil
      }
      outage.isReported = true
      outage.attempts = 0
      outage.reportedCategories = [failure.category]
      (reportedAt, reportedCategory) = (now, failure.category)
      defer { suppressed = 0 }
      return .offline(failure, after: lasted, suppressed: suppressed)
    }
    if outage.reportedCategories.insert(failure.category).inserted {
      outage.attempts = 0
      return .offline(failure, after: lasted, suppressed: 0)
    }
    guard lasted >= OutageReporter.reminder(outage.remindersSent) else { return nil }
    defer { outage.attempts = 0 }
    while lasted >= OutageReporter.reminder(outage.remindersSent) { outage.remindersSent += 1 }
    return .stillOffline(failure, after: lasted, attempts: outage.attempts)
  }

  /// Whether another outage of this category, which ends by itself, was the last one reported: a server may reject
  /// every other update for hours, for example because of a quota.
  private func isRepeated(_ category: UpdateFailure.Category) -> Bool {
    category == reportedCategory && !category.row.needsConfiguration
  }

  /// - Parameters:
  ///   - delivered: past positions in this update.
  ///   - pending: past positions still pending.
  /// - Returns: the events to report for an accepted update.
  mutating func accepted(delivered: Int, pending: Int, at now: BootInstant) -> [Event] {
    past += delivered
    var events: [Event] = []
    defer { isOnline = true }
    if !isOnline {
      if let outage, !outage.isReported {
        suppressed += 1
      } else {
        events.append(.online(after: outage.map { now - $0.since }, delivered: past, pending: pending))
        // Positions whose delivery was just reported are not reported again.
        if pending == 0 { past = 0 }
        isAnnounced = pending > 0
        if outage != nil { reportedAt = now }
      }
      outage = nil
    }
    guard pending == 0 else { return events }
    if past > 0, isAnnounced || past >= OutageReporter.announcementThreshold { events.append(.backfilled(past)) }
    past = 0
    isAnnounced = false
    return events
  }

  /// Restored positions were reported.
  mutating func markBacklogAnnounced() {
    isAnnounced = true
  }

  /// The settings changed: problems are reported at once.
  mutating func settingsChanged() {
    outage?.reportedCategories = []
    (reportedAt, reportedCategory) = (nil, nil)
  }

  /// A pause begins: a later failure is a new outage.
  mutating func forgetOutage() {
    isOnline = false
    outage = nil
    (reportedAt, reportedCategory) = (nil, nil)
  }

  private static func reminder(_ index: Int) -> Duration {
    index < reminders.count ? reminders[index] : .seconds(3600 * (index - reminders.count + 2))
  }
}
