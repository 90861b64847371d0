// SPDX-License-Identifier: Apache-2.0
package import Timekeeping

/// Judges what time it is, from all witnesses with their worth, and says when this machine's clock is wrong.
///
/// Each witness is carried on by elapsed time, so that a step of the clock is seen at once, and a sleep changes nothing. No
/// witness outvotes two others of the same worth. A time that contradicts what the same witness has confirmed (said twice, or
/// another has agreed with) is accepted when the witness repeats it or another one agrees; until then the earlier time counts less.
package struct TimeJudge: Sendable {
  /// Who gives the time, the least trusted first: a receiver can be deceived from outside, a server is known by its
  /// certificate, and Fleet Engine's own clock is the one that tokens and positions are judged by.
  package enum Reference: Int, Comparable, Sendable, CaseIterable {
    case gnss
    case tokenProvider
    case fleetEngine

    /// Whether `left` is trusted less.
    package static func < (left: Reference, right: Reference) -> Bool { left.rawValue < right.rawValue }

    var isServer: Bool { self != .gnss }
  }

  /// By how much the wall clock is wrong, and by which reference.
  package struct Error: Equatable, Sendable {
    /// More than zero when the machine's clock is ahead.
    package var offset: Duration
    /// The reference that it was compared with.
    package var reference: Reference

    /// - Parameter offset: more than zero when the machine's clock is ahead.
    package init(offset: Duration, reference: Reference) {
      self.offset = offset
      self.reference = reference
    }
  }

  /// What is new about the wall clock.
  package enum Verdict: Equatable, Sendable {
    /// It is wrong, or wrong by another amount.
    case wrong(Error)
    /// It was wrong, and is no more.
    case right
  }

  /// What time it is, and by which reference.
  package struct Judgement: Equatable, Sendable {
    /// Nil: by this machine's clock alone.
    package var reference: Reference?
    /// The time's bounds by that reference.
    package var bounds: TimeBounds
    /// Whether it has been the same for a while: of a receiver, as long as `steadyTime`.
    package var isSteady: Bool
    /// Whether it is more than a single word: the witness has said it twice, or another one has said the same.
    var isConfirmed: Bool
    /// When a single word that no other witness agrees with counts no more; nil: it is none.
    var lapsesAt: BootInstant?
    fileprivate var includesClock: Bool

    /// The same; nil when it is no server's.
    var serverBounds: TimeBounds? { reference?.isServer == true ? bounds : nil }
  }

  /// A `Date` is given in whole seconds and takes its time to arrive; less than this is no news.
  package static let tolerance = Duration.seconds(30)
  /// A word that is older than this does not count.
  private static let longestMemory = Duration.seconds(86_400)
  /// A single word that contradicts every other witness counts no longer than this.
  private static let loneMemory = Duration.seconds(60)
  /// Witnesses agree when their bounds miss each other by no more than this.
  static let slack = Duration.milliseconds(slackMilliseconds)
  private static let slackMilliseconds: Int64 = 3000
  /// A receiver's time that has kept step for this long counts twice.
  private static let steadyTime = Duration.seconds(5)
  /// How late a receiver reports a position at most.
  private static let longestReport = Duration.seconds(2)

  /// What one witness has said.
  private struct Word {
    var bounds: TimeBounds
    /// When the first of the words came that agree with each other, and when the last; how many.
    var since: BootInstant
    var at: BootInstant
    var count = 1
    /// Whether it took the place of other words of the same witness, which it contradicts.
    var isReversal = false
    /// Whether another witness has agreed with it.
    var isBorneOut = false

    var isConfirmed: Bool { count > 1 || isBorneOut }

    func agrees(with bounds: TimeBounds) -> Bool {
      self.bounds.agrees(with: bounds, withinMilliseconds: TimeJudge.slackMilliseconds)
    }

    mutating func confirm(_ bounds: TimeBounds, at now: BootInstant) {
      self.bounds.narrow(to: bounds)
      at = now
      count += 1
    }
  }

  private let buildDate: Timestamp
  /// By `Reference.rawValue`.
  private var words = [Word?](repeating: nil, count: Reference.allCases.count)
  /// Single words that contradict a confirmed one of the same witness. By `Reference.rawValue`.
  private var contradictions = [Word?](repeating: nil, count: Reference.allCases.count)
  /// What was last said to be wrong.
  private var reported: Error?
  /// The judgement of the last moment, of which an input asks several times.
  private var latest: (at: Moment, judgement: Judgement?)?

  /// - Parameter buildDate: a time before it is no time, nor is one 1024 weeks after it.
  package init(buildDate: Timestamp) {
    self.buildDate = buildDate
  }

  /// A witness gave the time. A time that cannot be counts for nothing.
  ///
  /// - Parameters:
  ///   - sentAt: when a server was asked; nil of a receiver.
  ///   - now: when the word arrived.
  package mutating func observe(
    _ reference: Reference, _ time: Timestamp, sentAt: BootInstant? = nil, at now: BootInstant
  ) {
    guard time.isPlausible(after: buildDate) else { return }
    latest = nil
    let bounds = TimeBounds(
      time, precision: reference.isServer ? .seconds(1) : TimeJudge.longestReport, since: sentAt ?? now, until: now)
    let supporters = Reference.allCases.filter { other in
      other != reference && word(of: other, at: now)?.agrees(with: bounds) == true
    }
    let index = reference.rawValue
    if words[index]?.agrees(with: bounds) == true {
      words[index]?.confirm(bounds, at: now)
      contradictions[index] = nil
    } else if var contradiction = contradictions[index], contradiction.agrees(with: bounds) {
      contradiction.confirm(bounds, at: now)
      (words[index], contradictions[index]) = (contradiction, nil)
    } else {
      let word = Word(bounds: bounds, since: now, at: now, isReversal: words[index] != nil)
      let isDoubtful = supporters.isEmpty && self.word(of: reference, at: now)?.isConfirmed == true
      if isDoubtful { contradictions[index] = word } else { (words[index], contradictions[index]) = (word, nil) }
    }
    guard contradictions[index] == nil else { return }
    for other in supporters {
      words[other.rawValue]?.isBorneOut = true
      words[index]?.isBorneOut = true
    }
  }

  /// Takes what a server has said in the previous run of the program, in the same boot.
  package mutating func restore(_ bounds: TimeBounds) {
    guard words[Reference.fleetEngine.rawValue] == nil, bounds.time(at: bounds.at).isPlausible(after: buildDate) else {
      return
    }
    latest = nil
    // Only a time that was confirmed is kept.
    words[Reference.fleetEngine.rawValue] = Word(bounds: bounds, since: bounds.at, at: bounds.at, isBorneOut: true)
  }

  // MARK: - The vote

  /// What time it is by the witnesses that outweigh the others; nil when there is none.
  package func judgement(at now: Moment) -> Judgement? {
    if let latest, latest.at == now { latest.judgement } else { vote(at: now) }
  }

  /// The same, remembered for this moment, as long as no witness gives another time.
  @discardableResult
  package mutating func judge(at now: Moment) -> Judgement? {
    let judgement = judgement(at: now)
    latest = (now, judgement)
    return judgement
  }

  private func vote(at now: Moment) -> Judgement? {
    var best: (judgement: Judgement, worth: Int, count: Int)?
    let clock =
      now.wall.isPlausible(after: buildDate)
      ? TimeBounds(now.wall, precision: .zero, since: now.boot, until: now.boot) : nil
    for reference in Reference.allCases.reversed() {
      guard let word = word(of: reference, at: now.boot) else { continue }
      var (worth, count) = (worth(of: word, by: reference), 1)
      for other in Reference.allCases where other != reference {
        guard let supporter = self.word(of: other, at: now.boot), word.agrees(with: supporter.bounds) else { continue }
        worth += self.worth(of: supporter, by: other)
        count += 1
      }
      let includesClock = clock.map { word.agrees(with: $0) } ?? false
      if includesClock { (worth, count) = (worth + 1, count + 1) }
      // A lie that only the liar has told once must not last.
      let isLone = count == 1 && word.count == 1 && !word.isBorneOut
      let lapsesAt = isLone ? word.at + TimeJudge.loneMemory : nil
      if let lapsesAt, now.boot >= lapsesAt { worth = 0 }
      guard best.map({ (worth, count) > ($0.worth, $0.count) }) ?? true else { continue }
      let judgement = Judgement(
        reference: reference, bounds: word.bounds,
        isSteady: reference.isServer || word.at - word.since >= TimeJudge.steadyTime,
        isConfirmed: word.isConfirmed, lapsesAt: lapsesAt, includesClock: includesClock)
      best = (judgement, worth, count)
    }
    if let best, best.worth > 0 { return best.judgement }
    guard let clock else { return best?.judgement }
    return Judgement(reference: nil, bounds: clock, isSteady: false, isConfirmed: false, includesClock: true)
  }

  private func word(of reference: Reference, at now: BootInstant) -> Word? {
    guard let word = words[reference.rawValue], now - word.at <= TimeJudge.longestMemory else { return nil }
    return word
  }

  private func worth(of word: Word, by reference: Reference) -> Int {
    // Who contradicts itself is not sure.
    if contradictions[reference.rawValue] != nil || (word.isReversal && word.count == 1) { return 1 }
    return switch reference {
    case .fleetEngine: word.count > 1 ? 4 : 2
    case .tokenProvider: 2
    case .gnss: word.at - word.since >= TimeJudge.steadyTime ? 2 : 1
    }
  }

  /// The time's bounds by the word of a server that is not outvoted: what a receiver's clock is held against. Nil when none
  /// has spoken.
  package func bounds(at now: Moment) -> TimeBounds? { judgement(at: now)?.serverBounds }

  /// What time it is by the best of those who gave it, other than this machine's clock; nil when there is none.
  package func time(at now: Moment) -> (Timestamp, Reference)? {
    guard let judgement = judgement(at: now), let reference = judgement.reference else { return nil }
    return (judgement.bounds.time(at: now.boot), reference)
  }

  // MARK: - The machine's clock

  /// By how much the clock is wrong; nil when it is not, or no witness can tell.
  package func error(at now: Moment) -> Error? { TimeJudge.error(judgement(at: now), at: now) }

  private static func error(_ judgement: Judgement?, at now: Moment) -> Error? {
    guard let judgement, let reference = judgement.reference, !judgement.includesClock else { return nil }
    let offset = now.wall - judgement.bounds.time(at: now.boot)
    let isWrong = offset >= TimeJudge.tolerance || offset <= .zero - TimeJudge.tolerance
    return isWrong ? Error(offset: offset, reference: reference) : nil
  }

  /// What is new: the clock turned out to be wrong, or by another size, or is right again.
  ///
  /// - Parameter judgement: that of this moment.
  package mutating func verdict(_ judgement: Judgement?, at now: Moment) -> Verdict? {
    guard let error = TimeJudge.error(judgement, at: now) else {
      guard reported != nil, judgement?.reference != nil else { return nil }
      reported = nil
      return .right
    }
    if let reported {
      let change = error.offset - reported.offset
      let size = max(error.offset, .zero - error.offset)
      guard max(change, .zero - change) > max(.seconds(60), size / 10) else { return nil }
    }
    reported = error
    return .wrong(error)
  }
}
