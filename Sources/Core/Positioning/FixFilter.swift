// SPDX-License-Identifier: Apache-2.0
package import Timekeeping

/// Decides which fixes are accepted, and determines their time.
///
/// Compares a fix with the last accepted one and with elapsed time; the wall clock only provides the date for a
/// receiver without one. A wrong reference cannot persist: `agreementCount` consecutive fixes that were rejected for
/// their time or position, but are consistent with each other and with elapsed time, become the new reference.
package struct FixFilter: Sendable {
  /// The limits for accepted fixes.
  package struct Configuration: Equatable, Sendable {
    /// Maximum horizontal accuracy in metres. A fix without an accuracy passes.
    package var maxAccuracy: Double
    /// Metres per second.
    package var maxSpeed: Double
    /// Maximum HDOP, for receivers that report no accuracy, unless a fix continues the previous ones.
    package var maxHDOP: Double
    /// Minimum number of satellites used; 0 disables the check. A fix without this number passes.
    package var minSatellites: Int
    /// Maximum lag of a fix's timestamp behind elapsed time since the reference.
    package var maxAge: Duration
    /// An earlier date is a week rollover of the receiver, and is moved forward by multiples of 1024 weeks.
    package var buildDate: Timestamp
    /// For recordings: timestamps are neither corrected nor compared with elapsed time.
    package var usesRecordedTimes: Bool
    /// For recordings and simulated drives that are played faster or slower: seconds of the drive per second. Speeds
    /// are reported multiplied by it; positions and speeds are compared, also with `maxSpeed`, as if the pace were 1.
    package var pace = 1.0

    package init(
      maxAccuracy: Double = 100, maxSpeed: Double = 250 / 3.6, maxHDOP: Double = 20, minSatellites: Int = 0,
      maxAge: Duration = .seconds(10), buildDate: Timestamp, usesRecordedTimes: Bool = false
    ) {
      self.maxAccuracy = maxAccuracy
      self.maxSpeed = maxSpeed
      self.maxHDOP = maxHDOP
      self.minSatellites = minSatellites
      self.maxAge = maxAge
      self.buildDate = buildDate
      self.usesRecordedTimes = usesRecordedTimes
    }
  }

  /// An accepted fix and its time.
  package struct Accepted: Equatable, Sendable {
    /// The fix, with a widened accuracy if its HDOP is poor and it was accepted because it continues the previous ones.
    package var fix: Fix
    /// Its timestamp, with date and without week rollover.
    package var time: Timestamp
    /// The error of the receiver's clock by which `time` was corrected; positive: the clock is ahead.
    package var clockCorrection: Duration

    package init(fix: Fix, time: Timestamp, clockCorrection: Duration = .zero) {
      self.fix = fix
      self.time = time
      self.clockCorrection = clockCorrection
    }
  }

  /// Number of consecutive consistent fixes that replace the reference.
  package static let agreementCount = 5
  /// Their minimum duration: old fixes that arrive in one burst are consistent with each other as well.
  private static let agreementTime = Duration.seconds(3)
  /// The same for a vehicle faster than `maxSpeed`, such as on a train: positions and speeds have to corroborate each
  /// other.
  private static let fastAgreementCount = 10
  private static let fastAgreementTime = Duration.seconds(9)

  /// How far a timestamp may be ahead of elapsed time: receivers and event loops delay some sentences and not others.
  private static let timeTolerance = Duration.seconds(3)

  /// The maximum difference between the time of a fix without a date and the machine's clock before the date is taken
  /// from that clock again. More than half a day, so that a clock that is wrong by half a day does not change the date
  /// at every fix.
  private static let dateSlack = Duration.seconds(13 * 3600)
  /// The same for a repaired date. If the difference is larger, the later of the two dates is assumed to be wrong.
  private static let repairSlack = Duration.seconds(365 * 86_400)
  /// How long the first fixes of a receiver must come without a date before they get the date of the machine's clock,
  /// which may be days behind. A port that is opened in the middle of a burst gives a first fix without the sentence
  /// that has the date, and a receiver with several fixes per second may send that sentence only once a second.
  package static let dateDelay = Duration.milliseconds(1500)

  /// A receiver that has just reacquired satellites is inaccurate at first: after a gap of this length a fix needs a
  /// second one that is consistent. Fixes rejected by their HDOP do not count as a gap; those rejected by
  /// `qualityRejection` do.
  private static let minimumGap = Duration.seconds(5)
  /// If a receiver's fixes are further apart than this, gaps are not significant.
  private static let maximumPeriod = Duration.seconds(2)
  /// The maximum time for which inconsistent fixes are rejected after a gap.
  private static let settlingTime = Duration.seconds(8)

  /// From this speed on a vehicle certainly moves, in metres per second.
  private static let drivingSpeed = 3.0
  /// How fast the accuracy widens, in metres per second, while all fixes have a poor HDOP and only continue the last
  /// good one. In recorded drives, receivers without any satellite drifted by 2 to 6 m per second of dead reckoning.
  private static let wideningRate = 3.0
  /// Once a receiver has reported this many satellites, a report of none is taken seriously.
  private static let minimumFixSatellites = 3

  /// Consecutive rejected fixes that are consistent with each other: a candidate for the new reference.
  private struct Contradiction {
    var first: FixReference
    var last: FixReference
    var count = 1
    /// Whether the reported speeds and headings explain the movement between them.
    var isExplained = true
    /// Whether each is within a few metres of the position predicted from the previous one.
    var isContinuous = true

    init(_ candidate: FixReference) {
      (first, last) = (candidate, candidate)
    }

    mutating func add(_ candidate: FixReference) {
      if candidate.time != last.time { count += 1 }
      if !candidate.isConsistent(with: last) { isExplained = false }
      if !candidate.continues(last, within: FixReference.overrulingSlack) { isContinuous = false }
      last = candidate
    }
  }

  private var configuration: Configuration
  /// The last accepted fix.
  private var reference: FixReference?
  private var contradiction: Contradiction?
  /// The first and the last fix after a gap, until one is accepted.
  private var settling: (first: FixReference, last: FixReference)?
  /// The last evaluated fix, accepted or not, and its arrival.
  private var previous: FixReference?
  private var lastArrival = BootInstant.boot
  /// The arrival of the first fix without a date, accepted or not, since the last one with a date.
  private var datelessSince: BootInstant?
  private var reportsSatellites = false
  private var freeze = FreezeDetector()
  private var extrapolation = ExtrapolationDetector()
  private var motionTrust = MotionTrust()
  private var clock = ReceiverClock()
  private var timeBounds: TimeBounds?

  package init(_ configuration: Configuration) {
    self.configuration = configuration
  }

  /// Replaces the limits without resetting the state.
  package mutating func configure(_ configuration: Configuration) {
    self.configuration = configuration
  }

  /// Sets the time bounds of better references than the receiver; nil if there are none.
  package mutating func setTimeBounds(_ bounds: TimeBounds?) {
    timeBounds = bounds
  }

  /// Until now the receiver was not read, which is not a gap in what it sends.
  package mutating func noteUnread(until now: BootInstant) { lastArrival = now }

  /// Filters a fix that arrived at `now`.
  ///
  /// - Parameter otherTime: the time by the clock of another source, which was used last; nil if there is none.
  package mutating func evaluate(
    _ fix: Fix, at now: Moment, otherTime: Timestamp? = nil
  ) -> Result<Accepted, FixRejection> {
    switch fix.time {
    case .utc: datelessSince = nil
    case .ofDay: datelessSince = datelessSince ?? now.boot
    case nil: break
    }
    if let rejection = qualityRejection(of: fix) { return .failure(rejection) }
    let previousArrival = lastArrival
    let silence = now.boot - previousArrival
    lastArrival = now.boot
    let time: Timestamp
    switch timestamp(of: fix, at: now, otherTime: otherTime) {
    case .success(let settled): time = settled
    case .failure(let rejection): return .failure(rejection)
    }
    extrapolation.observe(fix, at: time)
    if extrapolation.isExtrapolating, reportsSatellites {
      lastArrival = previousArrival
      return .failure(.noSatellites)
    }
    var fix = fix
    var candidate = FixReference(fix, time: time, at: now.boot, pace: configuration.pace)
    defer { previous = candidate }
    freeze.observe(candidate)
    if let rejection = hdopRejection(of: fix) {
      guard let accuracy = widenedAccuracy(of: candidate) else {
        return .failure(referenceRejection(of: candidate) == .duplicate ? .duplicate : rejection)
      }
      fix.horizontalAccuracy = min(accuracy, fix.horizontalAccuracy ?? accuracy)
      candidate = FixReference(fix, time: time, at: now.boot, pace: configuration.pace)
      // A fix with a poor HDOP must not replace the reference.
      if referenceRejection(of: candidate) != nil { return .failure(rejection) }
    }
    if let rejection = referenceRejection(of: candidate) {
      guard overrules(candidate, after: rejection) else { return .failure(rejection) }
      if let reference { candidate.accumulateDrift(from: reference) }
    } else if let reference {
      guard hasSettled(candidate, since: reference, after: silence) else { return .failure(.unsettled) }
      motionTrust.note(
        isExplained: candidate.isConsistent(with: reference), isMoving: candidate.speed ?? 0 >= FixFilter.drivingSpeed)
      candidate.inherit(from: reference)
      candidate.period = candidate.time - (settling?.last.time ?? reference.time)
      // Clocks drift, but by less than one part in a thousand.
      candidate.offsetFromElapsed = max(
        candidate.offsetFromElapsed,
        reference.offsetFromElapsed - (candidate.arrival - reference.arrival).multiplied(by: 1, dividedBy: 1000))
    }
    reference = candidate
    contradiction = nil
    settling = nil
    return .success(Accepted(fix: fix, time: time, clockCorrection: clockCorrection(of: fix, to: time)))
  }

  /// By how much a receiver's clock is ahead: the offset by which its timestamps are corrected; negative, a multiple of
  /// 1024 weeks, after a week rollover.
  private func clockCorrection(of fix: Fix, to time: Timestamp) -> Duration {
    guard clock.offset == .zero, case .utc(let stamp)? = fix.time, stamp < configuration.buildDate,
      !configuration.usesRecordedTimes, stamp.afterRollover(notBefore: configuration.buildDate) == time
    else { return clock.offset }
    return stamp - time
  }

  // MARK: - Quality

  private mutating func qualityRejection(of fix: Fix) -> FixRejection? {
    if let satellites = fix.satellites, satellites >= FixFilter.minimumFixSatellites { reportsSatellites = true }
    if abs(fix.coordinate.latitude) < 0.001, abs(fix.coordinate.longitude) < 0.001 { return .nullIsland }
    if let accuracy = fix.reportedAccuracy {
      if accuracy > configuration.maxAccuracy { return .inaccurate }
    } else if fix.quality == .estimated || (reportsSatellites && fix.satellites == 0) {
      return .noSatellites
    }
    if let satellites = fix.satellites, satellites < configuration.minSatellites { return .fewSatellites }
    return nil
  }

  /// The rejection by HDOP of a fix without a reported accuracy.
  private func hdopRejection(of fix: Fix) -> FixRejection? {
    guard fix.reportedAccuracy == nil else { return nil }
    if let accuracy = fix.horizontalAccuracy, accuracy > configuration.maxAccuracy { return .inaccurate }
    if let hdop = fix.hdop, hdop > configuration.maxHDOP { return .poorHDOP }
    return nil
  }

  /// The accuracy, in metres, of a fix with a poor HDOP that continues the previous ones: HDOP describes a single
  /// solution, but receivers filter. Nil if it does not continue them, or there was no better fix for too long.
  private func widenedAccuracy(of candidate: FixReference) -> Double? {
    guard let reference, let previous, motionTrust.isTrusted, candidate.continues(previous) else { return nil }
    let seconds = max(candidate.driveTime(since: reference.time), 0)
    let accuracy = reference.accuracy + FixFilter.wideningRate * seconds
    guard accuracy <= configuration.maxAccuracy, candidate.isExpected(after: reference, accuracy: accuracy) else {
      return nil
    }
    return accuracy
  }

  // MARK: - Time

  private mutating func timestamp(
    of fix: Fix, at now: Moment, otherTime: Timestamp?
  ) -> Result<Timestamp, FixRejection> {
    let stamp: Timestamp
    switch fix.time {
    case nil: return .failure(.noTime)
    case .utc(let utc):
      guard !configuration.usesRecordedTimes else { return .success(utc) }
      guard let plausible = plausible(utc, at: now) else { return .failure(.future) }
      stamp = plausible
    case .ofDay(let milliseconds):
      guard let dated = date(milliseconds, at: now) else { return .failure(.noDate) }
      guard !configuration.usesRecordedTimes else { return .success(dated) }
      stamp = dated
    }
    switch clock.check(
      stamp, bounds: timeBounds, after: reference.map { ($0.time, $0.arrival) }, otherTime: otherTime,
      agreement: (FixFilter.agreementCount, FixFilter.agreementTime), at: now.boot)
    {
    case .settled(let change):
      // If the previous timestamps were wrong by the same offset, correct them too, so that a corrected clock is not a
      // contradiction.
      if change != .zero, isReferenceWrong(by: change, ifRight: stamp - clock.offset, at: now.boot) {
        redate(by: .zero - change)
      }
      if let timeBounds, let reference,
        let error = ReceiverClock.error(
          of: reference.time, timeBounds, at: reference.arrival,
          otherTime: otherTime.map { $0 - (now.boot - reference.arrival) })
      {
        redate(by: .zero - error)
      }
      return .success(stamp - clock.offset)
    case .wrong: return .failure(stamp > now.wall ? .future : .stale)
    }
  }

  /// A plausible timestamp, with a repaired date if necessary: the time of day is right long before the date is.
  ///
  /// - Returns: nil for an implausible date without a reference to repair it.
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

  /// The time in UTC of a fix with only a time of day. Nil without any reference for the date.
  ///
  /// The date comes from the machine's clock if that is plausible; that of the first fix only after `dateDelay`. When
  /// that clock is set after the first fixes, the reference moves by the same number of whole days, and nothing is
  /// rejected.
  private mutating func date(_ timeOfDay: Int64, at now: Moment) -> Timestamp? {
    let isClockSet = now.wall >= configuration.buildDate
    guard let reference else {
      let hasWaited = datelessSince.map { now.boot - $0 >= FixFilter.dateDelay } ?? false
      guard isClockSet, hasWaited || configuration.usesRecordedTimes else { return nil }
      return now.wall.nearest(millisecondsOfDay: timeOfDay)
    }
    let continued = (reference.time + (now.boot - reference.arrival)).nearest(millisecondsOfDay: timeOfDay)
    // A recording has its own pace.
    guard isClockSet, !configuration.usesRecordedTimes else { return continued }
    let offset = continued - now.wall
    guard max(offset, .zero - offset) > FixFilter.dateSlack else { return continued }
    let time = now.wall.nearest(millisecondsOfDay: timeOfDay)
    redate(by: time - continued)
    return time
  }

  /// Whether the last accepted timestamp has about the error by which the clock is corrected from now on, if `time` is
  /// right: it has no such error if the clock leapt only after it.
  private func isReferenceWrong(by change: Duration, ifRight time: Timestamp, at now: BootInstant) -> Bool {
    guard let reference else { return true }
    let error = reference.time + (now - reference.arrival) - time
    return max(error - change, change - error) < max(error, .zero - error)
  }

  /// Moves the timestamps of previous fixes by whole days, or by the error of a receiver's clock.
  private mutating func redate(by change: Duration) {
    reference?.redate(by: change)
    contradiction?.first.redate(by: change)
    contradiction?.last.redate(by: change)
    settling?.first.redate(by: change)
    settling?.last.redate(by: change)
    previous?.redate(by: change)
    freeze.redate(by: change)
    extrapolation.redate(by: change)
  }

  // MARK: - Consistency

  /// The speed limit in metres per second at the vehicle's own pace: `maxSpeed`, unless a faster vehicle was accepted.
  private var speedLimit: Double {
    guard let speed = reference?.speed, speed > configuration.maxSpeed else { return configuration.maxSpeed }
    return speed * 1.2
  }

  private func referenceRejection(of candidate: FixReference) -> FixRejection? {
    if let reference {
      if candidate.time == reference.time, candidate.coordinate == reference.coordinate { return .duplicate }
      if candidate.time <= reference.time { return .outOfOrder }
      if !configuration.usesRecordedTimes {
        if candidate.offsetFromElapsed - reference.offsetFromElapsed > FixFilter.timeTolerance { return .future }
        if reference.offsetFromElapsed - candidate.offsetFromElapsed > configuration.maxAge { return .stale }
      }
    }
    if let speed = candidate.speed, speed > speedLimit { return .impossibleSpeed }
    if let reference, !candidate.isReachable(from: reference, at: speedLimit) { return .impossibleSpeed }
    if freeze.isFrozen { return .frozen }
    if let reference, motionTrust.isTrusted, !candidate.isConsistent(with: reference) { return .jump }
    return nil
  }

  /// Whether this rejected fix, with those rejected before, replaces the reference.
  private mutating func overrules(_ candidate: FixReference, after rejection: FixRejection) -> Bool {
    // These contain nothing new.
    if rejection == .duplicate || rejection == .frozen { return false }
    // The fixes of a clock that is only slightly behind will soon be later than the reference: there is no need to go
    // back in time.
    if rejection == .outOfOrder, !configuration.usesRecordedTimes, let reference,
      reference.offsetFromElapsed - candidate.offsetFromElapsed <= configuration.maxAge
    {
      return false
    }
    guard var contradiction, agrees(candidate, with: contradiction) else {
      contradiction = Contradiction(candidate)
      return false
    }
    contradiction.add(candidate)
    self.contradiction = contradiction
    let isFast = (candidate.speed ?? 0) > speedLimit
    if rejection == .jump || rejection == .impossibleSpeed, !isFast, contradiction.isContinuous, motionTrust.isTrusted,
      let reference, candidate.outweighs(reference)
    {
      return true
    }
    let duration = isFast ? FixFilter.fastAgreementTime : FixFilter.agreementTime
    guard contradiction.count >= (isFast ? FixFilter.fastAgreementCount : FixFilter.agreementCount),
      configuration.usesRecordedTimes || candidate.arrival - contradiction.first.arrival >= duration,
      contradiction.isExplained || !isFast
    else { return false }
    motionTrust.note(isExplained: contradiction.isExplained, isMoving: false)
    return true
  }

  private func agrees(_ candidate: FixReference, with contradiction: Contradiction) -> Bool {
    // A speed above the limit must be corroborated by the positions.
    let limit = max(speedLimit, candidate.speed ?? 0)
    guard candidate.time >= contradiction.last.time, candidate.isReachable(from: contradiction.last, at: limit) else {
      return false
    }
    let difference = candidate.offsetFromElapsed - contradiction.first.offsetFromElapsed
    return configuration.usesRecordedTimes
      || (difference <= FixFilter.timeTolerance && difference >= .zero - FixFilter.timeTolerance)
  }

  /// Whether a consistent fix can be accepted at once: after a gap it may need a second one.
  private mutating func hasSettled(
    _ candidate: FixReference, since reference: FixReference, after silence: Duration
  ) -> Bool {
    guard let settling else {
      guard !configuration.usesRecordedTimes, silence >= FixFilter.minimumGap, let period = reference.period,
        period <= FixFilter.maximumPeriod
      else { return true }
      if motionTrust.isTrusted, candidate.bridges(gapAfter: reference) { return true }
      self.settling = (candidate, candidate)
      return false
    }
    if candidate.time > settling.last.time, candidate.isReachable(from: settling.last, at: speedLimit),
      !motionTrust.isTrusted || candidate.isConsistent(with: settling.last, minimumSlack: FixReference.settlingSlack)
    {
      return true
    }
    self.settling = (settling.first, candidate)
    return candidate.arrival - settling.first.arrival >= FixFilter.settlingTime
  }
}
