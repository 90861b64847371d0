// SPDX-License-Identifier: Apache-2.0
import PositionBacklog
import Authorization
import ExternalInput
import FleetEngine
import Positioning
import SourceSelection
import Timekeeping

/// Decides which repeated events are reported: the first of a series, or the first few, then one per period with the
/// number suppressed. Decides nothing else.
struct EventRateLimiter: Sendable {
  /// The minimum time between reported clock steps: two time daemons that disagree would flood the journal.
  static let clockStepPeriod = Duration.seconds(60)

  /// A loose plug, or a sender that closes after each position, would flood the journal. By the source's ID and the
  /// reason: each new one is reported.
  private var sourceLosses = RepeatLimiter(burst: 5)
  private var unreportedLosses: Set<Int> = []
  /// Of a source that is read under another name, by its ID; and of another source, or none, that is used.
  private var sourceNames = RepeatLimiter(burst: 5)
  private var sourceChoices = RepeatLimiter(burst: 5)
  /// A vehicle under a roof may have a fix now and then, for hours.
  private var fixLosses = RepeatLimiter(burst: 5)
  private var isFixLossReported = false
  private var outages = OutageReporter()
  private var rejections = RepeatLimiter()
  /// When the first fix since the last accepted one was rejected because its date is unknown; nil if there is none.
  private var datelessSince: BootInstant?
  private var tokenFailures = RepeatLimiter()
  private var tokenRemarks = RepeatLimiter(burst: 3)
  private var removals = RepeatLimiter()
  private var backfillRejections = RepeatLimiter()
  private var storeFailures = RepeatLimiter()
  private var isStoreFailureReported = false
  private var networkLosses = RepeatLimiter()
  private var isNetworkLossReported = false
  private var offlineFailures = RepeatLimiter()
  private var receiverClocks = RepeatLimiter()
  private var receiverClockOffset = Duration.zero
  private var isReceiverClockReported = false
  /// The last reported step of the wall clock, and the number of steps since.
  private var clockStep: (reportedAt: BootInstant, suppressed: Int)?
  private var isSimulationReported = false

  // MARK: - Sources and fixes

  /// - Parameter number: nil if it is the only source.
  mutating func sourceLost(
    _ source: SourceOverview.Source, _ why: String, _ number: SourceNumber?, at now: BootInstant
  ) -> Event? {
    guard let suppressed = sourceLosses.admit("\(source.id) \(why)", at: now) else {
      unreportedLosses.insert(source.id)
      return nil
    }
    unreportedLosses.remove(source.id)
    return .sourceLost(why, number, suppressed: suppressed)
  }

  /// The return of a source is reported as rarely as its loss.
  ///
  /// - Parameters:
  ///   - number: nil if it is the only source.
  ///   - isRenamed: whether it was read before, under another name.
  mutating func sourceOpened(
    _ source: SourceOverview.Source, _ number: SourceNumber?, isRenamed: Bool, at now: BootInstant
  ) -> Event? {
    if isRenamed { return sourceNames.admit("\(source.id)", at: now).map { _ in .sourceOpened(source.name, number) } }
    return unreportedLosses.contains(source.id) ? nil : .sourceOpened(source.name, number)
  }

  /// - Parameter event: that another source is used, or none.
  mutating func sourceChosen(_ event: Event, at now: BootInstant) -> Event? {
    let subject = if case .noSourceGood = event { "none" } else { "another" }
    return sourceChoices.admit(subject, at: now).map { _ in event }
  }

  /// - Parameter event: of the fix's monitor.
  mutating func fixChanged(_ event: Event, at now: BootInstant) -> Event? {
    switch event {
    case .fixLost: isFixLossReported = fixLosses.admit("", at: now) != nil
    case .fixRegained: break
    default: return event
    }
    return isFixLossReported ? event : nil
  }

  mutating func fixAccepted() {
    rejections.end()
    datelessSince = nil
  }

  mutating func fixRejected(_ reason: FixRejection, at now: BootInstant) -> Event? {
    guard reason != .duplicate else { return nil }
    if reason == .noDate {
      let since = datelessSince ?? now
      datelessSince = since
      // Until then it is normal.
      guard now - since >= FixFilter.dateDelay else { return nil }
    }
    return rejections.admit(reason.rawValue, at: now).map { .fixRejected(reason, suppressed: $0) }
  }

  /// A simulated position, from a simulated route or from a receiver that is a simulator (NMEA quality 8), is sent to a
  /// Fleet Engine on another machine, whose dispatchers see a vehicle that does not exist.
  mutating func simulated(sentTo endpoint: String) -> Event? {
    defer { isSimulationReported = true }
    return isSimulationReported ? nil : .simulatedSource(endpoint: endpoint)
  }

  // MARK: - Updates

  /// - Parameters:
  ///   - past: past positions in this update.
  ///   - pending: past positions still pending.
  mutating func updateAccepted(past: Int, pending: Int, at now: BootInstant) -> [Event] {
    outages.accepted(delivered: past, pending: pending, at: now)
  }

  mutating func updateFailed(_ failure: UpdateFailure, at now: BootInstant) -> Event? {
    outages.failed(failure, at: now)
  }

  mutating func backfillRejected(_ failure: UpdateFailure, at now: BootInstant) -> Event? {
    backfillRejections.admit(failure.category.rawValue, at: now).map { .backfillRefused(failure, suppressed: $0) }
  }

  // MARK: - Tokens

  /// - Parameter left: the remaining lifetime of the current token; nil without one.
  mutating func tokenFailed(_ failure: TokenFailure, left: Duration?, at now: BootInstant) -> Event? {
    tokenFailures.admit(failure.reason.name, at: now).map { .tokenFailed(failure, left: left, suppressed: $0) }
  }

  /// - Parameter lines: what a token program wrote to standard error.
  mutating func tokenRemarks(_ lines: [ExternalText], at now: BootInstant) -> [Event] {
    tokenRemarks.admit("", at: now) == nil ? [] : lines.map { .tokenRemark($0) }
  }

  mutating func tokenObtained() {
    tokenFailures.end()
  }

  // MARK: - The backlog

  mutating func backlogRestored(_ count: Int) -> Event {
    outages.markBacklogAnnounced()
    return .backlogRestored(count)
  }

  /// - Parameter interpolationError: of the thinned track, in metres.
  mutating func removed(
    _ count: Int, _ reason: Backlog.Removal, interpolationError: Double, at now: BootInstant
  ) -> Event? {
    guard reason != .delivered else { return nil }
    return removals.admit(reason.rawValue, at: now).map {
      .positionsDropped(count, reason, interpolationError: interpolationError, suppressed: $0)
    }
  }

  /// - Parameter count: positions in the backlog.
  mutating func storeChanged(
    from old: BacklogStoreState, to new: BacklogStoreState, count: Int, at now: BootInstant
  ) -> Event? {
    switch (old, new) {
    case (_, .memoryOnly(let why)):
      let suppressed = storeFailures.admit(why, at: now)
      isStoreFailureReported = suppressed != nil || isStoreFailureReported
      return suppressed.map { .backlogInMemory(why, suppressed: $0) }
    case (.memoryOnly, .healthy):
      // On a disk that is almost full every other commit may fail.
      defer { isStoreFailureReported = false }
      return isStoreFailureReported ? .backlogOnDisk(count: count) : nil
    default: return nil
    }
  }

  // MARK: - Network and clock

  /// - Parameter links: the names of the links in use.
  mutating func networkChanged(_ change: NetworkGate.Change, links: [String], at now: BootInstant) -> Event? {
    switch change {
    case .none, .pathChanged: return nil
    case .lost:
      let suppressed = networkLosses.admit("network", at: now)
      isNetworkLossReported = suppressed != nil
      return suppressed.map { .networkLost(suppressed: $0) }
    case .back(let time):
      // The return of a flapping interface is reported as rarely as its loss.
      return isNetworkLossReported ? .networkBack(links, after: time) : nil
    }
  }

  mutating func clockStepped(_ step: Duration, at now: BootInstant) -> Event? {
    if let last = clockStep, now - last.reportedAt < EventRateLimiter.clockStepPeriod {
      clockStep?.suppressed += 1
      return nil
    }
    defer { clockStep = (now, 0) }
    return .clockStepped(step, suppressed: clockStep?.suppressed ?? 0)
  }

  /// - Parameter offset: the correction of the receiver's timestamps.
  mutating func receiverClock(_ offset: Duration, at now: BootInstant) -> Event? {
    guard offset != receiverClockOffset else { return nil }
    receiverClockOffset = offset
    // The end of a correction is only reported if the correction was.
    if offset == .zero {
      defer { isReceiverClockReported = false }
      return isReceiverClockReported ? .receiverClock(.zero, suppressed: 0) : nil
    }
    let suppressed = receiverClocks.admit("offset", at: now)
    isReceiverClockReported = suppressed != nil || isReceiverClockReported
    return suppressed.map { .receiverClock(offset, suppressed: $0) }
  }

  // MARK: - Pause and settings

  /// After the pause a failure is a new outage.
  mutating func paused() {
    outages.forgetOutage()
    offlineFailures.end()
  }

  mutating func offlineFailed(_ failure: UpdateFailure, at now: BootInstant) -> Event? {
    offlineFailures.admit(failure.category.rawValue, at: now).map { .stateOfflineFailed(failure, suppressed: $0) }
  }

  /// - Parameter after: the time since the pause began, or the driver went off duty; nil if unknown, or if neither is
  ///   the case.
  mutating func wentOffline(after: Duration?) -> Event {
    offlineFailures.end()
    return .stateOffline(after: after)
  }

  /// Problems of new settings are reported at once.
  mutating func configured(isOtherVehicle: Bool) {
    if isOtherVehicle { outages = OutageReporter() }
    outages.settingsChanged()
    isSimulationReported = false
    tokenFailures.end()
    tokenRemarks.end()
    sourceLosses.end()
    unreportedLosses = []
    sourceNames.end()
    sourceChoices.end()
  }
}
