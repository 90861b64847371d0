// SPDX-License-Identifier: Apache-2.0
package import FixSources
package import Positioning
package import Timekeeping

/// Filters the fixes of every source, selects the source to use, and makes sure that its fixes are newer than what was
/// reported.
///
/// Each source has its own filter; a source whose fixes are all rejected counts as silent. A single source is always
/// used. Of several, the one with the highest priority among those with accepted fixes is used: at the start each has
/// its silence timeout to report one, unless it is lost before. The used source is replaced if it is lost, ends, or has
/// no accepted fix for its silence timeout. A source of higher priority regains control after a hold-down, which
/// doubles on each early failure.
///
/// The clocks of two receivers may differ, and Fleet Engine must never see a vehicle go back in time. So an accepted
/// fix is passed on if its timestamp is after the last reported position; until a source whose clock is behind has
/// caught up, its fixes are held. If the clocks differ by more than `FixFilter.Configuration.maxAge`, fixes are
/// not held for that long: after five consecutive fixes the new clock is accepted.
package struct SourceSelector: Sendable {
  /// A configured source.
  package struct ConfiguredSource: Equatable, Sendable {
    /// Its ID, stable as long as its settings are the same.
    package var id: Int
    /// Its name until it is read.
    package var label: String
    /// Without an accepted fix for this long it counts as failed.
    package var silenceTimeout: Duration
    /// Whether it waits for `VehicleAgent.Effect.readyForNextFix` after each fix.
    package var waitsAfterFix: Bool
    /// For `FixFilter.Configuration.pace`.
    package var pace: Double
    /// Whether it is left unread while no fix is needed (`VehicleAgent.Effect.needFixes`).
    package var isPausable: Bool

    package init(
      id: Int, label: String, silenceTimeout: Duration, waitsAfterFix: Bool = false, pace: Double = 1,
      isPausable: Bool = false
    ) {
      self.id = id
      self.label = label
      self.silenceTimeout = silenceTimeout
      self.waitsAfterFix = waitsAfterFix
      self.pace = pace
      self.isPausable = isPausable
    }
  }

  /// What happened to the sources.
  package enum Input: Sendable {
    /// A report of the source with this ID. Ignored if it is not in the list.
    case report(SourceReport, from: Int)
    /// A position of this time was sent or enqueued.
    case reported(Timestamp)
    /// New sources in order of priority. Sources that remain keep their state.
    case replaced([ConfiguredSource])
    case configured(FixFilter.Configuration)
    /// Whether fixes are needed, as in `VehicleAgent.Effect.needFixes`.
    case needed(Bool)
    /// The machine was suspended for this long, and has resumed.
    case resumed(after: Duration)
    /// The time bounds of servers; nil if unknown.
    case time(TimeBounds?)
    /// `nextDeadline` has passed.
    case deadline
  }

  /// What follows for the vehicle's agent.
  package enum Effect: Equatable, Sendable {
    /// The next position of the vehicle.
    ///
    /// - invalidatesLater: whether either this timestamp or the queued ones after it are wrong: the filter of this
    ///   source has corrected them, or the clock of another source differs.
    case accepted(FixFilter.Accepted, invalidatesLater: Bool)
    /// Its filter accepted the fix, but it is held.
    case held(FixFilter.Accepted, SourceOverview.Hold)
    /// The filter of the used source, or of the first one if none is used, rejected the fix.
    case rejected(Fix, FixRejection)
    /// `overview` has changed from this one.
    case changed(from: SourceOverview)
    /// Every source has ended.
    case ended
  }

  /// The initial hold-down: how long a source of higher priority must be good before failback.
  package static let initialHoldDown = Duration.seconds(10)
  /// The maximum hold-down.
  package static let maximumHoldDown = Duration.seconds(300)
  /// A source that fails within this time after it was selected, or within its hold-down if that is longer, has failed
  /// early.
  package static let probation = Duration.seconds(60)
  /// A clock that differs by more than `maxAge` is accepted only after consecutive fixes over at least this time.
  private static let agreementTime = Duration.seconds(3)

  private var entries: [SourceState] = []
  private var limits: FixFilter.Configuration
  private var timeBounds: TimeBounds?
  /// When fixes ceased to be needed; nil while they are needed.
  private var unneededSince: BootInstant?
  private var used: Int?
  private var reason = SourceOverview.Reason.best
  /// The source of the last fix that was passed on, and its clock; the source is nil if it was removed.
  private var lastSource: Int?
  private var clockOffset: Duration?
  /// Timestamp of the newest position that was sent or enqueued; nil after it was corrected.
  private var lastReportedTime: Timestamp?
  private var hold: SourceOverview.Hold?
  /// Consecutive fixes of a clock that differs by more than `maxAge`.
  private var contradiction: (since: BootInstant, count: Int)?
  /// Sources that wait for `readyForNextFix`.
  private var waitingIDs: [Int] = []
  /// The overview after the last input.
  package private(set) var overview = SourceOverview(sources: [])

  /// - Parameter filter: the filter's settings. There are no sources yet.
  package init(filter: FixFilter.Configuration) {
    limits = filter
  }

  /// When to handle `deadline`; nil if there is none.
  package var nextDeadline: BootInstant? {
    // A single source cannot be replaced.
    guard entries.count > 1 else { return nil }
    var earliest: BootInstant?
    for index in entries.indices where !isUnread(entries[index]) {
      switch entries[index].condition {
      case .good: earliest = .earliest(earliest, entries[index].silenceDeadline)
      // The start deadline only matters while no source is used.
      case .waiting, .searching:
        guard used == nil, !entries[index].isStartPhaseOver else { break }
        earliest = .earliest(earliest, entries[index].startDeadline)
      case .lost, .ended: break
      }
    }
    return earliest
  }

  /// Handles an input, and returns the effects in order.
  package mutating func handle(_ input: Input, at now: Moment) -> [Effect] {
    var result: (Result<FixFilter.Accepted, FixRejection>, Fix, index: Int)?
    var hasEnded = false
    switch input {
    case .report(let report, let id):
      guard let index = entries.firstIndex(where: { $0.source.id == id }) else { break }
      switch report {
      case .fix(let fix):
        if entries[index].source.waitsAfterFix { waitingIDs.append(id) }
        let otherOffset = lastSource == index ? nil : clockOffset
        let otherTime = otherOffset.map { SourceState.time(at: now.boot, offset: $0) }
        result = (entries[index].evaluate(fix, at: now, otherTime: otherTime), fix, index)
      case .reading(let name): entries[index].startReading(as: name)
      case .detecting(let what): entries[index].unreadableData = what
      case .sky(let count): entries[index].satellitesInView = count
      case .lost(let why):
        entries[index].condition = .lost(why)
        entries[index].satellitesInView = nil
      case .ended:
        entries[index].condition = .ended
        hasEnded = entries.allSatisfy { $0.condition == .ended }
      }
    case .reported(let time):
      // This changes no source.
      lastReportedTime = max(lastReportedTime ?? time, time)
      return []
    case .replaced(let configured): replaceSources(with: configured, at: now.boot)
    case .configured(let filter):
      limits = filter
      for index in entries.indices { entries[index].configure(filter) }
    case .needed(let isNeeded):
      if isNeeded, let since = unneededSince {
        for index in entries.indices where entries[index].source.isPausable {
          entries[index].noteUnread(since: since, at: now.boot)
        }
      }
      unneededSince = isNeeded ? nil : unneededSince ?? now.boot
    case .resumed(let time):
      for index in entries.indices { entries[index].skipSilence(since: now.boot - time, at: now.boot) }
    case .time(let bounds):
      timeBounds = bounds
      for index in entries.indices { entries[index].filter.setTimeBounds(bounds) }
    case .deadline: break
    }
    if entries.count > 1 {
      for index in entries.indices where !isUnread(entries[index]) { entries[index].expire(at: now.boot) }
    }
    selectSource(at: now.boot)
    var effects = [Effect]()
    if let (result, fix, index) = result {
      switch result {
      case .success(let accepted):
        if index == used { effects.append(enforceOrder(accepted, from: index, at: now.boot)) }
      // Rejections are reported as well, so that users learn why there is no position.
      case .failure(let rejection):
        if index == used ?? firstAlive ?? index { effects.append(.rejected(fix, rejection)) }
      }
    }
    let before = overview
    overview = SourceOverview(
      sources: entries.map { entry in
        var source = entry.overview
        source.isUnread = isUnread(entry)
        return source
      }, used: used, reason: reason, hold: hold)
    if overview != before { effects.insert(.changed(from: before), at: 0) }
    if hasEnded { effects.append(.ended) }
    return effects
  }

  private func isUnread(_ entry: SourceState) -> Bool { unneededSince != nil && entry.source.isPausable }

  private mutating func replaceSources(with configured: [ConfiguredSource], at now: BootInstant) {
    let old = entries
    let (usedID, lastSourceID) = (used.map { old[$0].source.id }, lastSource.map { old[$0].source.id })
    entries = configured.map { source in
      guard var entry = old.first(where: { $0.source.id == source.id }) else {
        var entry = SourceState(source, filter: limits, at: now)
        entry.filter.setTimeBounds(timeBounds)
        return entry
      }
      entry.source = source
      return entry
    }
    used = configured.firstIndex { $0.id == usedID }
    lastSource = configured.firstIndex { $0.id == lastSourceID }
    if used == nil { hold = nil }
  }

  // MARK: - Order of timestamps

  /// The effect of an accepted fix of the used source.
  private mutating func enforceOrder(_ accepted: FixFilter.Accepted, from index: Int, at now: BootInstant) -> Effect {
    var invalidatesLater = false
    if lastSource == index {
      invalidatesLater = entries[index].isOverruling
    } else if let found = holdReason(of: accepted.time, by: entries[index]) {
      guard hasAgreed(found, at: now) else {
        hold = found
        return .held(accepted, found)
      }
      invalidatesLater = lastReportedTime.map { accepted.time <= $0 } ?? false
    }
    if invalidatesLater { lastReportedTime = nil }
    lastSource = index
    clockOffset = entries[index].clockOffset
    hold = nil
    contradiction = nil
    return .accepted(accepted, invalidatesLater: invalidatesLater)
  }

  /// Why a fix with this timestamp, from a different source than the last fix, is held; nil if it is not.
  private func holdReason(of time: Timestamp, by entry: SourceState) -> SourceOverview.Hold? {
    guard let lastReportedTime, let clockOffset else { return nil }
    // Timestamps of recordings are unrelated to elapsed time.
    let offset = limits.usesRecordedTimes ? min(time - lastReportedTime, .zero) : entry.clockOffset - clockOffset
    if offset > limits.maxAge || .zero - offset > limits.maxAge { return .contradicted(offset: offset) }
    return time <= lastReportedTime ? .behind(by: lastReportedTime - time) : nil
  }

  /// Why a fix that arrived now would be held. Its timestamp is extrapolated from the last one of its source.
  private func expectedHold(of entry: SourceState, at now: BootInstant) -> SourceOverview.Hold? {
    let time = limits.usesRecordedTimes ? entry.newestTime : entry.time(at: now)
    let hold = time.flatMap { holdReason(of: $0, by: entry) }
    return hold == .behind(by: .zero) ? nil : hold
  }

  /// Whether enough consecutive fixes have confirmed another clock.
  private mutating func hasAgreed(_ reason: SourceOverview.Hold, at now: BootInstant) -> Bool {
    guard case .contradicted = reason else {
      contradiction = nil
      return false
    }
    let count = (contradiction?.count ?? 0) + 1
    let since = contradiction?.since ?? now
    contradiction = (since, count)
    return count >= FixFilter.agreementCount
      && (limits.usesRecordedTimes || now - since >= SourceSelector.agreementTime)
  }

  /// Whether a source waits for `VehicleAgent.Effect.readyForNextFix`.
  package var hasWaitingSource: Bool { !waitingIDs.isEmpty }

  /// - Returns: the IDs of the sources that wait; they may report their next fix.
  package mutating func release() -> [Int] {
    defer { waitingIDs = [] }
    return waitingIDs
  }

  // MARK: - Selection

  private var firstAlive: Int? {
    entries.firstIndex { entry in
      switch entry.condition {
      case .waiting, .searching, .good: true
      case .lost, .ended: false
      }
    }
  }

  private mutating func selectSource(at now: BootInstant) {
    if let used {
      if entries[used].condition == .good {
        let better = entries.prefix(used).firstIndex { $0.condition == .good && $0.goodDuration >= $0.holdDown }
        if let better { use(better, .failback(after: entries[better].goodDuration), at: now) }
        return
      }
      entries[used].fail(at: now)
      self.used = nil
      hold = nil
    }
    for index in entries.indices {
      switch entries[index].condition {
      case .good: return use(index, .best, at: now)
      case .waiting, .searching: if !entries[index].isStartPhaseOver { return }
      case .lost, .ended: break
      }
    }
  }

  private mutating func use(_ index: Int, _ reason: SourceOverview.Reason, at now: BootInstant) {
    used = index
    self.reason = reason
    entries[index].usedSince = now
    contradiction = nil
    hold = lastSource == index ? nil : expectedHold(of: entries[index], at: now)
  }
}
