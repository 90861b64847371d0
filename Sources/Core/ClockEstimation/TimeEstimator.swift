// SPDX-License-Identifier: Apache-2.0
package import Timekeeping

/// Determines the current time from all references by weighted vote, and detects when the machine's clock is wrong.
///
/// Each observation is extrapolated with elapsed time, so that a step of the clock is detected at once, and suspend
/// changes nothing. At equal weights, the time on which more references agree is used. A time is confirmed if its
/// reference has repeated it, or another one agrees. A time that contradicts a confirmed one of the same reference is
/// accepted once it is confirmed itself; until then the earlier time has less weight.
///
/// A token's `iat` is weaker than a `Date`: it is only a lower bound of the current time, because a cached token is
/// older, and some providers set it in the past. Alone it proves nothing. If the machine's clock agrees with it, both
/// together outvote a receiver, and nothing else; if Fleet Engine's time agrees with it, Fleet Engine's time is
/// confirmed.
package struct TimeEstimator: Sendable {
  /// The references, least trusted first: GNSS can be spoofed, a server is authenticated by its certificate, and Fleet
  /// Engine's clock is the one that validates tokens and timestamps.
  package enum Reference: Int, Comparable, Sendable, CaseIterable {
    case gnss
    case tokenProvider
    case fleetEngine

    /// Whether `left` is trusted less.
    package static func < (left: Reference, right: Reference) -> Bool { left.rawValue < right.rawValue }

    var isServer: Bool { self != .gnss }
  }

  /// The error of the wall clock, and the reference it was compared with.
  package struct ClockError: Equatable, Sendable {
    /// Positive if the machine's clock is ahead.
    package var offset: Duration
    /// The reference that it was compared with.
    package var reference: Reference

    /// - Parameter offset: positive if the machine's clock is ahead.
    package init(offset: Duration, reference: Reference) {
      self.offset = offset
      self.reference = reference
    }
  }

  /// A change in the correctness of the wall clock.
  package enum ClockChange: Equatable, Sendable {
    /// It is wrong, or its error has changed.
    case wrong(ClockError)
    /// It was wrong, and is right now.
    case right
  }

  /// The current time and its reference.
  package struct Estimate: Equatable, Sendable {
    /// Nil: only the machine's clock.
    package var reference: Reference?
    /// The bounds of the time by that reference.
    package var bounds: TimeBounds
    /// Whether it has been consistent: a receiver's time for `consistencyTime`; a server's always counts as consistent.
    package var isSteady: Bool
    /// Whether it is confirmed: repeated by the reference, or corroborated by another.
    var isConfirmed: Bool
    /// When an unconfirmed time without corroboration expires; nil: it does not.
    var expiresAt: BootInstant?
    /// Whether the machine's clock agrees with the bounds.
    fileprivate var agreesWithClock: Bool

    /// The bounds if a server is the reference; otherwise nil.
    var serverBounds: TimeBounds? { reference?.isServer == true ? bounds : nil }
  }

  /// `Date` has whole seconds and a latency; smaller differences are ignored.
  package static let tolerance = Duration.seconds(30)
  /// Older observations are ignored.
  private static let observationLifetime = Duration.seconds(86_400)
  /// A single observation with which neither another reference nor the machine's clock agrees expires after this time.
  private static let unconfirmedLifetime = Duration.seconds(60)
  /// References agree if the gap between their bounds is at most this.
  package static let slack = Duration.milliseconds(slackMilliseconds)
  private static let slackMilliseconds: Int64 = 3000
  /// A receiver whose time is behind a server's by up to this agrees with the server: receivers report late.
  private static let maximumLagMilliseconds: Int64 = 10_000
  /// A receiver's time has double weight once it has been consistent for this long.
  private static let consistencyTime = Duration.seconds(5)
  /// The maximum latency of a receiver's report.
  private static let maximumReportLatency = Duration.seconds(2)

  /// The observations of one reference.
  private struct Observation {
    var bounds: TimeBounds
    /// The arrival of the first of the consistent observations, and of the last; their number.
    var since: BootInstant
    var at: BootInstant
    var count = 1
    /// Whether it replaced contradicting observations of the same reference.
    var isReversal = false
    /// Whether another reference has agreed with it.
    var isCorroborated = false

    var isConfirmed: Bool { count > 1 || isCorroborated }

    func agrees(with bounds: TimeBounds) -> Bool {
      self.bounds.agrees(with: bounds, withinMilliseconds: TimeEstimator.slackMilliseconds)
    }

    mutating func confirm(_ bounds: TimeBounds, at now: BootInstant) {
      self.bounds.narrow(to: bounds)
      at = now
      count += 1
    }
  }

  private let buildDate: Timestamp
  /// Indexed by `Reference.rawValue`.
  private var observations = [Observation?](repeating: nil, count: Reference.allCases.count)
  /// Unconfirmed observations that contradict a confirmed one of the same reference. Indexed by `Reference.rawValue`.
  private var contradictions = [Observation?](repeating: nil, count: Reference.allCases.count)
  /// The bounds of the time if the last token was issued for the request that returned it; nil after a `Date` of the
  /// provider, which is better.
  private var issueTime: TimeBounds?
  /// The last reported error.
  private var reportedError: ClockError?
  /// The cached estimate of the last moment, which is needed several times per input.
  private var cachedEstimate: (at: Moment, estimate: Estimate?)?

  /// - Parameter buildDate: times before it, and from 1024 weeks after it on, are ignored.
  package init(buildDate: Timestamp) {
    self.buildDate = buildDate
  }

  /// Processes a time from a reference. Implausible times are ignored.
  ///
  /// - Parameters:
  ///   - sentAt: when the request was sent; nil for a receiver.
  ///   - now: when the time arrived.
  package mutating func observe(
    _ reference: Reference, _ time: Timestamp, sentAt: BootInstant? = nil, at now: BootInstant
  ) {
    guard time.isPlausible(after: buildDate) else { return }
    cachedEstimate = nil
    if reference == .tokenProvider { issueTime = nil }
    let bounds = TimeBounds(
      time, precision: reference.isServer ? .seconds(1) : TimeEstimator.maximumReportLatency, since: sentAt ?? now,
      until: now)
    let supporters = Reference.allCases.filter { other in
      other != reference && observation(of: other, at: now)?.agrees(with: bounds) == true
    }
    let index = reference.rawValue
    if observations[index]?.agrees(with: bounds) == true {
      observations[index]?.confirm(bounds, at: now)
      contradictions[index] = nil
    } else if var contradiction = contradictions[index], contradiction.agrees(with: bounds) {
      contradiction.confirm(bounds, at: now)
      (observations[index], contradictions[index]) = (contradiction, nil)
    } else {
      let observation = Observation(bounds: bounds, since: now, at: now, isReversal: observations[index] != nil)
      let isSuspect = supporters.isEmpty && self.observation(of: reference, at: now)?.isConfirmed == true
      if isSuspect {
        contradictions[index] = observation
      } else {
        (observations[index], contradictions[index]) = (observation, nil)
      }
    }
    guard contradictions[index] == nil else { return }
    for other in supporters {
      observations[other.rawValue]?.isCorroborated = true
      observations[index]?.isCorroborated = true
    }
    if reference == .fleetEngine,
      issueTime?.agrees(with: bounds, withinMilliseconds: TimeEstimator.slackMilliseconds) == true
    {
      observations[index]?.isCorroborated = true
    }
  }

  /// Processes the `iat` of a token that was requested over HTTP, if the response has no `Date`. An implausible one is
  /// ignored.
  ///
  /// - Parameters:
  ///   - sentAt: when the request was sent.
  ///   - now: when the token arrived.
  package mutating func observeIssueTime(_ time: Timestamp, sentAt: BootInstant, at now: BootInstant) {
    guard time.isPlausible(after: buildDate), observation(of: .tokenProvider, at: now) == nil else { return }
    cachedEstimate = nil
    // The machine's clock may be ahead of the provider's by the slack, so a receiver's may be too.
    issueTime = TimeBounds(time, precision: .seconds(1) + TimeEstimator.slack, since: sentAt, until: now)
  }

  /// Restores a server's time of the previous run in the same boot.
  package mutating func restore(_ bounds: TimeBounds) {
    guard observations[Reference.fleetEngine.rawValue] == nil, bounds.time(at: bounds.at).isPlausible(after: buildDate)
    else {
      return
    }
    cachedEstimate = nil
    // Only confirmed times are stored.
    observations[Reference.fleetEngine.rawValue] = Observation(
      bounds: bounds, since: bounds.at, at: bounds.at, isCorroborated: true)
  }

  // MARK: - The vote

  /// The time by the references with the greatest total weight; nil if there is none.
  package func estimate(at now: Moment) -> Estimate? {
    if let cachedEstimate, cachedEstimate.at == now { cachedEstimate.estimate } else { vote(at: now) }
  }

  /// The same, cached for this moment until there is another observation.
  @discardableResult
  package mutating func updateEstimate(at now: Moment) -> Estimate? {
    let estimate = estimate(at: now)
    cachedEstimate = (now, estimate)
    return estimate
  }

  private func vote(at now: Moment) -> Estimate? {
    var best: (estimate: Estimate, weight: Int, count: Int)?
    let clock =
      now.wall.isPlausible(after: buildDate)
      ? TimeBounds(now.wall, precision: .zero, since: now.boot, until: now.boot) : nil
    for reference in Reference.allCases.reversed() {
      guard let observation = observation(of: reference, at: now.boot) else { continue }
      var (weight, count) = (weight(of: observation, by: reference), 1)
      for other in Reference.allCases where other != reference {
        let mayLag = reference.isServer && other == .gnss
        guard let supporter = self.observation(of: other, at: now.boot),
          observation.bounds.agrees(
            with: supporter.bounds, withinMilliseconds: TimeEstimator.slackMilliseconds,
            lag: mayLag ? TimeEstimator.maximumLagMilliseconds : nil)
        else { continue }
        weight += self.weight(of: supporter, by: other)
        count += 1
      }
      let agreesWithClock = clock.map { observation.agrees(with: $0) } ?? false
      if agreesWithClock { (weight, count) = (weight + 1, count + 1) }
      // A wrong time that was reported once must expire.
      let isLone = count == 1 && observation.count == 1 && !observation.isCorroborated
      let expiresAt = isLone ? observation.at + TimeEstimator.unconfirmedLifetime : nil
      if let expiresAt, now.boot >= expiresAt { weight = 0 }
      guard best.map({ (weight, count) > ($0.weight, $0.count) }) ?? true else { continue }
      var bounds = observation.bounds
      bounds.isLone = isLone
      let estimate = Estimate(
        reference: reference, bounds: bounds,
        isSteady: reference.isServer || observation.at - observation.since >= TimeEstimator.consistencyTime,
        isConfirmed: observation.isConfirmed, expiresAt: expiresAt, agreesWithClock: agreesWithClock)
      best = (estimate, weight, count)
    }
    // A receiver that contradicts itself also counts as alone, whatever agrees with its time before the jump.
    let isReceiverAlone =
      best.map {
        $0.estimate.reference == .gnss && ($0.count == 1 || contradictions[Reference.gnss.rawValue] != nil)
      } ?? true
    if isReceiverAlone || best?.weight == 0, let issueTime = issueTimeAgreeingWithClock(at: now) {
      // This is never confirmed, so that no queued position is removed because of it.
      return Estimate(
        reference: .tokenProvider, bounds: issueTime, isSteady: true, isConfirmed: false, agreesWithClock: true)
    }
    if let best, best.weight > 0 { return best.estimate }
    guard let clock else { return best?.estimate }
    return Estimate(reference: nil, bounds: clock, isSteady: false, isConfirmed: false, agreesWithClock: true)
  }

  /// The bounds of the time by the last `iat`, if the machine's clock agrees; otherwise nil.
  private func issueTimeAgreeingWithClock(at now: Moment) -> TimeBounds? {
    guard let issueTime, now.boot - issueTime.at <= TimeEstimator.observationLifetime,
      issueTime.earliest(at: now.boot) - TimeEstimator.slack <= now.wall, now.wall <= issueTime.latest(at: now.boot)
    else { return nil }
    return issueTime
  }

  private func observation(of reference: Reference, at now: BootInstant) -> Observation? {
    guard let observation = observations[reference.rawValue], now - observation.at <= TimeEstimator.observationLifetime
    else { return nil }
    return observation
  }

  private func weight(of observation: Observation, by reference: Reference) -> Int {
    // A reference that contradicts itself is unreliable.
    if contradictions[reference.rawValue] != nil || (observation.isReversal && observation.count == 1) { return 1 }
    return switch reference {
    case .fleetEngine: observation.count > 1 ? 4 : 2
    case .tokenProvider: 2
    case .gnss: observation.at - observation.since >= TimeEstimator.consistencyTime ? 2 : 1
    }
  }

  /// The time by the best reference other than the machine's clock; nil if there is none.
  package func time(at now: Moment) -> (Timestamp, Reference)? {
    guard let estimate = estimate(at: now), let reference = estimate.reference else { return nil }
    return (estimate.bounds.time(at: now.boot), reference)
  }

  // MARK: - The machine's clock

  /// The error of the machine's clock; nil if there is none, or it is unknown.
  package func error(at now: Moment) -> ClockError? { TimeEstimator.error(estimate(at: now), at: now) }

  private static func error(_ estimate: Estimate?, at now: Moment) -> ClockError? {
    guard let estimate, let reference = estimate.reference, !estimate.agreesWithClock else { return nil }
    let offset = now.wall - estimate.bounds.time(at: now.boot)
    let isWrong = offset >= TimeEstimator.tolerance || offset <= .zero - TimeEstimator.tolerance
    return isWrong ? ClockError(offset: offset, reference: reference) : nil
  }

  /// Reports a change: the clock is wrong, its error has changed, or it is right again.
  ///
  /// - Parameter estimate: the current one.
  package mutating func clockChange(_ estimate: Estimate?, at now: Moment) -> ClockChange? {
    guard let error = TimeEstimator.error(estimate, at: now) else {
      guard reportedError != nil, estimate?.reference != nil else { return nil }
      reportedError = nil
      return .right
    }
    if let reportedError {
      let change = error.offset - reportedError.offset
      let size = max(error.offset, .zero - error.offset)
      guard max(change, .zero - change) > max(.seconds(60), size / 10) else { return nil }
    }
    reportedError = error
    return .wrong(error)
  }
}
