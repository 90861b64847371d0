// SPDX-License-Identifier: Apache-2.0
import Authorization
import FleetEngine
import HTTPMessages
import Positioning
import Timekeeping

extension VehicleAgent {
  /// Does what can be done now: each step changes what the next decision is made of, until there is something to wait for.
  mutating func proceed(at now: Moment, _ effects: inout [Effect]) {
    while case .act(let step) = decide(at: now.boot) {
      switch step {
      case .reportFixMissing:
        report(fixes.miss(inView: selector.overview.satellitesInView, at: now.boot), &effects)
      case .electSource: select(.deadline, at: now, &effects)
      case .readStore: readStore(&effects)
      case .reviewTime: watchClock(at: now, &effects)
      case .enqueue: enqueue(at: now, &effects)
      case .askForToken: apply(tokens.handle(.needed, at: now), at: now, &effects)
      case .send(let isOwed): send(isOwed: isOwed, at: now, &effects)
      case .goOffline: goOffline(at: now, &effects)
      case .leave: leave(at: now, &effects)
      case .finish: finish(at: now, &effects)
      }
    }
  }

  /// Sends the newest position.
  private mutating func send(isOwed: Bool, at now: Moment, _ effects: inout [Effect]) {
    lifecycle.attempt()
    // A token near its end is succeeded while it serves.
    apply(tokens.handle(.needed, at: now), at: now, &effects)
    guard let newest = policy.newest ?? delivery.stored(until: storedLimit), let token = tokens.token(at: now.boot)
    else { return }
    statistics.attempts += 1
    storedSent = policy.newest == nil ? newest.time : nil
    // An attempt that nothing called for counts when it arrives: a row of failed ones must not put off what is due.
    if isOwed { policy.take(at: now.boot) }
    select(.reported(newest.time), at: now, &effects)
    apply(delivery.handle(.send(newest, isOwed: isOwed, token: token), at: now.boot), at: now, &effects)
  }

  /// A position that is due goes to the backlog, and counts as reported.
  private mutating func enqueue(at now: Moment, _ effects: inout [Effect]) {
    guard let newest = policy.newest else { return }
    policy.take(at: now.boot)
    select(.reported(newest.time), at: now, &effects)
    apply(delivery.handle(.due(newest), at: now.boot), at: now, &effects)
  }

  /// Sets the vehicle's state to OFFLINE.
  private mutating func goOffline(at now: Moment, _ effects: inout [Effect]) {
    lifecycle.attempt()
    apply(tokens.handle(.needed, at: now), at: now, &effects)
    guard let token = tokens.token(at: now.boot) else { return }
    statistics.attempts += 1
    apply(delivery.handle(.goOffline(token: token), at: now.boot), at: now, &effects)
  }

  // MARK: - The end

  /// Sends no position any more; one that is under way is pending in the backlog. Its connection is closed, so that OFFLINE neither waits
  /// behind it nor comes before it.
  private mutating func leave(at now: Moment, _ effects: inout [Effect]) {
    if !delivery.isIdle {
      statistics.abandoned += 1
      apply(delivery.handle(.connectionsLost, at: now.boot), at: now, &effects)
      effects.append(.dropConnections)
    }
    lifecycle.leave()
  }

  /// Ends everything; what could not be delivered is in the backlog then, for the next start.
  private mutating func finish(at now: Moment, _ effects: inout [Effect]) {
    apply(delivery.handle(.connectionsLost, at: now.boot), at: now, &effects)
    var missing = 0
    if !isPaused, let newest = policy.newest, newest.time != delivery.delivered?.time {
      apply(delivery.handle(.due(newest), at: now.boot), at: now, &effects)
      if !delivery.backlog.holds(newest.time) { missing = 1 }
    }
    if owesOffline || leavesDuty && delivery.vehicleState != .offline {
      let vehicle = configuration.delivery.endpoint.vehicle.vehicleID
      effects.append(.event(.stateOfflineMissing(vehicle: vehicle, isRepeated: isPaused)))
    }
    effects.append(.finished(lifecycle.finish(undelivered: delivery.backlog.count + missing, statistics)))
  }

  // MARK: - Outcomes

  private var service: FleetEngineService { configuration.delivery.endpoint.vehicle.service }

  mutating func updateEnded(_ id: UInt64, _ outcome: HTTPOutcome, at now: Moment, _ effects: inout [Effect]) {
    let result = UpdateOutcome(outcome, from: service)
    let sentAt = delivery.sentAt
    let changes = delivery.handle(.ended(id: id, result), at: now.boot)
    // Not of a request that was given up.
    guard !changes.isEmpty else { return }
    storeReading.requestEnded()
    certificates.note(outcome)
    if result.isFromFleetEngine, let time = outcome.date {
      clocks.observe(.fleetEngine, time, sentAt: sentAt, at: now.boot)
    }
    apply(changes, at: now, &effects)
  }

  mutating func apply(_ deliveryEffects: [DeliveryAgent.Effect], at now: Moment, _ effects: inout [Effect]) {
    for effect in deliveryEffects {
      switch effect {
      case .send(let id, var request):
        request.certificateTime = certificateTime(at: now)
        keepLimits(&effects)
        effects.append(.sendUpdate(id: id, request))
      case .cancel(let id): effects.append(.cancelUpdate(id: id))
      case .backlog(let change): follow(change, at: now.boot, &effects)
      case .accepted(let live, let sentAt, let past):
        accepted(live, sentAt: sentAt, past: past, at: now, &effects)
      case .wentOffline(let sentAt):
        countAccepted(past: 0, sentAt: sentAt, at: now, &effects)
        acceptedOffline(sentAt: sentAt, at: now, &effects)
      case .offlineFailed(let failure, let token, let sentAt):
        count(failure, sentAt: sentAt, at: now.boot)
        // After a pause that has ended nothing is repeated, and this is the beginning of an outage like any other.
        let notice =
          isPaused || lifecycle.isLeaving
          ? notices.offlineFailed(failure, at: now.boot) : notices.updateFailed(failure, at: now.boot)
        failed(failure, with: token, notice, at: now, &effects)
      case .resends(let failure, let sentAt): count(failure, sentAt: sentAt, at: now.boot)
      case .suspectsBacklog(let failure, let sentAt):
        count(failure, sentAt: sentAt, at: now.boot)
        report(notices.backfillRefused(failure, at: now.boot), &effects)
      case .failed(let failure, let token, let sentAt):
        count(failure, sentAt: sentAt, at: now.boot)
        failed(failure, with: token, notices.updateFailed(failure, at: now.boot), at: now, &effects)
      }
    }
  }

  private mutating func accepted(
    _ live: VehicleLocation, sentAt: BootInstant, past: Int, at now: Moment, _ effects: inout [Effect]
  ) {
    // One that went in the place of a refused one changes nothing: what is known is repeated at the heartbeat.
    if let newest = policy.newest, !delivery.mayBeLive(newest) {
      policy.take(at: sentAt)
    } else if live.time != storedSent {
      policy.take(live, at: sentAt)
    }
    countAccepted(past: past, sentAt: sentAt, at: now, &effects)
    effects += notices.updateAccepted(past: past, pending: delivery.backlog.count, at: now.boot).map { .event($0) }
    effects.append(.event(.updateAccepted(past: past, at: configuration.tellsPositions ? live : nil)))
  }

  /// What follows from an update of any kind that Fleet Engine has accepted.
  private mutating func countAccepted(past: Int, sentAt: BootInstant, at now: Moment, _ effects: inout [Effect]) {
    keepLimits(&effects)
    statistics.accepted += 1
    statistics.backfilled += past
    outcomes.accepted(past: past, sentAt: sentAt, at: now.boot)
    network.reached()
    apply(tokens.handle(.accepted, at: now), at: now, &effects)
    if let since = unprovenSince, sentAt >= since {
      unprovenSince = nil
      effects.append(.settingsProven)
    }
  }

  private mutating func failed(
    _ failure: UpdateFailure, with token: AccessToken, _ notice: Event?, at now: Moment, _ effects: inout [Effect]
  ) {
    if failure.category.row.isOfPath {
      network.failed(at: now.boot)
    } else if failure.httpStatus != nil {
      network.reached()
    }
    if failure.refusesToken { apply(tokens.handle(.refused(token), at: now), at: now, &effects) }
    report(notice, &effects)
  }

  private mutating func count(_ failure: UpdateFailure, sentAt: BootInstant, at now: BootInstant) {
    statistics.failed[failure.category, default: 0] += 1
    outcomes.failed(failure.category, sentAt: sentAt, at: now)
  }

  mutating func tokenEnded(_ id: UInt64, _ outcome: TokenOutcome, at now: Moment, _ effects: inout [Effect]) {
    // An expiration is held against the best time there is.
    let known = clocks.time(at: now)
    let sentAt = tokens.fetchSentAt
    var withoutReceiver = tokens
    var changes = tokens.handle(.answered(id: id, outcome), at: Moment(boot: now.boot, wall: known?.0 ?? now.wall))
    // By a receiver alone no token is thrown away: without one Fleet Engine would never be asked what time it is.
    if known?.1 == .gnss, changes.contains(where: { $0.isExpired }) {
      let others = withoutReceiver.handle(.answered(id: id, outcome), at: now)
      if !others.contains(where: { $0.isFailure }) { (tokens, changes) = (withoutReceiver, others) }
    }
    // Who has a token to give is the provider; what else answers may be a portal with a clock of its own.
    if case .http(let answer) = outcome {
      certificates.note(answer)
      if let time = answer.date, changes.contains(where: { if case .obtained = $0 { true } else { false } }) {
        clocks.observe(.tokenProvider, time, sentAt: sentAt, at: now.boot)
      }
    }
    apply(changes, at: now, &effects)
  }

  mutating func apply(_ tokenEffects: [TokenAgent.Effect], at now: Moment, _ effects: inout [Effect]) {
    for effect in tokenEffects {
      switch effect {
      case .fetch(let id, let request):
        statistics.tokenFetches += 1
        let time = certificateTime(at: now)
        effects.append(.fetchToken(id: id, request.judgingCertificates(at: time)))
        // The first update of a run waits for both handshakes: they are made at the same time.
        if statistics.tokenFetches == 1, statistics.attempts == 0 {
          effects.append(.connect(to: configuration.delivery.endpoint.url, certificateTime: time))
        }
      case .cancelFetch(let id):
        effects.append(.cancelToken(id: id))
      case .obtained(let token, let outage):
        statistics.tokens += 1
        notices.tokenObtained()
        effects.append(
          .event(
            .tokenObtained(
              life: token.deadline - now.boot, token.lifetimeSource, isFirst: statistics.tokens == 1, after: outage)))
        keep(token, &effects)
      case .restored(let token):
        effects.append(.event(.tokenRestored(life: token.deadline - now.boot, token.lifetimeSource)))
      case .forget: if configuration.tokenKey != nil { effects.append(.forgetToken) }
      case .failed(let failure):
        if case .transport = failure.reason { network.failed(at: now.boot) }
        statistics.tokenFailures[failure.reason.name, default: 0] += 1
        let left = tokens.token(at: now.boot).map { $0.deadline - now.boot }
        report(notices.tokenFailed(failure, left: left, at: now.boot), &effects)
      case .remarked(let lines):
        for line in lines { effects.append(.event(.tokenRemark(line))) }
      case .keepsBeingRefused(let token, let retry):
        let wall = now.wall >= configuration.filter.buildDate ? now.wall : nil
        let inspection = TokenInspection(
          of: token.secret, for: token.context, at: clocks.time(at: now)?.0 ?? wall)
        effects.append(.event(.tokenRefused(delivery.failure, of: service, inspection.refusal, retry: retry)))
      }
    }
  }
}

extension TokenAgent.Effect {
  fileprivate var isFailure: Bool { if case .failed = self { true } else { false } }

  /// Whether a token was not taken because it had expired.
  fileprivate var isExpired: Bool { if case .failed(let failure) = self { failure.reason == .expired } else { false } }
}
