// SPDX-License-Identifier: Apache-2.0
import Authorization
import FleetEngine
import HTTPMessages
import Positioning
package import Timekeeping

extension VehicleAgent {
  /// When to call again, if nothing happens before. Nil: only the world can move things on.
  package func nextDeadline(at now: BootInstant) -> BootInstant? {
    var deadlines = [BootInstant]()
    switch phase {
    case .finished: return nil
    case .stopping(let until, let attempted):
      // Only the last attempt matters now, and the end.
      let isWaiting = delivery.isIdle && !attempted && tokens.token(at: now) != nil
      return isWaiting ? min(until, delivery.earliestLast) : until
    case .draining(let until): deadlines.append(until)
    case .running:
      if lastFix != nil, !isFixLost { deadlines.append(lastFixAt + VehicleAgent.fixLostAfter) }
    }
    guard let newest = policy.newest, !isPaused else { return deadlines.min() }
    if let due = policy.nextDeadline {
      // While all is well a report that is due waits for its turn; else it goes to the backlog when it is due.
      deadlines.append(delivery.isIdle && !keepsWhatIsDue ? max(due, earliest) : due)
    }
    if delivery.isIdle {
      if tokens.token(at: now) == nil, tokens.isFetching || tokens.nextDeadline(at: now) != nil {
        if let retry = tokens.nextDeadline(at: now) { deadlines.append(max(retry, earliest)) }
      } else if delivery.isOwing || isDraining(newest) {
        deadlines.append(earliest)
      } else if let backfill = delivery.backfillDeadline(for: newest, with: tokens.token(at: now)) {
        deadlines.append(max(backfill, earliest))
      }
    }
    return deadlines.min()
  }

  private func isDraining(_ newest: VehicleLocation) -> Bool {
    guard case .draining = phase else { return false }
    return newest.time != delivery.delivered?.time && delivery.mayBeLive(newest)
  }

  /// Does what can be done now.
  mutating func proceed(at now: Moment, _ effects: inout [Effect]) {
    guard !isPaused else {
      // Nothing more can be delivered: who wants to end, ends.
      return phase == .running || phase == .finished ? () : finish(at: now, &effects)
    }
    switch phase {
    case .finished: return
    case .stopping(let until, let attempted): stop(until, attempted: attempted, at: now, &effects)
    case .draining(let until):
      report(at: now, &effects)
      drain(until, at: now, &effects)
    case .running: report(at: now, &effects)
    }
  }

  private mutating func report(at now: Moment, _ effects: inout [Effect]) {
    guard let newest = policy.newest else { return }
    let reason = policy.reason(at: now.boot)
    guard delivery.isIdle else {
      if reason != nil { keep(newest, at: now, &effects) }
      return
    }
    let token = tokens.token(at: now.boot)
    let wants =
      reason != nil || delivery.isOwing || isDraining(newest)
      || delivery.isBackfillDue(for: newest, with: token, at: now.boot)
    guard wants else { return }
    guard now.boot >= earliest else {
      if reason != nil, keepsWhatIsDue { keep(newest, at: now, &effects) }
      return
    }
    if !attempt(newest, isOwed: reason != nil || isDraining(newest), at: now, &effects), reason != nil {
      keep(newest, at: now, &effects)
    }
  }

  /// Sends the newest position, if there is a token; else sees to one.
  private mutating func attempt(
    _ newest: VehicleLocation, isOwed: Bool, at now: Moment, _ effects: inout [Effect]
  ) -> Bool {
    apply(tokens.handle(.needed, at: now), at: now, &effects)
    guard let token = tokens.token(at: now.boot),
      let (id, request) = delivery.begin(newest, isOwed: isOwed, token: token, at: now.boot)
    else { return false }
    statistics.attempts += 1
    outcomes.begin(at: now.boot)
    // Until it has arrived it is on the backlog: a power cut costs no more than the store's delay.
    if isOwed { follow(delivery.record(newest), at: now.boot, &effects) }
    // An attempt that nobody asked for counts when it arrives: a row of failed ones must not put off what is due.
    if isOwed { policy.take(at: now.boot) }
    effects.append(.sendUpdate(id: id, request))
    return true
  }

  /// A position that is due and cannot go now.
  private mutating func keep(_ newest: VehicleLocation, at now: Moment, _ effects: inout [Effect]) {
    policy.take(at: now.boot)
    follow(delivery.record(newest), at: now.boot, &effects)
  }

  // MARK: - The end

  private mutating func drain(_ until: BootInstant, at now: Moment, _ effects: inout [Effect]) {
    if now.boot >= until { return finish(at: now, &effects) }
    let isDelivered =
      (policy.newest.map { $0.time == delivery.delivered?.time } ?? true)
      && !delivery.isOwing && delivery.backlog.isEmpty
    if delivery.isIdle, isDelivered { finish(at: now, &effects) }
  }

  private mutating func stop(_ until: BootInstant, attempted: Bool, at now: Moment, _ effects: inout [Effect]) {
    guard now.boot < until else { return finish(at: now, &effects) }
    guard delivery.isIdle else { return }
    guard !attempted, let newest = policy.newest, newest.time != delivery.delivered?.time || delivery.isOwing,
      delivery.earliestLast < until
    else { return finish(at: now, &effects) }
    guard tokens.token(at: now.boot) != nil else {
      // One that is on its way may come in time.
      return tokens.isFetching ? () : finish(at: now, &effects)
    }
    guard now.boot >= delivery.earliestLast else { return }
    phase = .stopping(until: until, attempted: true)
    if !attempt(newest, isOwed: true, at: now, &effects) { finish(at: now, &effects) }
  }

  /// Ends everything; what could not be delivered is in the backlog then, for the next start.
  private mutating func finish(at now: Moment, _ effects: inout [Effect]) {
    let (cancelled, changes) = delivery.abandon()
    if let cancelled { effects.append(.cancelUpdate(id: cancelled)) }
    follow(changes, at: now.boot, &effects)
    var missing = 0
    if !isPaused, let newest = policy.newest, newest.time != delivery.delivered?.time {
      follow(delivery.record(newest), at: now.boot, &effects)
      if !delivery.backlog.holds(newest.time) { missing = 1 }
    }
    phase = .finished
    effects.append(.finished(undelivered: delivery.backlog.count + missing))
  }

  // MARK: - Outcomes

  mutating func updateEnded(_ id: UInt64, _ outcome: HTTPOutcome, at now: Moment, _ effects: inout [Effect]) {
    let result = UpdateOutcome(outcome)
    guard let (conclusion, changes, token) = delivery.finish(id, result, at: now.boot) else { return }
    if result.isFromFleetEngine, let time = outcome.date { clocks.observe(.fleetEngine, time, at: now.boot) }
    follow(changes, at: now.boot, &effects)
    switch conclusion {
    case .accepted(let live, let sentAt, let delivered):
      // One that went in the place of a refused one changes nothing: what is known is told again at the heartbeat.
      if let newest = policy.newest, !delivery.mayBeLive(newest) {
        policy.take(at: sentAt)
      } else {
        policy.take(live, at: sentAt)
      }
      statistics.accepted += 1
      outcomes.accepted(past: delivered, at: now.boot)
      network.reached()
      statistics.backfilled += delivered
      apply(tokens.handle(.accepted, at: now), at: now, &effects)
      let notices = outages.accepted(
        wasOnline: isOnline, delivered: delivered, waiting: delivery.backlog.count, at: now.boot)
      isOnline = true
      effects += notices.map { .event($0) }
      effects.append(
        .event(.updateAccepted(past: delivered, at: configuration.tellsPositions ? delivery.delivered : nil)))
    case .suspectsBacklog(let failure):
      statistics.failed[failure.category, default: 0] += 1
      outcomes.failed(failure.category, at: now.boot)
      if let (_, suppressed) = backfillRefusals.admit(failure.category.rawValue, at: now.boot) {
        effects.append(.event(.backfillRefused(failure, suppressed: suppressed)))
      }
    case .failed(let failure, _):
      statistics.failed[failure.category, default: 0] += 1
      outcomes.failed(failure.category, at: now.boot)
      isOnline = false
      if failure.category.row.isOfPath {
        network.failed(at: now.boot)
      } else if failure.httpStatus != nil {
        network.reached()
      }
      if failure.refusesToken {
        apply(tokens.handle(.refused(token), at: now), at: now, &effects)
      }
      if let notice = outages.failed(failure, at: now.boot) { effects.append(.event(notice)) }
    }
  }

  mutating func tokenEnded(_ id: UInt64, _ outcome: TokenOutcome, at now: Moment, _ effects: inout [Effect]) {
    // An expiration is held against the best time there is.
    let best = Moment(boot: now.boot, wall: clocks.time(at: now.boot)?.0 ?? now.wall)
    let changes = tokens.handle(.answered(id: id, outcome), at: best)
    // Who has a token to give is the provider; what else answers may be a portal with a clock of its own.
    if case .http(let answer) = outcome, let time = answer.date,
      changes.contains(where: { if case .obtained = $0 { true } else { false } })
    {
      clocks.observe(.tokenProvider, time, at: now.boot)
    }
    apply(changes, at: now, &effects)
  }

  mutating func apply(_ tokenEffects: [TokenAgent.Effect], at now: Moment, _ effects: inout [Effect]) {
    for effect in tokenEffects {
      switch effect {
      case .fetch(let id, let request):
        statistics.tokenFetches += 1
        effects.append(.fetchToken(id: id, request))
      case .cancelFetch(let id):
        effects.append(.cancelToken(id: id))
      case .obtained(let token):
        statistics.tokens += 1
        tokenFailures.end()
        let without = tokenlessSince.map { now.boot - $0 }
        effects.append(.event(.tokenObtained(token, isFirst: statistics.tokens == 1, after: without, at: now.boot)))
        tokenlessSince = nil
        keep(token, &effects)
      case .restored(let token): effects.append(.event(.tokenRestored(token, at: now.boot)))
      case .forget: if configuration.tokenKey != nil { effects.append(.forgetToken) }
      case .failed(let failure, _):
        if case .transport = failure.reason { network.failed(at: now.boot) }
        statistics.tokenFailures[failure.reason.name, default: 0] += 1
        tokenlessSince = tokenlessSince ?? now.boot
        if let (_, suppressed) = tokenFailures.admit(failure.reason.name, at: now.boot) {
          let left = tokens.token(at: now.boot).map { $0.deadline - now.boot }
          effects.append(.event(.tokenFailed(failure, left: left, suppressed: suppressed)))
        }
      case .remarked(let lines):
        for line in lines { effects.append(.event(.tokenRemark(line))) }
      case .keepsBeingRefused(let token, let retry):
        let wall = now.wall >= configuration.filter.buildDate ? now.wall : nil
        let inspection = TokenInspection(
          of: token.secret, for: token.context, at: clocks.time(at: now.boot)?.0 ?? wall)
        effects.append(.event(.tokenRefused(delivery.failure, inspection.refusal, retry: retry)))
      }
    }
  }
}
