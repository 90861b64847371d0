// SPDX-License-Identifier: Apache-2.0
import Authorization
import FleetEngine
import HTTPMessages
import Positioning
package import Timekeeping

extension VehicleAgent {
  /// The next step or wait. Acting, waiting and reporting all use it.
  ///
  /// Conditions are evaluated for the time at which they matter (is there a valid token when the update is due?), so that
  /// the plan does not change just because time passes.
  package func plan(at now: BootInstant) -> Plan {
    switch decide(at: now) {
    case .act(let step): return .act(step)
    case .wait(let until, let obstacle):
      let cause = cause(of: obstacle)
      switch lifecycle.state {
      case .running: return .wait(until: until, for: cause, next: next(after: obstacle))
      case .draining(let end), .stopping(let end, _), .leaving(let end, _, _):
        return .wait(until: until, for: .stopping(until: end, cause), next: nil)
      case .finished: return .wait(until: nil, for: .stopping(until: nil, nil), next: nil)
      }
    }
  }

  /// When to call again if there is no input. Nil: only an input can change the plan.
  package func nextDeadline(at now: BootInstant) -> BootInstant? {
    if case .wait(let until, _) = decide(at: now) { until } else { nil }
  }

  /// Whether all due steps were done, and the current request has a deadline in the future, within the grace period: for
  /// the watchdog.
  package func isProgressing(at now: BootInstant) -> Bool {
    if case .act = decide(at: now), case .act = decide(at: now - BootInstant.grace) { return false }
    return [delivery.attemptDeadline, tokens.fetchDeadline].allSatisfy { $0?.isMissed(at: now) != true }
  }

  // MARK: - The decision

  /// A plan without its cause, which is computed on demand: decisions are made several times for each fix.
  enum Decision {
    case act(Plan.Step)
    case wait(until: BootInstant?, Obstacle)

    /// The same, but ends at `time` at the latest.
    func interrupted(at time: BootInstant?) -> Decision {
      guard case .wait(let until, let obstacle) = self, let time else { return self }
      return .wait(until: until.map { min($0, time) } ?? time, obstacle)
    }
  }

  /// What prevents a request; a `Cause` is derived from it.
  enum Obstacle {
    /// The run has ended.
    case finished
    case paused(PauseRecord)
    /// The driver is off duty, and OFFLINE is pending: the next attempt; nil: a request is in flight.
    case offline(PauseRecord, Attempt?)
    /// The next attempt is not ready; nil: there is none, because there is no position or a request is in flight.
    case attempt(Attempt?)
    /// While stopping: a request is in flight.
    case lastRequest(since: BootInstant)
    /// While stopping: the final attempt needs a token.
    case lastToken
    /// While stopping: the final attempt is rate-limited.
    case lastLimit(until: BootInstant, by: Cause.Limit)
  }

  func decide(at now: BootInstant) -> Decision {
    let decision = decideInState(at: now)
    if case .act(.finish) = decision, leavesDuty, !lifecycle.isLeaving { return .act(.leave) }
    return decision
  }

  /// Whether the end of the run sets OFFLINE.
  var leavesDuty: Bool {
    configuration.goesOfflineOnStop && configuration.delivery.endpoint.followsPause && !isPaused
  }

  private func decideInState(at now: BootInstant) -> Decision {
    switch lifecycle.state {
    case .finished: return .wait(until: nil, .finished)
    case .leaving(let end, let attempted, _):
      guard now < end else { return .act(.finish) }
      return decideLast(.goOffline, delivery.earliestFinalOffline, by: end, attempted: attempted, at: now)
    case .stopping(let end, let attempted):
      return now < end ? decideToStop(by: end, attempted: attempted, at: now) : .act(.finish)
    case .draining(let end):
      guard now < end else { return .act(.finish) }
      // Nothing can be delivered during a pause.
      if let pause = pauseState.pause {
        return isOfflinePending ? decideOffline(pause, at: now).interrupted(at: end) : .act(.finish)
      }
      if let readAt = storeReading.dueAt, isDelivered || now >= readAt { return .act(.readStore) }
      if isDelivered, !storeReading.isPending { return .act(.finish) }
      return decideToReport(at: now).interrupted(at: end).interrupted(at: storeReading.dueAt)
    case .running:
      let (electionAt, missingAt) = (selector.nextDeadline, fixes.missingAt)
      if let electionAt, now >= electionAt { return .act(.selectSource) }
      if let missingAt, now >= missingAt { return .act(.reportFixMissing) }
      if let readAt = storeReading.dueAt, now >= readAt { return .act(.readStore) }
      let decision = pauseState.pause.map { decideOffDuty($0, at: now) } ?? decideToReport(at: now)
      return decision.interrupted(at: missingAt).interrupted(at: electionAt).interrupted(at: storeReading.dueAt)
    }
  }

  /// Whether all positions of a source that has ended were delivered.
  private var isDelivered: Bool {
    delivery.isIdle && !delivery.hasPending && delivery.backlog.isEmpty
      && (policy.newest.map { $0.time == delivery.delivered?.time } ?? true)
  }

  private func decideToReport(at now: BootInstant) -> Decision {
    guard let due = policy.next else { return decideToDeliverStored(at: now) }
    let isDue = now >= due.at
    guard delivery.isIdle else { return isDue ? .act(.enqueue) : .wait(until: due.at, .attempt(nil)) }
    let isDraining = isDraining
    let attempt = nextAttempt(of: policy.newest?.time, due: due.at, isDraining: isDraining, at: now)
    if attempt.isReady(at: now) {
      return .act(attempt.token == .valid ? .send(isDue: isDue || isDraining) : .askForToken)
    }
    // While updates succeed, a due report waits for the rate limit; otherwise it is enqueued when due.
    let enqueuesWhenDue =
      delivery.isFailing || network.isAbsent || attempt.isWithoutToken || attempt.limit == .offline
    if isDue, enqueuesWhenDue { return .act(.enqueue) }
    return Decision.wait(until: attempt.at, .attempt(attempt)).interrupted(at: enqueuesWhenDue ? due.at : nil)
  }

  /// Without a fix the stored positions are sent alone. They wait a little, so that a fix that comes soon goes first.
  private func decideToDeliverStored(at now: BootInstant) -> Decision {
    guard delivery.isIdle else { return .wait(until: nil, .attempt(nil)) }
    guard let stored = delivery.stored(until: storedLimit) else {
      // What an unconfirmed time suppresses is sent when that time expires.
      guard delivery.stored(until: nil) != nil, let lapse = storedLimit?.expiresAt else {
        return .wait(until: nil, .attempt(nil))
      }
      return now >= lapse ? .act(.reviewTime) : .wait(until: lapse, .attempt(nil))
    }
    let isNew = delivery.delivered.map { $0.time < stored.time } ?? true
    let grace = lifecycle.isRunning ? configuration.delivery.interval : .zero
    let due = isNew ? withoutFixSince + grace : .distantFuture
    let attempt = nextAttempt(of: isNew ? nil : stored.time, due: due, isDraining: false, at: now)
    if attempt.isReady(at: now) { return .act(attempt.token == .valid ? .send(isDue: isNew) : .askForToken) }
    guard let at = attempt.at, at < .distantFuture else { return .wait(until: nil, .attempt(nil)) }
    return .wait(until: at, .attempt(attempt))
  }

  /// A final attempt, which skips the backoff and the check for a network.
  private func decideToStop(by end: BootInstant, attempted: Bool, at now: BootInstant) -> Decision {
    if isPaused {
      // An update that would only repeat a position can be left to the next start.
      guard isOfflinePending, now >= offlineDue else { return .act(.finish) }
      return decideLast(.goOffline, delivery.earliestFinalOffline, by: end, attempted: attempted, at: now)
    }
    let hasPosition = policy.newest.map { $0.time != delivery.delivered?.time || delivery.hasPending } ?? false
    return decideLast(
      .send(isDue: true), delivery.earliestFinal, by: end, attempted: attempted || !hasPosition, at: now)
  }

  /// - Parameters:
  ///   - step: the final request of its kind.
  ///   - earliest: the earliest time, and the limit that determines it.
  ///   - attempted: whether it was made, or there is none to make.
  private func decideLast(
    _ step: Plan.Step, _ earliest: (at: BootInstant, by: Cause.Limit), by end: BootInstant, attempted: Bool,
    at now: BootInstant
  ) -> Decision {
    guard delivery.isIdle else { return .wait(until: end, .lastRequest(since: delivery.sentAt ?? now)) }
    let (at, limit) = earliest
    guard !attempted, at < end else { return .act(.finish) }
    guard tokens.hasToken(at: max(now, at)) else {
      // A token that is being fetched may arrive in time.
      return tokens.isFetching ? .wait(until: end, .lastToken) : .act(.finish)
    }
    return now >= at ? .act(step) : .wait(until: min(at, end), .lastLimit(until: at, by: limit))
  }

  // MARK: - Off duty

  private func decideOffDuty(_ pause: PauseRecord, at now: BootInstant) -> Decision {
    isOfflinePending ? decideOffline(pause, at: now) : .wait(until: nil, .paused(pause))
  }

  private func decideOffline(_ pause: PauseRecord, at now: BootInstant) -> Decision {
    guard delivery.isIdle else { return .wait(until: nil, .offline(pause, nil)) }
    let (earliest, limit) = delivery.earliestOffline
    let attempt = attempt(due: offlineDue, earliest: (max(earliest, network.earliest), limit), at: now)
    if attempt.isReady(at: now) { return .act(attempt.token == .valid ? .goOffline : .askForToken) }
    return .wait(until: attempt.at, .offline(pause, attempt))
  }

  // MARK: - The next attempt

  /// The next request, if none is in flight.
  struct Attempt {
    /// The token at the time of the request.
    enum Token { case valid, missing, fetching }

    /// When to send the request, or to request its token; nil: when the token arrives.
    var at: BootInstant?
    /// When it is due; `at` may be later.
    var due: BootInstant
    /// What delays it beyond `due`, other than the token.
    var limit: Cause.Limit?
    var token: Token
    /// At its time, the request has to wait for a token.
    var isWithoutToken: Bool

    func isReady(at now: BootInstant) -> Bool { at.map { now >= $0 } ?? false }
  }

  /// - Parameters:
  ///   - time: timestamp of the live position of a request for past positions alone; nil: none is made.
  ///   - due: when it is due.
  ///   - isDraining: whether it is the last position of a source that has ended, and not delivered yet.
  private func nextAttempt(
    of time: Timestamp?, due: BootInstant, isDraining: Bool, at now: BootInstant
  ) -> Attempt {
    let earliest = earliestAttempt
    var wantedAt = due
    // Stored positions are not urgent: a fix that comes first is sent before them.
    if delivery.hasPending && policy.newest != nil || isDraining {
      wantedAt = .boot
    } else if let time,
      let backfill = delivery.backfillDeadline(before: time, with: { tokens.token(at: max(now, $0, earliest.at)) })
    {
      wantedAt = min(due, backfill)
    }
    return attempt(due: wantedAt, earliest: earliest, at: now)
  }

  /// - Parameters:
  ///   - due: when the request is due.
  ///   - earliest: the earliest time, and the limit that determines it.
  private func attempt(
    due wantedAt: BootInstant, earliest: (at: BootInstant, by: Cause.Limit?), at now: BootInstant
  ) -> Attempt {
    let (earliest, limit) = earliest
    let at = max(wantedAt, earliest)
    var attempt = Attempt(
      at: at, due: wantedAt, limit: earliest > wantedAt ? limit : nil, token: .valid, isWithoutToken: false)
    guard !tokens.hasToken(at: max(now, at)) else { return attempt }
    attempt.token = tokens.isFetching ? .fetching : .missing
    attempt.at = tokens.isFetching ? nil : max(at, tokens.earliest)
    attempt.isWithoutToken = attempt.at != at
    return attempt
  }

  private func next(after obstacle: Obstacle) -> Plan.Next? {
    if case .offline(_, let attempt?) = obstacle {
      return attempt.isWithoutToken ? .token(attempt.at) : .retry(attempt.at ?? .boot)
    }
    guard case .attempt(let attempt?) = obstacle else { return nil }
    if attempt.isWithoutToken { return .token(attempt.at) }
    let at = attempt.at ?? .boot
    if delivery.hasPending { return delivery.failure == nil ? .report(at) : .retry(at) }
    if attempt.limit != nil { return .report(at) }
    let expected = max(policy.expected(hasFixes: !fixes.isLost) ?? at, earliestAttempt.at)
    return policy.isParked || fixes.isLost ? .heartbeat(expected) : .report(expected)
  }

  /// Whether a source that has ended reported a position that is not delivered yet.
  private var isDraining: Bool {
    guard case .draining = lifecycle.state, let newest = policy.newest else { return false }
    return newest.time != delivery.delivered?.time && delivery.mayBeLive(newest)
  }

  /// The earliest time of the next attempt, and the limit that determines it.
  private var earliestAttempt: (at: BootInstant, by: Cause.Limit?) {
    let awake = fixes.awakeAt
    let (at, limit) = delivery.earliest
    let last = max(at, network.earliest)
    return awake > last ? (awake, .waking) : (last, limit)
  }

  private func cause(of obstacle: Obstacle) -> Cause {
    switch obstacle {
    case .finished: .stopping(until: nil, nil)
    case .paused(let pause): .paused(pause, offline: nil)
    case .offline(let pause, let attempt): .paused(pause, offline: offlineCause(attempt))
    case .attempt(let attempt): cause(attempt: attempt)
    case .lastRequest(let since): .inFlight(since: since)
    case .lastToken: .noToken(tokens.lastFailure, since: tokens.failingSince)
    case .lastLimit(let until, let limit): .rateLimited(until: until, by: limit)
    }
  }

  /// The first obstacle. The order of the tests is the precedence of causes.
  ///
  /// - Parameter attempt: nil if a request is in flight, or there is no position to send.
  private func cause(attempt: Attempt?) -> Cause {
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
    return .notDue(until: max(policy.expected(hasFixes: !fixes.isLost) ?? at, earliestAttempt.at))
  }

  /// Why OFFLINE has not been accepted yet.
  private func offlineCause(_ attempt: Attempt?) -> Cause? {
    if let cause = requestCause(attempt) { return cause }
    guard let attempt else { return nil }
    let at = attempt.at ?? attempt.due
    return attempt.limit.map { .rateLimited(until: at, by: $0) } ?? .notDue(until: at)
  }

  /// The obstacle for any request; nil if there is none but the time.
  private func requestCause(_ attempt: Attempt?) -> Cause? {
    if let since = network.absentSince { return .noNetwork(since: since) }
    // If Fleet Engine rejects the provider's tokens, that is the cause.
    if let attempt, attempt.isWithoutToken, tokens.lastFailure != nil || delivery.failure == nil {
      return .noToken(tokens.lastFailure, since: tokens.failingSince)
    }
    if let failure = delivery.failure { return .failed(failure, since: delivery.failingSince) }
    return delivery.sentAt.map { .inFlight(since: $0) }
  }
}
