// SPDX-License-Identifier: Apache-2.0
package import Timekeeping

/// Decides which of several sources is used. All of them are read all the time; the fixes of one count.
///
/// The one that is preferred most among those with good fixes is used: at the start each has its silence timeout to come up
/// with one, unless it is lost before. It is left when it is lost, ends, or gives no good fix for its silence timeout. One that
/// is preferred takes back after it has been good for a while, which doubles each time it fails soon after.
///
/// Good is what a filter believes that sees the fixes of this source alone: a receiver that is frozen, or whose date is
/// wrong, is no better than one that is silent.
package struct SourceSelector: Sendable {
  package struct Candidate: Equatable, Sendable {
    /// Tells it from the others, for messages.
    package var label: String
    /// Without a good fix for so long it is not good any more.
    package var silenceTimeout: Duration

    package init(label: String, silenceTimeout: Duration) {
      self.label = label
      self.silenceTimeout = silenceTimeout
    }
  }

  package enum Report: Sendable {
    case fix(Fix)
    /// It is being read; the text names it.
    case reading(String)
    /// Not to be had for now; the text says why and what to do.
    case lost(String)
    /// There will be no more fixes.
    case ended
  }

  package enum Input: Sendable {
    case report(Report, from: Int)
    /// `nextDeadline` has come.
    case deadline
  }

  package enum Effect: Equatable, Sendable {
    case use(Fix)
    /// `overview` is another.
    case changed
    /// Every source has ended.
    case ended
  }

  /// How long a preferred source must be good before it takes back, at first and at most.
  package static let firstTrial = Duration.seconds(10)
  package static let longestTrial = Duration.seconds(300)
  /// Who is used for less than this before it fails has failed soon.
  package static let probation = Duration.seconds(60)

  private var entries: [SourceStanding]
  private var used: Int?
  private var reason = SourceOverview.Reason.best

  /// - Parameters:
  ///   - candidates: in the order of preference; one or more.
  ///   - filter: what a good fix is.
  package init(_ candidates: [Candidate], filter: FixFilter.Configuration, at now: BootInstant) {
    entries = candidates.map { SourceStanding($0, filter: filter, at: now) }
  }

  package var overview: SourceOverview {
    SourceOverview(sources: entries.map(\.overview), used: used, reason: reason)
  }

  /// When to hand over `deadline`; nil while nothing is waited for.
  package var nextDeadline: BootInstant? {
    // One source has nobody to give way to.
    guard entries.count > 1 else { return nil }
    return entries.compactMap { entry in
      switch entry.condition {
      case .good: entry.silentAt
      // A chance is only looked at while somebody waits for it.
      case .waiting, .searching: used == nil && !entry.isChanceOver ? entry.chanceUntil : nil
      case .lost, .ended: nil
      }
    }.min()
  }

  package mutating func handle(_ input: Input, at now: Moment) -> [Effect] {
    let before = overview
    var effects = [Effect]()
    var fix: (Fix, index: Int, isGood: Bool)?
    if case .report(let report, let index) = input, entries.indices.contains(index) {
      switch report {
      case .fix(let new): fix = (new, index, take(new, from: index, at: now))
      case .reading(let name): entries[index].read(as: name)
      case .lost(let why): entries[index].lose(.lost(why))
      case .ended: entries[index].lose(.ended)
      }
    }
    if entries.count > 1 {
      for index in entries.indices { entries[index].expire(at: now.boot) }
    }
    elect(at: now.boot)
    if overview != before { effects.append(.changed) }
    // What is refused is told as well, so that a person learns why there is no position.
    if let (fix, index, isGood) = fix, used == index || (used == nil && !isGood && index == firstAlive) {
      effects.append(.use(fix))
    }
    if case .report(.ended, _) = input, entries.allSatisfy({ $0.condition == .ended }) { effects.append(.ended) }
    return effects
  }

  /// Takes another list. What is known of the sources that stay is kept.
  ///
  /// - Parameter candidates: each with the index that it had, or nil when it is new.
  package mutating func replace(
    by candidates: [(candidate: Candidate, before: Int?)], filter: FixFilter.Configuration, at now: BootInstant
  ) {
    let old = entries
    let wasUsed = used
    used = nil
    entries = []
    for (candidate, before) in candidates {
      if let before, old.indices.contains(before) {
        var entry = old[before]
        entry.filter.configure(filter)
        if before == wasUsed { used = entries.count }
        entries.append(entry)
      } else {
        entries.append(SourceStanding(candidate, filter: filter, at: now))
      }
    }
    elect(at: now)
  }

  // MARK: - Who is used

  private var firstAlive: Int? {
    entries.firstIndex { entry in
      switch entry.condition {
      case .waiting, .searching, .good: true
      case .lost, .ended: false
      }
    }
  }

  private mutating func take(_ fix: Fix, from index: Int, at now: Moment) -> Bool {
    guard entries.count > 1 else {
      // Alone, it is used whatever it says; the filter of the whole has the only word.
      entries[index].condition = .good
      return true
    }
    return entries[index].judge(fix, at: now)
  }

  private mutating func elect(at now: BootInstant) {
    if let used {
      if entries[used].condition == .good {
        let better = entries.prefix(used).firstIndex { $0.condition == .good && $0.goodFor >= $0.trial }
        if let better { use(better, .takenBack(after: entries[better].goodFor), at: now) }
        return
      }
      entries[used].fail(at: now)
      self.used = nil
    }
    for index in entries.indices {
      switch entries[index].condition {
      case .good: return use(index, .best, at: now)
      case .waiting, .searching: if !entries[index].isChanceOver { return }
      case .lost, .ended: break
      }
    }
  }

  private mutating func use(_ index: Int, _ reason: SourceOverview.Reason, at now: BootInstant) {
    used = index
    self.reason = reason
    entries[index].usedSince = now
  }
}
