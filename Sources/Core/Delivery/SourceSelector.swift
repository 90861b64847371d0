// SPDX-License-Identifier: Apache-2.0
package import Positioning
package import Timekeeping

/// Judges the fixes of every source, decides which source is used, and which of its fixes are newer than what was reported.
///
/// Each source has a filter of its own, which judges each of its fixes once: a receiver that is frozen, or whose date is
/// wrong, is no better than one that is silent. One source alone is used whatever it says. Of several, the highest priority
/// among those with accepted fixes is used: at the start each has its silence timeout to come up with one, unless it is lost
/// before. The used source is left when it is lost, ends, or gives no accepted fix for its silence timeout. A source of
/// higher priority regains control after a hold-down, which doubles each time it fails soon after.
///
/// The clocks of two receivers may differ, and Fleet Engine must never see a vehicle go back in time. So an accepted fix is
/// handed on when its time is after the last position that was reported; until a source whose clock lags has caught up, its
/// fixes are held. A source whose clock differs by more than `FixFilter.Configuration.maxAge` is not waited for: five fixes
/// in a row show that it means what it says, and its time counts from then on.
package struct SourceSelector: Sendable {
  /// A source that is set, before anything is known of it.
  package struct Candidate: Equatable, Sendable {
    /// Distinguishes it from the others, for as long as its settings stay the same.
    package var id: Int
    /// Its name until it is read.
    package var label: String
    /// Without an accepted fix for this duration it counts as failed.
    package var silenceTimeout: Duration
    /// Whether it gives each fix after the first only on `VehicleAgent.Effect.readyForNextFix`.
    package var waits: Bool

    package init(id: Int, label: String, silenceTimeout: Duration, waits: Bool = false) {
      self.id = id
      self.label = label
      self.silenceTimeout = silenceTimeout
      self.waits = waits
    }
  }

  /// What happens to the sources.
  package enum Input: Sendable {
    /// The source of this ID reports. One that is not in the list changes nothing.
    case report(SourceReport, from: Int)
    /// A position of this time was sent or enqueued.
    case reported(Timestamp)
    /// Other sources, in the order of priority. What is known of those that stay is kept.
    case replaced([Candidate])
    case configured(FixFilter.Configuration)
    /// What time it is by those who know better than receivers; nil when there is none.
    case time(TimeBounds?)
    /// `nextDeadline` has come.
    case deadline
  }

  /// What follows for the vehicle's agent.
  package enum Effect: Equatable, Sendable {
    /// The next position of the vehicle.
    ///
    /// - overrules: stamps after this one were wrong: of the same source, whose filter has overruled them, or of another one.
    case accepted(FixFilter.Accepted, overrules: Bool)
    /// Its own filter accepts the fix, and it must wait.
    case held(FixFilter.Accepted, SourceOverview.Hold)
    /// The filter of the used source, or of the first that may yet be used, rejects the fix.
    case rejected(Fix, FixRejection)
    /// `overview` has changed from this one.
    case changed(from: SourceOverview)
    /// Every source has ended.
    case ended
  }

  /// How long a source of higher priority must be good before it regains control, at first and at most.
  package static let firstHoldDown = Duration.seconds(10)
  /// The wait before a preferred source takes over again never grows past this.
  package static let longestHoldDown = Duration.seconds(300)
  /// A source that is used for less than this before it fails has failed soon.
  package static let probation = Duration.seconds(60)
  /// For how long the fixes of a clock that differs by more than `maxAge` must follow each other before it counts.
  private static let agreementTime = Duration.seconds(3)

  private var entries: [SourceStanding] = []
  private var filter: FixFilter.Configuration
  private var timeBounds: TimeBounds?
  private var used: Int?
  private var reason = SourceOverview.Reason.best
  /// The source whose fix was handed on last, and its clock; the source is nil when it is not in the list any more.
  private var speaker: Int?
  private var clock: Duration?
  /// Time of the newest position that was sent or enqueued; nil after its stamp was overruled.
  private var reported: Timestamp?
  private var hold: SourceOverview.Hold?
  /// Fixes in a row of a clock that differs by more than `maxAge`.
  private var dispute: (since: BootInstant, count: Int)?
  /// Sources that have given a fix and give no other until they are released.
  private var waiting: [Int] = []
  /// As it was after the last input.
  package private(set) var overview = SourceOverview(sources: [])

  /// - Parameter filter: which fixes are accepted. There are no sources yet.
  package init(filter: FixFilter.Configuration) {
    self.filter = filter
  }

  /// When to hand over `deadline`; nil while nothing is waited for.
  package var nextDeadline: BootInstant? {
    // There is nothing that could replace a single source.
    guard entries.count > 1 else { return nil }
    return entries.compactMap { entry in
      switch entry.condition {
      case .good: entry.silentAt
      // The start-up deadline matters only while no source is used.
      case .waiting, .searching: used == nil && !entry.isStartOver ? entry.startsUntil : nil
      case .lost, .ended: nil
      }
    }.min()
  }

  /// Takes what happened, and returns what follows, in this order.
  package mutating func handle(_ input: Input, at now: Moment) -> [Effect] {
    var verdict: (Result<FixFilter.Accepted, FixRejection>, Fix, index: Int)?
    var hasEnded = false
    switch input {
    case .report(let report, let id):
      guard let index = entries.firstIndex(where: { $0.candidate.id == id }) else { break }
      switch report {
      case .fix(let fix):
        if entries[index].candidate.waits { waiting.append(id) }
        verdict = (entries[index].judge(fix, at: now), fix, index)
      case .reading(let name): entries[index].read(as: name)
      case .sky(let count): entries[index].satellitesInView = count
      case .lost(let why):
        entries[index].condition = .lost(why)
        entries[index].satellitesInView = nil
      case .ended:
        entries[index].condition = .ended
        hasEnded = entries.allSatisfy { $0.condition == .ended }
      }
    case .reported(let time):
      // It says nothing of a source.
      reported = max(reported ?? time, time)
      return []
    case .replaced(let candidates): replace(by: candidates, at: now.boot)
    case .configured(let filter):
      self.filter = filter
      for index in entries.indices { entries[index].filter.configure(filter) }
    case .time(let bounds):
      timeBounds = bounds
      for index in entries.indices { entries[index].filter.trust(bounds) }
    case .deadline: break
    }
    if entries.count > 1 {
      for index in entries.indices { entries[index].expire(at: now.boot) }
    }
    elect(at: now.boot)
    var effects = [Effect]()
    if let (result, fix, index) = verdict {
      switch result {
      case .success(let accepted): if index == used { effects.append(order(accepted, from: index, at: now.boot)) }
      // What is rejected is reported as well, so that a person learns why there is no position.
      case .failure(let rejection):
        if index == used ?? firstAlive ?? index { effects.append(.rejected(fix, rejection)) }
      }
    }
    let before = overview
    overview = SourceOverview(sources: entries.map(\.overview), used: used, reason: reason, hold: hold)
    if overview != before { effects.insert(.changed(from: before), at: 0) }
    if hasEnded { effects.append(.ended) }
    return effects
  }

  private mutating func replace(by candidates: [Candidate], at now: BootInstant) {
    let old = entries
    let (usedID, speakerID) = (used.map { old[$0].candidate.id }, speaker.map { old[$0].candidate.id })
    entries = candidates.map { candidate in
      guard var entry = old.first(where: { $0.candidate.id == candidate.id }) else {
        var entry = SourceStanding(candidate, filter: filter, at: now)
        entry.filter.trust(timeBounds)
        return entry
      }
      entry.candidate = candidate
      return entry
    }
    used = candidates.firstIndex { $0.id == usedID }
    speaker = candidates.firstIndex { $0.id == speakerID }
    if used == nil { hold = nil }
  }

  // MARK: - The order of positions

  /// What becomes of a fix of the used source that its own filter accepts.
  private mutating func order(_ accepted: FixFilter.Accepted, from index: Int, at now: BootInstant) -> Effect {
    var overrules = false
    if speaker == index {
      overrules = entries[index].isOverruling
    } else if let found = holdReason(of: accepted.time, by: entries[index]) {
      guard hasAgreed(found, at: now) else {
        hold = found
        return .held(accepted, found)
      }
      overrules = reported.map { accepted.time <= $0 } ?? false
    }
    if overrules { reported = nil }
    speaker = index
    clock = entries[index].clock
    hold = nil
    dispute = nil
    return .accepted(accepted, overrules: overrules)
  }

  /// Why a fix of this time must wait, which is of another source than the last one; nil when it need not.
  private func holdReason(of time: Timestamp, by entry: SourceStanding) -> SourceOverview.Hold? {
    guard let reported, let clock else { return nil }
    // The times of recordings have nothing to do with elapsed time.
    let offset = filter.keepsTimes ? min(time - reported, .zero) : entry.clock - clock
    if offset > filter.maxAge || .zero - offset > filter.maxAge { return .disputed(offset: offset) }
    return time <= reported ? .behind(by: reported - time) : nil
  }

  /// Why a fix that came now would have to wait. Its last one may be as old as its period: what counts is its clock.
  private func expectedHold(of entry: SourceStanding, at now: BootInstant) -> SourceOverview.Hold? {
    let time = filter.keepsTimes ? entry.newest : entry.time(at: now)
    let hold = time.flatMap { holdReason(of: $0, by: entry) }
    return hold == .behind(by: .zero) ? nil : hold
  }

  /// Whether fixes of another clock have followed each other for long enough to overrule what was reported.
  private mutating func hasAgreed(_ reason: SourceOverview.Hold, at now: BootInstant) -> Bool {
    guard case .disputed = reason else {
      dispute = nil
      return false
    }
    let count = (dispute?.count ?? 0) + 1
    let since = dispute?.since ?? now
    dispute = (since, count)
    return count >= FixFilter.agreement && (filter.keepsTimes || now - since >= SourceSelector.agreementTime)
  }

  /// Whether a source waits for `VehicleAgent.Effect.readyForNextFix`.
  package var hasWaiting: Bool { !waiting.isEmpty }

  /// - Returns: the IDs of the sources that wait; they may give their next fix.
  package mutating func release() -> [Int] {
    defer { waiting = [] }
    return waiting
  }

  // MARK: - Which source is used

  private var firstAlive: Int? {
    entries.firstIndex { entry in
      switch entry.condition {
      case .waiting, .searching, .good: true
      case .lost, .ended: false
      }
    }
  }

  private mutating func elect(at now: BootInstant) {
    if let used {
      if entries[used].condition == .good {
        let better = entries.prefix(used).firstIndex { $0.condition == .good && $0.goodFor >= $0.holdDown }
        if let better { use(better, .takenBack(after: entries[better].goodFor), at: now) }
        return
      }
      entries[used].fail(at: now)
      self.used = nil
      hold = nil
    }
    for index in entries.indices {
      switch entries[index].condition {
      case .good: return use(index, .best, at: now)
      case .waiting, .searching: if !entries[index].isStartOver { return }
      case .lost, .ended: break
      }
    }
  }

  private mutating func use(_ index: Int, _ reason: SourceOverview.Reason, at now: BootInstant) {
    used = index
    self.reason = reason
    entries[index].usedSince = now
    dispute = nil
    hold = speaker == index ? nil : expectedHold(of: entries[index], at: now)
  }
}
