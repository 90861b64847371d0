// SPDX-License-Identifier: Apache-2.0
package import Timekeeping

/// Decides which fixes are accepted, and settles their time.
///
/// It compares a fix with the last accepted one and with elapsed time; the wall clock only gives a date to a receiver that
/// has none. It cannot latch on a wrong reference: fixes that are rejected for their time or place but agree with each other
/// and with elapsed time, `agreement` of them in a row, become the new reference.
package struct FixFilter: Sendable {
  /// What is asked of a fix.
  package struct Configuration: Equatable, Sendable {
    /// Metres. An unknown accuracy passes.
    package var maxAccuracy: Double
    /// Metres per second.
    package var maxSpeed: Double
    /// For receivers that state no accuracy, and fixes that do not continue those before.
    package var maxHDOP: Double
    /// Fewer are refused; 0 asks for none. An unknown number passes.
    package var minSatellites: Int
    /// A fix is refused whose time has fallen behind elapsed time by more than this since the reference.
    package var maxAge: Duration
    /// A date before it is a receiver's week rollover, and is moved forward by whole 1024 weeks.
    package var buildDate: Timestamp
    /// A recording's own times are kept: neither moved nor compared with elapsed time.
    package var keepsTimes: Bool

    package init(
      maxAccuracy: Double = 100, maxSpeed: Double = 250 / 3.6, maxHDOP: Double = 20, minSatellites: Int = 0,
      maxAge: Duration = .seconds(10), buildDate: Timestamp, keepsTimes: Bool = false
    ) {
      self.maxAccuracy = maxAccuracy
      self.maxSpeed = maxSpeed
      self.maxHDOP = maxHDOP
      self.minSatellites = minSatellites
      self.maxAge = maxAge
      self.buildDate = buildDate
      self.keepsTimes = keepsTimes
    }
  }

  /// An accepted fix and when it was true.
  package struct Accepted: Equatable, Sendable {
    /// As it was judged: with a widened accuracy where its HDOP is poor and it was accepted for continuing those before.
    package var fix: Fix
    /// When it was true, with its date and without week rollover.
    package var time: Timestamp
    /// By how much the receiver's clock is ahead, which `time` is corrected by; less than zero when it is behind.
    package var clockOffset: Duration

    package init(fix: Fix, time: Timestamp, clockOffset: Duration = .zero) {
      self.fix = fix
      self.time = time
      self.clockOffset = clockOffset
    }
  }

  /// Fixes in a row that must agree with each other to overrule the reference.
  package static let agreement = 5
  /// And over how long: old fixes that come in one burst agree with each other as well.
  private static let agreementTime = Duration.seconds(3)
  /// The same for a vehicle faster than `maxSpeed`, on a train say: places and speeds have to bear each other out.
  private static let fastAgreement = 10
  private static let fastAgreementTime = Duration.seconds(9)

  /// How far a stamp may run ahead of elapsed time: receivers and loops hold sentences back for a while, and then do not.
  private static let tolerance = Duration.seconds(3)

  /// How far the time of a dateless fix may be from the machine's clock before its date is taken from that clock anew. More
  /// than half a day, so that a clock wrong by half a day does not change the date at every fix.
  private static let dateSlack = Duration.seconds(13 * 3600)
  /// The same for a date that had to be repaired. Further apart, one of the two has run amok, and that is the later one.
  private static let repairSlack = Duration.seconds(365 * 86_400)

  /// A receiver that has just found satellites again is wrong at first: after a gap this long a fix needs a second that
  /// agrees. A fix rejected for its quality is no gap.
  private static let gap = Duration.seconds(5)
  /// A receiver that gives fixes more rarely than this has no gaps that mean anything.
  private static let closePeriod = Duration.seconds(2)
  /// For how long after a gap fixes that do not agree are rejected at most.
  private static let settlingTime = Duration.seconds(8)

  /// Metres per second by which the accuracy widens while all fixes have a poor HDOP and only continue the last good one. On
  /// recorded drives receivers without any satellite were off by 2 to 6 m after each second of dead reckoning.
  private static let widening = 3.0
  /// A receiver that has reported this many satellites once means it when it reports none.
  private static let satellitesOfAFix = 3

  /// Fixes that were rejected for their time or place, and agree with each other.
  private struct Challenge {
    var first: FixReference
    var last: FixReference
    var count = 1
    /// Whether the reported speeds and headings explain the way between them.
    var isExplained = true
    /// Whether each is within a few metres of where the one before leads.
    var isContinuous = true

    init(_ candidate: FixReference) {
      (first, last) = (candidate, candidate)
    }

    mutating func add(_ candidate: FixReference) {
      if candidate.time != last.time { count += 1 }
      if !candidate.follows(last) { isExplained = false }
      if !candidate.continues(last, within: FixReference.overrulingSlack) { isContinuous = false }
      last = candidate
    }
  }

  private var configuration: Configuration
  /// The last accepted fix.
  private var reference: FixReference?
  private var challenge: Challenge?
  /// The first and the last fix after a gap, while none is accepted.
  private var settling: (first: FixReference, last: FixReference)?
  /// The last fix that was measured, accepted or not, and when it came.
  private var previous: FixReference?
  private var lastArrival = BootInstant.boot
  private var countsSatellites = false
  private var freeze = FreezeDetector()
  private var trust = MotionTrust()
  private var clock = ReceiverClock()
  private var timeBounds: TimeBounds?

  package init(_ configuration: Configuration) {
    self.configuration = configuration
  }

  /// Replaces the limits and keeps the rest of the state.
  package mutating func configure(_ configuration: Configuration) {
    self.configuration = configuration
  }

  /// What time it is by those who know better than the receiver, from now on; nil when there is none.
  package mutating func trust(_ bounds: TimeBounds?) {
    timeBounds = bounds
  }

  /// Judges one fix, which arrived at `now`.
  package mutating func judge(_ fix: Fix, at now: Moment) -> Result<Accepted, FixRejection> {
    if let rejection = quality(of: fix) { return .failure(rejection) }
    let silence = now.boot - lastArrival
    lastArrival = now.boot
    let time: Timestamp
    switch settledTime(of: fix, at: now) {
    case .success(let settled): time = settled
    case .failure(let rejection): return .failure(rejection)
    }
    var fix = fix
    var candidate = FixReference(fix, time: time, at: now.boot)
    defer { previous = candidate }
    freeze.observe(candidate)
    if let rejection = dilution(of: fix) {
      guard let accuracy = widenedAccuracy(of: candidate) else {
        return .failure(contradiction(of: candidate) == .duplicate ? .duplicate : rejection)
      }
      fix.horizontalAccuracy = min(accuracy, fix.horizontalAccuracy ?? accuracy)
      candidate = FixReference(fix, time: time, at: now.boot)
      // It has no say against the reference.
      if contradiction(of: candidate) != nil { return .failure(rejection) }
    }
    if let rejection = contradiction(of: candidate) {
      guard overrules(candidate, after: rejection) else { return .failure(rejection) }
      if let reference { candidate.drift(from: reference) }
    } else if let reference {
      guard hasSettled(candidate, since: reference, after: silence) else { return .failure(.unsettled) }
      trust.note(isExplained: candidate.follows(reference))
      candidate.succeed(reference)
      candidate.period = candidate.time - (settling?.last.time ?? reference.time)
      // Clocks drift apart; a part in a thousand is more than any does.
      candidate.lead = max(candidate.lead, reference.lead - (candidate.at - reference.at) / 1000)
    }
    reference = candidate
    challenge = nil
    settling = nil
    return .success(Accepted(fix: fix, time: time, clockOffset: clock.offset))
  }

  // MARK: - The fix by itself

  private mutating func quality(of fix: Fix) -> FixRejection? {
    if let satellites = fix.satellites, satellites >= FixFilter.satellitesOfAFix { countsSatellites = true }
    if abs(fix.coordinate.latitude) < 0.001, abs(fix.coordinate.longitude) < 0.001 { return .zeroIsland }
    if let accuracy = fix.statedAccuracy {
      if accuracy > configuration.maxAccuracy { return .inaccurate }
    } else if fix.quality == .estimated || (countsSatellites && fix.satellites == 0) {
      return .noSatellites
    }
    if let satellites = fix.satellites, satellites < configuration.minSatellites { return .fewSatellites }
    return nil
  }

  /// What HDOP says against a fix whose receiver states no accuracy.
  private func dilution(of fix: Fix) -> FixRejection? {
    guard fix.statedAccuracy == nil else { return nil }
    if let accuracy = fix.horizontalAccuracy, accuracy > configuration.maxAccuracy { return .inaccurate }
    if let hdop = fix.hdop, hdop > configuration.maxHDOP { return .diluted }
    return nil
  }

  /// The accuracy, in metres, of a fix with a poor HDOP that continues those before: HDOP describes a single solution, and
  /// receivers filter. Nil when it does not continue them, or nothing better has come for too long.
  private func widenedAccuracy(of candidate: FixReference) -> Double? {
    guard let reference, let previous, trust.isGiven, candidate.continues(previous) else { return nil }
    let seconds = max((candidate.time - reference.time).inSeconds, 0)
    let accuracy = reference.accuracy + FixFilter.widening * seconds
    guard accuracy <= configuration.maxAccuracy, candidate.isExpected(after: reference, accuracy: accuracy) else {
      return nil
    }
    return accuracy
  }

  // MARK: - Its time

  private mutating func settledTime(of fix: Fix, at now: Moment) -> Result<Timestamp, FixRejection> {
    let stamp: Timestamp
    switch fix.time {
    case nil: return .failure(.noTime)
    case .utc(let utc):
      guard !configuration.keepsTimes else { return .success(utc) }
      guard let plausible = plausible(utc, at: now) else { return .failure(.future) }
      stamp = plausible
    case .ofDay(let milliseconds):
      guard let dated = date(milliseconds, at: now) else { return .failure(.noDate) }
      guard !configuration.keepsTimes else { return .success(dated) }
      stamp = dated
    }
    switch clock.judge(
      stamp, bounds: timeBounds, agreement: (FixFilter.agreement, FixFilter.agreementTime), at: now.boot)
    {
    case .settled(let change):
      // What was compared with the stamps before is moved with them: a corrected clock is no contradiction.
      if change != .zero { redate(by: .zero - change) }
      if let timeBounds, let reference,
        let error = ReceiverClock.error(of: reference.time, timeBounds, at: reference.at)
      {
        redate(by: .zero - error)
      }
      return .success(stamp - clock.offset)
    case .wrong: return .failure(stamp > now.wall ? .future : .stale)
    }
  }

  /// A stamp that can be the time, with another date if it cannot: the time of day is right long before the date is.
  ///
  /// - Returns: nil for a date that cannot be, without any other to go by.
  private func plausible(_ stamp: Timestamp, at now: Moment) -> Timestamp? {
    guard !stamp.isPlausible(after: configuration.buildDate) else { return stamp }
    let repaired = stamp.afterRollover(notBefore: configuration.buildDate)
    let canBeRepaired = repaired.isPlausible(after: configuration.buildDate)
    let known = timeBounds?.time(at: now.boot)
    guard let time = known ?? (now.wall.isPlausible(after: configuration.buildDate) ? now.wall : nil) else {
      return canBeRepaired ? repaired : nil
    }
    let dated = time.nearest(millisecondsOfDay: stamp.millisecondsOfDay)
    guard canBeRepaired else { return dated }
    if known != nil { return max(repaired - time, time - repaired) > FixFilter.dateSlack ? dated : repaired }
    return max(repaired - time, time - repaired) > FixFilter.repairSlack ? min(repaired, dated) : repaired
  }

  /// The time in UTC of a fix whose receiver reports only the time of day. Nil without any date to go by.
  ///
  /// The date is that of the machine's clock wherever the clock can be right. A clock set after the first fixes therefore
  /// also corrects what they were compared with: the reference moves by the same whole days, and nothing is rejected.
  private mutating func date(_ timeOfDay: Int64, at now: Moment) -> Timestamp? {
    let isClockSet = now.wall >= configuration.buildDate
    guard let reference else { return isClockSet ? now.wall.nearest(millisecondsOfDay: timeOfDay) : nil }
    let continued = (reference.time + (now.boot - reference.at)).nearest(millisecondsOfDay: timeOfDay)
    // A recording runs at its own pace.
    guard isClockSet, !configuration.keepsTimes else { return continued }
    let offset = continued - now.wall
    guard max(offset, .zero - offset) > FixFilter.dateSlack else { return continued }
    let time = now.wall.nearest(millisecondsOfDay: timeOfDay)
    redate(by: time - continued)
    return time
  }

  /// Moves what is known of earlier fixes by whole days, or by what a receiver's clock was wrong.
  private mutating func redate(by change: Duration) {
    reference?.redate(by: change)
    challenge?.first.redate(by: change)
    challenge?.last.redate(by: change)
    settling?.first.redate(by: change)
    settling?.last.redate(by: change)
    previous?.redate(by: change)
    freeze.redate(by: change)
  }

  // MARK: - The fix against what is known

  /// Metres per second: `maxSpeed`, unless a faster vehicle has been accepted.
  private var speedLimit: Double {
    guard let speed = reference?.speed, speed > configuration.maxSpeed else { return configuration.maxSpeed }
    return speed * 1.2
  }

  private func contradiction(of candidate: FixReference) -> FixRejection? {
    if let reference {
      if candidate.time == reference.time, candidate.coordinate == reference.coordinate { return .duplicate }
      if candidate.time <= reference.time { return .outOfOrder }
      if !configuration.keepsTimes {
        if candidate.lead - reference.lead > FixFilter.tolerance { return .future }
        if reference.lead - candidate.lead > configuration.maxAge { return .stale }
      }
    }
    if let speed = candidate.speed, speed > speedLimit { return .impossibleSpeed }
    if let reference, !candidate.isReachable(from: reference, at: speedLimit) { return .impossibleSpeed }
    if freeze.isFrozen { return .frozen }
    if let reference, trust.isGiven, !candidate.follows(reference) { return .jump }
    return nil
  }

  /// Whether this rejected fix, with those rejected before it, outweighs the reference.
  private mutating func overrules(_ candidate: FixReference, after rejection: FixRejection) -> Bool {
    // Neither says anything that the reference did not.
    if rejection == .duplicate || rejection == .frozen { return false }
    // What is only a little late will be past the reference soon: no need to go back in time for it.
    if rejection == .outOfOrder, !configuration.keepsTimes, let reference,
      reference.lead - candidate.lead <= configuration.maxAge
    {
      return false
    }
    guard var challenge, agrees(candidate, with: challenge) else {
      challenge = Challenge(candidate)
      return false
    }
    challenge.add(candidate)
    self.challenge = challenge
    let isFast = (candidate.speed ?? 0) > speedLimit
    if rejection == .jump || rejection == .impossibleSpeed, !isFast, challenge.isContinuous, trust.isGiven,
      let reference, candidate.outweighs(reference)
    {
      return true
    }
    let duration = isFast ? FixFilter.fastAgreementTime : FixFilter.agreementTime
    guard challenge.count >= (isFast ? FixFilter.fastAgreement : FixFilter.agreement),
      configuration.keepsTimes || candidate.at - challenge.first.at >= duration, challenge.isExplained || !isFast
    else { return false }
    trust.note(isExplained: challenge.isExplained)
    return true
  }

  private func agrees(_ candidate: FixReference, with challenge: Challenge) -> Bool {
    // One that is faster than the limit has to be so by its places, too.
    let limit = max(speedLimit, candidate.speed ?? 0)
    guard candidate.time >= challenge.last.time, candidate.isReachable(from: challenge.last, at: limit) else {
      return false
    }
    let difference = candidate.lead - challenge.first.lead
    return configuration.keepsTimes || (difference <= FixFilter.tolerance && difference >= .zero - FixFilter.tolerance)
  }

  /// Whether a fix that contradicts nothing may be accepted at once, or needs another after a gap.
  private mutating func hasSettled(
    _ candidate: FixReference, since reference: FixReference, after silence: Duration
  ) -> Bool {
    guard let settling else {
      guard !configuration.keepsTimes, silence >= FixFilter.gap, let period = reference.period,
        period <= FixFilter.closePeriod
      else { return true }
      if trust.isGiven, candidate.bridges(gapAfter: reference) { return true }
      self.settling = (candidate, candidate)
      return false
    }
    if candidate.time > settling.last.time, candidate.isReachable(from: settling.last, at: speedLimit),
      !trust.isGiven || candidate.follows(settling.last, leastSlack: FixReference.settlingSlack)
    {
      return true
    }
    self.settling = (settling.first, candidate)
    return candidate.at - settling.first.at >= FixFilter.settlingTime
  }
}
