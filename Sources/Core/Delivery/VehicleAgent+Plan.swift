// SPDX-License-Identifier: Apache-2.0
import Authorization
import FleetEngine
import HTTPMessages
import Positioning
package import Timekeeping

extension VehicleAgent {
  /// What happens next. Acting, waiting and reporting all follow it.
  ///
  /// A question about the future is asked of the time at which it matters (is there a token when the update goes?), so that
  /// the answer does not change while nothing but time passes.
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

  /// When to call again, if nothing happens before. Nil: only an input can move things on.
  package func nextDeadline(at now: BootInstant) -> BootInstant? {
    if case .wait(let until, _) = decide(at: now) { until } else { nil }
  }

  /// Whether what is due has been done, and what is under way has a deadline still to come, give or take half a minute: what
  /// the watchdog asks.
  package func isProgressing(at now: BootInstant) -> Bool {
    if case .act = decide(at: now), case .act = decide(at: now - BootInstant.grace) { return false }
    return [delivery.attemptDeadline, tokens.fetchDeadline].allSatisfy { $0?.isMissed(at: now) != true }
  }

  // MARK: - The decision

  /// A plan before its cause: asked several times for each fix, while causes are for those who read them.
  enum Decision {
    case act(Plan.Step)
    case wait(until: BootInstant?, Obstacle)

    /// The same, in which there is something to do at `time`.
    func interrupted(at time: BootInstant?) -> Decision {
      guard case .wait(let until, let obstacle) = self, let time else { return self }
      return .wait(until: until.map { min($0, time) } ?? time, obstacle)
    }
  }

  /// What keeps the agent from a request: what a cause is made of.
  enum Obstacle {
    /// The run has ended.
    case finished
    case paused(PauseNote)
    /// The driver is off duty, and OFFLINE is not accepted yet: the next attempt; nil: a request is under way.
    case offline(PauseNote, Attempt?)
    /// The next attempt is not ready; nil: none is possible, as there is no position or a request is under way.
    case attempt(Attempt?)
    /// Of a run that stops: a request that is under way.
    case lastRequest(since: BootInstant)
    /// Of a run that stops: the token for its last attempt.
    case lastToken
    /// Of a run that stops: its last attempt would come too soon.
    case lastLimit(until: BootInstant, by: Cause.Limit)
  }

  func decide(at now: BootInstant) -> Decision {
    let decision = decideInState(at: now)
    if case .act(.finish) = decision, leavesDuty, !lifecycle.isLeaving { return .act(.leave) }
    return decision
  }

  /// Whether the end of the run is the end of a duty.
  var leavesDuty: Bool {
    configuration.goesOfflineOnStop && configuration.delivery.endpoint.followsDuty && !isPaused
  }

  private func decideInState(at now: BootInstant) -> Decision {
    switch lifecycle.state {
    case .finished: return .wait(until: nil, .finished)
    case .leaving(let end, let attempted, _):
      guard now < end else { return .act(.finish) }
      return decideLast(.goOffline, delivery.earliestLastOffline, by: end, attempted: attempted, at: now)
    case .stopping(let end, let attempted):
      return now < end ? decideToStop(by: end, attempted: attempted, at: now) : .act(.finish)
    case .draining(let end):
      guard now < end else { return .act(.finish) }
      // Nothing more can be delivered during a pause.
      if let pause = duty.pause {
        return owesOffline ? decideOffline(pause, at: now).interrupted(at: end) : .act(.finish)
      }
      if let readAt = storeReading.dueAt, isDelivered || now >= readAt { return .act(.readStore) }
      if isDelivered, !storeReading.isPending { return .act(.finish) }
      return decideToReport(at: now).interrupted(at: end).interrupted(at: storeReading.dueAt)
    case .running:
      let (electionAt, missingAt) = (selector.nextDeadline, fixes.missingAt)
      if let electionAt, now >= electionAt { return .act(.electSource) }
      if let missingAt, now >= missingAt { return .act(.reportFixMissing) }
      if let readAt = storeReading.dueAt, now >= readAt { return .act(.readStore) }
      let decision = duty.pause.map { decideOffDuty($0, at: now) } ?? decideToReport(at: now)
      return decision.interrupted(at: missingAt).interrupted(at: electionAt).interrupted(at: storeReading.dueAt)
    }
  }

  /// Whether Fleet Engine has all that a source that has ended gave.
  private var isDelivered: Bool {
    delivery.isIdle && !delivery.isOwing && delivery.backlog.isEmpty
      && (policy.newest.map { $0.time == delivery.delivered?.time } ?? true)
  }

  private func decideToReport(at now: BootInstant) -> Decision {
    guard let due = policy.next else { return decideToDeliverStored(at: now) }
    let isDue = now >= due.at
    guard delivery.isIdle else { return isDue ? .act(.enqueue) : .wait(until: due.at, .attempt(nil)) }
    let isDraining = isDraining
    let attempt = nextAttempt(of: policy.newest?.time, due: due.at, isDraining: isDraining, at: now)
    if attempt.isReady(at: now) {
      return .act(attempt.token == .valid ? .send(isOwed: isDue || isDraining) : .askForToken)
    }
    // While all is well a report that is due waits for its turn; else it goes to the backlog when it is due.
    let enqueuesWhenDue =
      delivery.isFailing || network.isAbsent || attempt.isWithoutToken || attempt.limit == .offline
    if isDue, enqueuesWhenDue { return .act(.enqueue) }
    return Decision.wait(until: attempt.at, .attempt(attempt)).interrupted(at: enqueuesWhenDue ? due.at : nil)
  }

  /// There is no fix, and perhaps none will come: what is stored does not wait for one. A fix that comes soon goes first.
  private func decideToDeliverStored(at now: BootInstant) -> Decision {
    guard delivery.isIdle else { return .wait(until: nil, .attempt(nil)) }
    guard let stored = delivery.stored(until: storedLimit) else {
      // What a single word about the time holds back goes when the word lapses.
      guard delivery.stored(until: nil) != nil, let lapse = storedLimit?.lapsesAt else {
        return .wait(until: nil, .attempt(nil))
      }
      return now >= lapse ? .act(.reviewTime) : .wait(until: lapse, .attempt(nil))
    }
    let isNew = delivery.delivered.map { $0.time < stored.time } ?? true
    let grace = lifecycle.isRunning ? configuration.delivery.interval : .zero
    let due = isNew ? withoutFixSince + grace : .distantFuture
    let attempt = nextAttempt(of: isNew ? nil : stored.time, due: due, isDraining: false, at: now)
    if attempt.isReady(at: now) { return .act(attempt.token == .valid ? .send(isOwed: isNew) : .askForToken) }
    guard let at = attempt.at, at < .distantFuture else { return .wait(until: nil, .attempt(nil)) }
    return .wait(until: at, .attempt(attempt))
  }

  /// One last attempt, for which neither a backoff nor a missing network is waited for.
  private func decideToStop(by end: BootInstant, attempted: Bool, at now: BootInstant) -> Decision {
    if isPaused {
      // What is sent once more can as well be sent at the next start.
      guard owesOffline, now >= offlineDue else { return .act(.finish) }
      return decideLast(.goOffline, delivery.earliestLastOffline, by: end, attempted: attempted, at: now)
    }
    let hasPosition = policy.newest.map { $0.time != delivery.delivered?.time || delivery.isOwing } ?? false
    return decideLast(
      .send(isOwed: true), delivery.earliestLast, by: end, attempted: attempted || !hasPosition, at: now)
  }

  /// - Parameters:
  ///   - step: the last request of its kind.
  ///   - earliest: when it may go, and what makes it so late.
  ///   - attempted: whether it has been made, or there is none to make.
  private func decideLast(
    _ step: Plan.Step, _ earliest: (at: BootInstant, by: Cause.Limit), by end: BootInstant, attempted: Bool,
    at now: BootInstant
  ) -> Decision {
    guard delivery.isIdle else { return .wait(until: end, .lastRequest(since: delivery.sentAt ?? now)) }
    let (at, limit) = earliest
    guard !attempted, at < end else { return .act(.finish) }
    guard tokens.hasToken(at: max(now, at)) else {
      // One that is being fetched may come in time.
      return tokens.isFetching ? .wait(until: end, .lastToken) : .act(.finish)
    }
    return now >= at ? .act(step) : .wait(until: min(at, end), .lastLimit(until: at, by: limit))
  }

  // MARK: - Off duty

  private func decideOffDuty(_ pause: PauseNote, at now: BootInstant) -> Decision {
    owesOffline ? decideOffline(pause, at: now) : .wait(until: nil, .paused(pause))
  }

  private func decideOffline(_ pause: PauseNote, at now: BootInstant) -> Decision {
    guard delivery.isIdle else { return .wait(until: nil, .offline(pause, nil)) }
    let (earliest, limit) = delivery.earliestOffline
    let attempt = attempt(due: offlineDue, earliest: (max(earliest, network.earliest), limit), at: now)
    if attempt.isReady(at: now) { return .act(attempt.token == .valid ? .goOffline : .askForToken) }
    return .wait(until: attempt.at, .offline(pause, attempt))
  }

  // MARK: - The next attempt

  /// The next request, as long as none is under way.
  struct Attempt {
    /// The token that it would go with.
    enum Token { case valid, missing, fetching }

    /// When the request goes, or the token for it is asked for; nil: when the token has come.
    var at: BootInstant?
    /// When it is due; `at` may be later.
    var due: BootInstant
    /// What is later than `due`, other than the token.
    var limit: Cause.Limit?
    var token: Token
    /// The request, when it is due, waits for a token.
    var isWithoutToken: Bool

    func isReady(at now: BootInstant) -> Bool { at.map { now >= $0 } ?? false }
  }

  /// - Parameters:
  ///   - time: of the position that would go as the live one for past positions alone; nil: it does not go for them.
  ///   - due: when it is due.
  ///   - isDraining: whether it is the last one, and not at Fleet Engine yet.
  private func nextAttempt(
    of time: Timestamp?, due: BootInstant, isDraining: Bool, at now: BootInstant
  ) -> Attempt {
    let earliest = earliestAttempt
    var wantedAt = due
    // What is stored is not hurried: the fix that comes first goes before it.
    if delivery.isOwing && policy.newest != nil || isDraining {
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
  ///   - earliest: when it may go, and what makes it so late.
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
    if delivery.isOwing { return delivery.failure == nil ? .report(at) : .retry(at) }
    if attempt.limit != nil { return .report(at) }
    let expected = max(policy.expected(hasFixes: !fixes.isLost) ?? at, earliestAttempt.at)
    return policy.isParked || fixes.isLost ? .heartbeat(expected) : .report(expected)
  }

  /// Whether a source that has ended has given a position that is not at Fleet Engine yet.
  private var isDraining: Bool {
    guard case .draining = lifecycle.state, let newest = policy.newest else { return false }
    return newest.time != delivery.delivered?.time && delivery.mayBeLive(newest)
  }

  /// The earliest time of the next attempt, and what makes it so late.
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

  /// What stands in the way first. The order of the tests is the precedence of causes.
  ///
  /// - Parameter attempt: nil when a request is under way, or there is no position to send.
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

  /// What stands in the way of any request; nil when nothing does but the time.
  private func requestCause(_ attempt: Attempt?) -> Cause? {
    if let since = network.absentSince { return .noNetwork(since: since) }
    // Where Fleet Engine refuses the tokens that the provider gives, that is what is wrong.
    if let attempt, attempt.isWithoutToken, tokens.lastFailure != nil || delivery.failure == nil {
      return .noToken(tokens.lastFailure, since: tokens.failingSince)
    }
    if let failure = delivery.failure { return .failed(failure, since: delivery.failingSince) }
    return delivery.sentAt.map { .inFlight(since: $0) }
  }
}
