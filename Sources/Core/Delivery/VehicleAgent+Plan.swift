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
    switch lifecycle.state {
    case .finished: return .wait(until: nil, for: .stopping(until: nil, nil), next: nil)
    case .stopping(let end, let attempted):
      return now < end ? planToStop(by: end, attempted: attempted, at: now) : .act(.finish)
    case .draining(let end):
      // Nothing more can be delivered during a pause.
      return now >= end || isPaused || isDelivered ? .act(.finish) : planToReport(at: now).stopping(by: end)
    case .running:
      if let electionAt = selector.nextDeadline, now >= electionAt { return .act(.electSource) }
      if let missingAt = fixes.missingAt, now >= missingAt { return .act(.reportFixMissing) }
      if let pause = duty.pause {
        return Plan.wait(until: fixes.missingAt, for: .paused(pause), next: nil).interrupted(at: selector.nextDeadline)
      }
      return planToReport(at: now).interrupted(at: fixes.missingAt).interrupted(at: selector.nextDeadline)
    }
  }

  /// When to call again, if nothing happens before. Nil: only an input can move things on.
  package func nextDeadline(at now: BootInstant) -> BootInstant? { plan(at: now).until }

  /// Whether what is due has been done, and what is under way has a deadline still to come, give or take half a minute: what
  /// the watchdog asks.
  package func isProgressing(at now: BootInstant) -> Bool {
    if case .act = plan(at: now), case .act = plan(at: now - BootInstant.grace) { return false }
    return [delivery.attemptDeadline, tokens.fetchDeadline].allSatisfy { $0?.isMissed(at: now) != true }
  }

  /// Whether Fleet Engine has all that a source that has ended gave.
  private var isDelivered: Bool {
    delivery.isIdle && !delivery.isOwing && delivery.backlog.isEmpty
      && (policy.newest.map { $0.time == delivery.delivered?.time } ?? true)
  }

  private func planToReport(at now: BootInstant) -> Plan {
    guard let newest = policy.newest, let due = policy.next else {
      return .wait(until: nil, for: cause(attempt: nil), next: nil)
    }
    let isDue = now >= due.at
    guard delivery.isIdle else {
      return isDue ? .act(.enqueue) : .wait(until: due.at, for: cause(attempt: nil), next: nil)
    }
    let isOwed = isDue || isDraining(newest)
    let attempt = nextAttempt(of: newest, due: due.at, at: now)
    if attempt.isReady(at: now) { return .act(attempt.token == .valid ? .send(isOwed: isOwed) : .askForToken) }
    // While all is well a report that is due waits for its turn; else it goes to the backlog when it is due.
    let enqueuesWhenDue = delivery.failure != nil || network.isAbsent || attempt.isWithoutToken
    if isDue, enqueuesWhenDue { return .act(.enqueue) }
    let until = [attempt.at, enqueuesWhenDue ? due.at : nil].compactMap(\.self).min()
    return .wait(until: until, for: cause(attempt: attempt), next: next(attempt))
  }

  /// One last attempt, for which neither a backoff nor a missing network is waited for.
  private func planToStop(by end: BootInstant, attempted: Bool, at now: BootInstant) -> Plan {
    guard !isPaused else { return .act(.finish) }
    guard delivery.isIdle else {
      return Plan.wait(until: nil, for: .inFlight(since: delivery.sentAt ?? now), next: nil).stopping(by: end)
    }
    let (at, limit) = delivery.earliestLast
    guard !attempted, at < end, let newest = policy.newest,
      newest.time != delivery.delivered?.time || delivery.isOwing
    else { return .act(.finish) }
    guard tokens.token(at: max(now, at)) != nil else {
      // One that is being fetched may come in time.
      guard tokens.isFetching else { return .act(.finish) }
      return Plan.wait(until: nil, for: .noToken(tokens.lastFailure, since: tokens.failingSince), next: nil)
        .stopping(by: end)
    }
    if now >= at { return .act(.send(isOwed: true)) }
    return Plan.wait(until: at, for: .rateLimited(until: at, by: limit), next: nil).stopping(by: end)
  }

  // MARK: - The next attempt

  /// The next request, as long as none is under way.
  private struct Attempt {
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

  /// - Parameter due: when `newest` is due.
  private func nextAttempt(of newest: VehicleLocation, due: BootInstant, at now: BootInstant) -> Attempt {
    let (earliest, limit) = earliestAttempt
    var wantedAt = due
    if delivery.isOwing || isDraining(newest) {
      wantedAt = .boot
    } else if let backfill = delivery.backfillDeadline(
      for: newest, with: { tokens.token(at: max(now, $0, earliest)) })
    {
      wantedAt = min(due, backfill)
    }
    let at = max(wantedAt, earliest)
    var attempt = Attempt(
      at: at, due: wantedAt, limit: earliest > wantedAt ? limit : nil, token: .valid, isWithoutToken: false)
    guard tokens.token(at: max(now, at)) == nil else { return attempt }
    attempt.token = tokens.isFetching ? .fetching : .missing
    attempt.at = tokens.isFetching ? nil : max(at, tokens.earliest)
    attempt.isWithoutToken = attempt.at != at
    return attempt
  }

  private func next(_ attempt: Attempt) -> Plan.Next {
    if attempt.isWithoutToken { return .token(attempt.at) }
    let at = attempt.at ?? .boot
    if delivery.isOwing { return delivery.failure == nil ? .report(at) : .retry(at) }
    if attempt.limit != nil { return .report(at) }
    let expected = max(policy.expected(hasFixes: !fixes.isLost) ?? at, earliestAttempt.at)
    return policy.isParked || fixes.isLost ? .heartbeat(expected) : .report(expected)
  }

  /// Whether a source that has ended has given a position that is not at Fleet Engine yet.
  private func isDraining(_ newest: VehicleLocation) -> Bool {
    guard case .draining = lifecycle.state else { return false }
    return newest.time != delivery.delivered?.time && delivery.mayBeLive(newest)
  }

  /// The earliest time of the next attempt, and what makes it so late.
  private var earliestAttempt: (at: BootInstant, by: Cause.Limit?) {
    let awake = fixes.awakeAt
    let (at, limit) = delivery.earliest
    let last = max(at, network.earliest)
    return awake > last ? (awake, .waking) : (last, limit)
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
    if let since = network.absentSince { return .noNetwork(since: since) }
    // Where Fleet Engine refuses the tokens that the provider gives, that is what is wrong.
    if let attempt, attempt.isWithoutToken, tokens.lastFailure != nil || delivery.failure == nil {
      return .noToken(tokens.lastFailure, since: tokens.failingSince)
    }
    if let failure = delivery.failure { return .failed(failure, since: delivery.failingSince) }
    if let sentAt = delivery.sentAt { return .inFlight(since: sentAt) }
    guard let attempt else { return .noFix(since: nil, fixes.rejection) }
    let at = attempt.at ?? attempt.due
    if let limit = attempt.limit { return .rateLimited(until: at, by: limit) }
    return .notDue(until: max(policy.expected(hasFixes: !fixes.isLost) ?? at, earliestAttempt.at))
  }
}
