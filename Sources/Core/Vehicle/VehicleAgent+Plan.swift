// SPDX-License-Identifier: Apache-2.0
import Reporting
import PositionBacklog
import SourceSelection
import Delivery
import Authorization
import ClockEstimation
import FleetEngine
import Positioning
package import Timekeeping

extension VehicleAgent {
  /// The next step or wait. Acting, waiting and reporting all use it.
  ///
  /// Conditions are evaluated for the time at which they matter (is there a valid token when the update is due?), so
  /// that the plan does not change just because time passes.
  package func plan(at now: BootInstant) -> Plan {
    switch decide(at: now) {
    case .act(let step): return .act(step)
    case .wait(let until, let obstacle):
      let cause = cause(of: obstacle)
      switch lifecycle.state {
      case .running: return .wait(until: until, for: cause, next: next(after: obstacle))
      case .draining(let end), .stopping(let end, _), .settingOffline(let end, _, _):
        let next = next(after: obstacle).flatMap { ($0.time ?? end) <= end ? $0 : nil }
        return .wait(until: until, for: .stopping(until: end, cause), next: next)
      case .finished: return .wait(until: nil, for: .stopping(until: nil, nil), next: nil)
      }
    }
  }

  /// When to call again if there is no input. Nil: only an input can change the plan.
  package func nextDeadline(at now: BootInstant) -> BootInstant? {
    if case .wait(let until, _) = decide(at: now) { until } else { nil }
  }

  /// For the watchdog: false if a step has been due, or the deadline of a request has been exceeded, for longer than
  /// the grace period.
  package func isProgressing(at now: BootInstant) -> Bool {
    if case .act = decide(at: now), case .act = decide(at: now - BootInstant.grace) { return false }
    return [delivery.attemptDeadline, tokens.fetchDeadline].allSatisfy { $0?.isMissed(at: now) != true }
  }

  // MARK: - The decision

  /// A plan without its cause, which is computed on demand: decisions are made several times for each fix.
  enum Decision {
    case act(Plan.Step)
    case wait(until: BootInstant?, Obstacle)

    /// The same decision, but its wait ends at `time` at the latest.
    func interrupted(at time: BootInstant?) -> Decision {
      guard case .wait(let until, let obstacle) = self, let time else { return self }
      return .wait(until: until.map { min($0, time) } ?? time, obstacle)
    }
  }

  /// What prevents a request; a `Cause` is derived from it.
  enum Obstacle {
    /// The run has ended.
    case finished
    /// Another process has locked the vehicle, since this time.
    case vehicleInUse(VehicleHolder, since: BootInstant)
    case paused(PauseRecord)
    /// During a pause OFFLINE is pending: the next attempt; nil: a request is in flight.
    case offline(PauseRecord, NextRequest?)
    /// Off duty, OFFLINE is sent before the next position: the attempt to send it, and what prevents the position.
    indirect case offlineFirst(NextRequest, Obstacle)
    /// The next attempt is not ready; nil: there is none, because there is no position or a request is in flight.
    case attempt(NextRequest?)
    /// While stopping: a request is in flight.
    case finalRequest(since: BootInstant)
    /// While stopping: the final attempt needs a token.
    case finalNeedsToken
    /// While stopping: the final attempt is rate-limited.
    case finalIsLimited(until: BootInstant, by: RequestLimit)
  }

  func decide(at now: BootInstant) -> Decision {
    let decision = decideInState(at: now)
    if case .act(.finish) = decision, setsOfflineAtEnd, !lifecycle.isSettingOffline { return .act(.setOffline) }
    return decision
  }

  /// Whether the end of the run sets OFFLINE: off duty if it was not accepted yet; on duty if the settings say so,
  /// unless the next run begins at once.
  var setsOfflineAtEnd: Bool {
    guard configuration.delivery.endpoint.followsDuty, !isSuspended else { return false }
    return dutyState.isOffline ? isOfflinePending : configuration.goesOfflineOnStop && !lifecycle.isRestart
  }

  /// While another process has the vehicle nothing is sent, and a run that is to end has nothing to wait for.
  private func decideToWait(
    for holder: VehicleHolder, since: BootInstant, attemptAt: BootInstant, at now: BootInstant
  ) -> Decision {
    switch lifecycle.state {
    case .finished: return .wait(until: nil, .finished)
    case .settingOffline, .stopping, .draining: return .act(.finish)
    case .running:
      if let step = dueStep(at: now) { return .act(step) }
      guard now < attemptAt else { return .act(.lockVehicle) }
      return interruptedBySteps(.wait(until: attemptAt, .vehicleInUse(holder, since: since)))
    }
  }

  /// The step that is due while running, whether or not positions are sent.
  private func dueStep(at now: BootInstant) -> Plan.Step? {
    if let selectionAt = selector.nextDeadline, now >= selectionAt { return .selectSource }
    if let missingDeadline = fixes.missingDeadline, now >= missingDeadline { return .reportFixMissing }
    if let readAt = delivery.storeReadDueAt, now >= readAt { return .readStore }
    return nil
  }

  /// The same decision, but its wait ends when the next step of `dueStep` is due.
  private func interruptedBySteps(_ decision: Decision) -> Decision {
    decision.interrupted(at: fixes.missingDeadline).interrupted(at: selector.nextDeadline).interrupted(
      at: delivery.storeReadDueAt)
  }

  private func decideInState(at now: BootInstant) -> Decision {
    if let holder = lock.holder, let since = lock.since, let attemptAt = lock.nextAttempt {
      return decideToWait(for: holder, since: since, attemptAt: attemptAt, at: now)
    }
    switch lifecycle.state {
    case .finished: return .wait(until: nil, .finished)
    case .settingOffline(let end, let attempted, _):
      // The driver may have gone on duty again.
      guard now < end, setsOfflineAtEnd else { return .act(.finish) }
      return decideFinal(.goOffline, delivery.earliestFinalOffline, by: end, attempted: attempted, at: now)
    case .stopping(let end, let attempted):
      return now < end ? decideToStop(by: end, attempted: attempted, at: now) : .act(.finish)
    case .draining(let end):
      guard now < end else { return .act(.finish) }
      // During a pause only OFFLINE can be delivered.
      if let pause = dutyState.pause {
        guard isOfflinePending else { return .act(.finish) }
        if let readAt = delivery.storeReadDueAt, now >= readAt { return .act(.readStore) }
        return decideOffline(pause, at: now).interrupted(at: end).interrupted(at: delivery.storeReadDueAt)
      }
      if let readAt = delivery.storeReadDueAt, isDrained || now >= readAt { return .act(.readStore) }
      if isDrained, !delivery.isStorePending { return .act(.finish) }
      return decideWithoutPause(at: now).interrupted(at: end).interrupted(at: delivery.storeReadDueAt)
    case .running:
      if let step = dueStep(at: now) { return .act(step) }
      return interruptedBySteps(dutyState.pause.map { decidePaused($0, at: now) } ?? decideWithoutPause(at: now))
    }
  }

  /// Whether all positions of a source that has ended were delivered.
  private var isDrained: Bool {
    delivery.isIdle && !delivery.hasOverduePosition && delivery.backlog.isEmpty
      && (policy.newest.map { $0.time == delivery.delivered?.time } ?? true)
  }

  private func decideToReport(at now: BootInstant) -> Decision {
    guard let due = policy.next else { return decideWithoutFix(at: now) }
    let isDue = now >= due.at
    guard delivery.isIdle else { return isDue ? .act(.enqueue) : .wait(until: due.at, .attempt(nil)) }
    let hasUndeliveredLastPosition = hasUndeliveredLastPosition
    let attempt = nextAttempt(
      of: policy.newest?.time, due: due.at, hasUndeliveredLastPosition: hasUndeliveredLastPosition, at: now)
    if attempt.isReady(at: now) {
      return .act(attempt.token == .valid ? .send(isDue: isDue || hasUndeliveredLastPosition) : .askForToken)
    }
    // While updates succeed, a due report waits for the rate limit; otherwise it is enqueued when due.
    let enqueuesWhenDue = delivery.isFailing || network.isAbsent || attempt.isDelayedByToken
    if isDue, enqueuesWhenDue { return .act(.enqueue) }
    return Decision.wait(until: attempt.at, .attempt(attempt)).interrupted(at: enqueuesWhenDue ? due.at : nil)
  }

  /// The latest timestamp with which a queued position can be sent as the live one; nil: any can be, because they are
  /// from a recording or the time is unknown.
  var liveLimit: VehicleClock.LiveLimit? { configuration.filter.usesRecordedTimes ? nil : clock.liveLimit }

  /// Without a fix the newest queued position is sent as the live one. It waits a little, so that a fix that arrives
  /// soon is sent first.
  private func decideWithoutFix(at now: BootInstant) -> Decision {
    guard delivery.isIdle else { return .wait(until: nil, .attempt(nil)) }
    guard let stored = delivery.liveWithoutFix(notAfter: liveLimit) else {
      // What an unconfirmed time suppresses is sent when that time expires.
      guard delivery.liveWithoutFix(notAfter: nil) != nil, let lapse = liveLimit?.expiresAt else {
        return .wait(until: nil, .attempt(nil))
      }
      return now >= lapse ? .act(.reviewTime) : .wait(until: lapse, .attempt(nil))
    }
    // A vehicle becomes ONLINE where it is, and not where it was before a pause.
    if lifecycle.isRunning, requestedState == .online, delivery.isOffline { return .wait(until: nil, .attempt(nil)) }
    let isNew = delivery.delivered.map { $0.time < stored.time } ?? true
    let grace = lifecycle.isRunning ? configuration.delivery.backfillInterval : .zero
    let due = isNew ? delivery.withoutFixSince + grace : .distantFuture
    let attempt = nextAttempt(of: isNew ? nil : stored.time, due: due, hasUndeliveredLastPosition: false, at: now)
    if attempt.isReady(at: now) { return .act(attempt.token == .valid ? .send(isDue: isNew) : .askForToken) }
    guard let at = attempt.at, at < .distantFuture else { return .wait(until: nil, .attempt(nil)) }
    return .wait(until: at, .attempt(attempt))
  }

  /// A final attempt, which skips the backoff and the check for a network.
  private func decideToStop(by end: BootInstant, attempted: Bool, at now: BootInstant) -> Decision {
    if isPaused {
      // An accepted OFFLINE that has to be repeated later can be left to the next start.
      guard isOfflinePending, now >= offlineDue else { return .act(.finish) }
      return decideFinal(.goOffline, delivery.earliestFinalOffline, by: end, attempted: attempted, at: now)
    }
    let hasPosition = policy.newest.map { $0.time != delivery.delivered?.time || delivery.hasOverduePosition } ?? false
    return decideFinal(
      .send(isDue: true), delivery.earliestFinal, by: end, attempted: attempted || !hasPosition, at: now)
  }

  /// - Parameters:
  ///   - step: the final request of its kind.
  ///   - earliest: the earliest time, and the limit that determines it.
  ///   - attempted: whether it was made, or there is none to make.
  private func decideFinal(
    _ step: Plan.Step, _ earliest: (at: BootInstant, by: RequestLimit), by end: BootInstant, attempted: Bool,
    at now: BootInstant
  ) -> Decision {
    guard delivery.isIdle else { return .wait(until: end, .finalRequest(since: delivery.sentAt ?? now)) }
    let (at, limit) = earliest
    guard !attempted, at < end else { return .act(.finish) }
    guard tokens.hasToken(at: max(now, at)) else {
      // A token that is being fetched may arrive in time.
      return tokens.isFetching ? .wait(until: end, .finalNeedsToken) : .act(.finish)
    }
    return now >= at ? .act(step) : .wait(until: min(at, end), .finalIsLimited(until: at, by: limit))
  }

  // MARK: - OFFLINE

  /// Off duty each position carries OFFLINE. Until OFFLINE is accepted, it is also sent alone as soon as the limits
  /// allow: it needs no fix, and no minimum time since the last position.
  private func decideWithoutPause(at now: BootInstant) -> Decision {
    let decision = decideToReport(at: now)
    guard isOfflinePending, delivery.isIdle else { return decision }
    let attempt = offlineAttempt(at: now)
    switch decision {
    case .act(.send) where !delivery.isPositionSuspect || !attempt.isReady(at: now): return decision
    case .act(.send): break
    case .act: return decision
    case .wait(let until, let obstacle):
      guard !attempt.isReady(at: now) else { break }
      guard let at = attempt.at, until.map({ at < $0 }) ?? true else { return decision }
      return .wait(until: at, .offlineFirst(attempt, obstacle))
    }
    return .act(attempt.token == .valid ? .goOffline : .askForToken)
  }

  private func decidePaused(_ pause: PauseRecord, at now: BootInstant) -> Decision {
    isOfflinePending ? decideOffline(pause, at: now) : .wait(until: nil, .paused(pause))
  }

  private func decideOffline(_ pause: PauseRecord, at now: BootInstant) -> Decision {
    guard delivery.isIdle else { return .wait(until: nil, .offline(pause, nil)) }
    let attempt = offlineAttempt(at: now)
    if attempt.isReady(at: now) { return .act(attempt.token == .valid ? .goOffline : .askForToken) }
    return .wait(until: attempt.at, .offline(pause, attempt))
  }

  private func offlineAttempt(at now: BootInstant) -> NextRequest {
    let (earliest, limit) = delivery.earliestOffline
    return attempt(due: offlineDue, earliest: (max(earliest, network.earliest), limit), at: now)
  }

  // MARK: - The next attempt

  /// The next request, if none is in flight.
  struct NextRequest {
    /// The token at the time of the request.
    enum Token { case valid, missing, fetching }

    /// When to send the request, or to request its token; nil: when the token arrives.
    var at: BootInstant?
    /// When it is due; `at` may be later.
    var due: BootInstant
    /// What delays it beyond `due`, other than the token.
    var limit: RequestLimit?
    var token: Token
    /// Whether `at` is determined by the token, and not by when the request is due and allowed.
    var isDelayedByToken: Bool

    func isReady(at now: BootInstant) -> Bool { at.map { now >= $0 } ?? false }
  }

  /// - Parameters:
  ///   - time: timestamp of the live position of a request for past positions alone; nil: none is made.
  ///   - due: when it is due.
  ///   - hasUndeliveredLastPosition: whether the last position of a source that has ended is not delivered yet.
  private func nextAttempt(
    of time: Timestamp?, due: BootInstant, hasUndeliveredLastPosition: Bool, at now: BootInstant
  ) -> NextRequest {
    let earliest = earliestAttempt
    var wantedAt = due
    // Queued positions are not urgent: a fix that comes first is sent before them.
    if delivery.hasOverduePosition && policy.newest != nil || hasUndeliveredLastPosition {
      wantedAt = .boot
    } else if let time,
      let backfill = delivery.backfillDeadline(before: time, with: { tokens.token(at: max(now, $0, earliest.at)) })
    {
      wantedAt = min(due, backfill)
    }
    if let onlineDue { wantedAt = min(wantedAt, onlineDue) }
    return attempt(due: wantedAt, earliest: earliest, at: now)
  }

  /// - Parameters:
  ///   - due: when the request is due.
  ///   - earliest: the earliest time, and the limit that determines it.
  private func attempt(
    due wantedAt: BootInstant, earliest: (at: BootInstant, by: RequestLimit?), at now: BootInstant
  ) -> NextRequest {
    let (earliest, limit) = earliest
    let at = max(wantedAt, earliest)
    var attempt = NextRequest(
      at: at, due: wantedAt, limit: earliest > wantedAt ? limit : nil, token: .valid, isDelayedByToken: false)
    guard !tokens.hasToken(at: max(now, at)) else { return attempt }
    attempt.token = tokens.isFetching ? .fetching : .missing
    attempt.at = tokens.isFetching ? nil : max(at, tokens.earliestFetch)
    attempt.isDelayedByToken = attempt.at != at
    return attempt
  }

  private func next(offline attempt: NextRequest) -> Plan.Next {
    attempt.isDelayedByToken ? .token(attempt.at) : .offline(attempt.at ?? .boot)
  }

  private func next(after obstacle: Obstacle) -> Plan.Next? {
    if case .offline(_, let attempt?) = obstacle { return next(offline: attempt) }
    if case .offlineFirst(let attempt, _) = obstacle { return next(offline: attempt) }
    if case .finalIsLimited(let until, _) = obstacle { return isPaused ? .offline(until) : .report(until) }
    guard case .attempt(let attempt?) = obstacle else { return nil }
    if attempt.isDelayedByToken { return .token(attempt.at) }
    let at = attempt.at ?? .boot
    if delivery.hasOverduePosition { return delivery.failure == nil ? .report(at) : .retry(at) }
    if attempt.limit != nil || attempt.due == onlineDue { return .report(at) }
    let expected = max(policy.expectedReport(hasFixes: !fixes.isLost) ?? at, earliestAttempt.at)
    return policy.isParked || fixes.isLost ? .heartbeat(expected) : .report(expected)
  }

  /// A plan for display: an overdue report waits for a fix, and without one the position is repeated later.
  func planForDisplay(_ plan: Plan, at now: BootInstant) -> Plan {
    guard case .wait(let until, let cause, .report(let due)?) = plan, due <= now, lifecycle.isRunning,
      case .wait(_, .attempt(let attempt?)) = decide(at: now), let at = attempt.at
    else { return plan }
    return .wait(until: until, for: cause, next: .heartbeat(at))
  }

  /// Whether every source has ended, and the last position is not delivered yet.
  private var hasUndeliveredLastPosition: Bool {
    guard case .draining = lifecycle.state, let newest = policy.newest else { return false }
    return newest.time != delivery.delivered?.time && delivery.mayBeLive(newest)
  }

  /// The earliest time of the next attempt, and the limit that determines it.
  private var earliestAttempt: (at: BootInstant, by: RequestLimit?) {
    let awake = fixes.graceEnd
    let (at, limit) = delivery.earliest
    let last = max(at, network.earliest)
    return awake > last ? (awake, .waking) : (last, limit)
  }

  private func cause(of obstacle: Obstacle) -> Cause {
    switch obstacle {
    case .finished: .stopping(until: nil, nil)
    case .vehicleInUse(let holder, let since): .vehicleInUse(by: holder, since: since)
    case .paused(let pause): .paused(pause, offline: nil)
    case .offline(let pause, let attempt): .paused(pause, offline: offlineCause(attempt))
    case .offlineFirst(_, let obstacle): cause(of: obstacle)
    case .attempt(let attempt): cause(attempt: attempt)
    case .finalRequest(let since): .inFlight(since: since)
    case .finalNeedsToken: .noToken(tokens.lastFailure, since: tokens.failingSince)
    case .finalIsLimited(let until, let limit): .rateLimited(until: until, by: limit)
    }
  }

  /// The first obstacle. The order of the tests is the precedence of causes.
  ///
  /// - Parameter attempt: nil if a request is in flight, or there is no position to send.
  private func cause(attempt: NextRequest?) -> Cause {
    if lifecycle.isRunning {
      if let why = selector.overview.lossReason { return .noSource(why) }
      if fixes.isLost { return .noFix(since: fixes.newest?.at, fixes.rejection) }
    }
    if let hold = selector.overview.hold { return .held(hold) }
    if policy.newest == nil { return .noFix(since: nil, fixes.rejection) }
    if let cause = requestCause(attempt) { return cause }
    guard let attempt else { return .noFix(since: nil, fixes.rejection) }
    let at = attempt.at ?? attempt.due
    if let limit = attempt.limit { return .rateLimited(until: at, by: limit) }
    if attempt.due == onlineDue { return .notDue(until: at) }
    return .notDue(until: max(policy.expectedReport(hasFixes: !fixes.isLost) ?? at, earliestAttempt.at))
  }

  /// Why OFFLINE has not been accepted yet.
  private func offlineCause(_ attempt: NextRequest?) -> Cause? {
    if let cause = requestCause(attempt) { return cause }
    guard let attempt else { return nil }
    let at = attempt.at ?? attempt.due
    return attempt.limit.map { .rateLimited(until: at, by: $0) } ?? .notDue(until: at)
  }

  /// The obstacle for any request; nil if the request only has to wait until it is due and allowed.
  private func requestCause(_ attempt: NextRequest?) -> Cause? {
    if let since = network.absentSince { return .noNetwork(since: since) }
    // If Fleet Engine rejects the provider's tokens, this rejection is the cause.
    if let attempt, attempt.isDelayedByToken, tokens.lastFailure != nil || delivery.failure == nil {
      return .noToken(tokens.lastFailure, since: tokens.failingSince)
    }
    if let failure = delivery.failure { return .failed(failure, since: delivery.failingSince) }
    return delivery.sentAt.map { .inFlight(since: $0) }
  }
}
