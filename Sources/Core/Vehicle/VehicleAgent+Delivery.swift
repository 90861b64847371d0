// SPDX-License-Identifier: Apache-2.0
import PositionBacklog
import SourceSelection
import Reporting
import Delivery
import Authorization
import ClockEstimation
import FleetEngine
import HTTPMessages
import Timekeeping

extension VehicleAgent {
  /// Performs the steps that are due now, until there is something to wait for: each step changes the basis of the next
  /// decision.
  mutating func proceed(at now: Moment, _ effects: inout [Effect]) {
    while case .act(let step) = decide(at: now.boot) {
      switch step {
      case .reportFixMissing:
        let event = fixes.reportMissing(inView: selector.overview.satellitesInView, at: now.boot)
        report(event.flatMap { eventLimiter.fixChanged($0, at: now.boot) }, &effects)
      case .selectSource: feedSelector(.deadline, at: now, &effects)
      case .readStore: apply(delivery.handle(.readStore, at: now.boot), at: now, &effects)
      case .lockVehicle:
        lock.beginAttempt(at: now.boot)
        effects.append(.lockVehicle)
      case .reviewTime: reviewTime(at: now, &effects)
      case .enqueue: enqueue(at: now, &effects)
      case .askForToken: apply(tokens.handle(.needed, at: now), at: now, &effects)
      case .send(let isDue): send(isDue: isDue, at: now, &effects)
      case .goOffline: sendOffline(at: now, &effects)
      case .setOffline: setOffline(at: now, &effects)
      case .finish: finish(at: now, &effects)
      }
    }
  }

  /// Sends the newest position.
  private mutating func send(isDue: Bool, at now: Moment, _ effects: inout [Effect]) {
    lifecycle.beginAttempt()
    // Prefetches the next token while the current one is valid.
    apply(tokens.handle(.needed, at: now), at: now, &effects)
    guard let newest = policy.newest ?? delivery.liveWithoutFix(notAfter: liveLimit),
      let token = tokens.token(at: now.boot)
    else { return }
    statistics.attempts += 1
    let isStop = isDue && policy.isStopPending
    // An attempt that was not due counts only once it is accepted: a series of failures must not delay what is due.
    if isDue { policy.markReported(at: now.boot) }
    let isQueued = policy.newest == nil
    // A queued position of an earlier run may have a time of a wrong clock, for which no receiver has to wait.
    if !isQueued { feedSelector(.reported(newest.time), at: now, &effects) }
    apply(
      delivery.handle(
        .send(newest, isDue: isDue, isQueued: isQueued, state: requestedState, token: token), at: now.boot),
      at: now, &effects)
    if isStop { commitStop(&effects) }
  }

  /// Adds a due position to the backlog; it counts as reported.
  private mutating func enqueue(at now: Moment, _ effects: inout [Effect]) {
    guard let newest = policy.newest else { return }
    let isStop = policy.isStopPending
    policy.markReported(at: sentAtIfRepeated(newest) ?? now.boot)
    feedSelector(.reported(newest.time), at: now, &effects)
    apply(delivery.handle(.due(newest), at: now.boot), at: now, &effects)
    if isStop { commitStop(&effects) }
  }

  /// A position that is requested, or is to be repeated, while it is in flight was reported when it was sent: the next
  /// heartbeat counts from then.
  private func sentAtIfRepeated(_ newest: VehicleLocation) -> BootInstant? {
    guard newest.time == delivery.liveInFlight, let sentAt = delivery.sentAt, let next = policy.next else { return nil }
    switch next.reason {
    case .requested: return sentAt
    // If a request takes longer than the heartbeat, each counts from the one before.
    case .heartbeat: return sentAt + configuration.reporting.heartbeat > next.at ? sentAt : nil
    default: return nil
    }
  }

  /// In a long outage, the place where the vehicle has stopped is written to disk at once.
  private func commitStop(_ effects: inout [Effect]) {
    if network.outage.isLong { effects.append(.commitBacklog) }
  }

  /// Sets the vehicle's state to OFFLINE.
  private mutating func sendOffline(at now: Moment, _ effects: inout [Effect]) {
    lifecycle.beginAttempt()
    apply(tokens.handle(.needed, at: now), at: now, &effects)
    guard let token = tokens.token(at: now.boot) else { return }
    statistics.attempts += 1
    apply(delivery.handle(.goOffline(token: token), at: now.boot), at: now, &effects)
  }

  // MARK: - Shutdown

  /// Stops sending positions; the one in flight is in the backlog. Its connection is closed, so that OFFLINE neither
  /// waits behind it nor overtakes it.
  private mutating func setOffline(at now: Moment, _ effects: inout [Effect]) {
    if !delivery.isIdle {
      statistics.abandoned += 1
      apply(delivery.handle(.cancel, at: now.boot), at: now, &effects)
      effects.append(.dropConnections)
    }
    lifecycle.beginSettingOffline()
  }

  /// Ends the run; undelivered positions are in the backlog for the next start.
  private mutating func finish(at now: Moment, _ effects: inout [Effect]) {
    apply(delivery.handle(.cancel, at: now.boot), at: now, &effects)
    var unqueuedCount = 0
    if !isSuspended, let newest = policy.newest, newest.time != delivery.delivered?.time {
      apply(delivery.handle(.due(newest), at: now.boot), at: now, &effects)
      if !delivery.backlog.contains(newest.time) { unqueuedCount = 1 }
    }
    if isOfflinePending || setsOfflineAtEnd && !delivery.isOffline {
      let vehicle = configuration.delivery.endpoint.vehicle.vehicleID
      effects.append(.event(.stateOfflineMissing(vehicle: vehicle, isSentAtNextStart: dutyState.isOffline)))
    }
    let undelivered = delivery.backlog.count + unqueuedCount
    effects.append(.finished(lifecycle.finish(undelivered: undelivered, isStored: unqueuedCount == 0, statistics)))
  }

  // MARK: - Outcomes

  private var vehicle: FleetEngineVehicle { configuration.delivery.endpoint.vehicle }

  mutating func updateEnded(_ id: UInt64, _ outcome: HTTPOutcome, at now: Moment, _ effects: inout [Effect]) {
    let result = explained(UpdateOutcome(outcome, of: vehicle), at: now)
    let sentAt = delivery.sentAt
    let changes = delivery.handle(.ended(id: id, result), at: now.boot)
    guard !changes.isEmpty else { return lateUpdateEnded(outcome, at: now.boot, &effects) }
    clock.requestEnded(outcome)
    delivery.ended(on: outcome)
    noteReachability(outcome, result, at: now.boot)
    if result.isFromFleetEngine, let time = outcome.date {
      clock.observe(.fleetEngine, time, sentAt: sentAt, at: now.boot)
    }
    apply(changes, at: now, &effects)
    noteOutage(at: now.boot, &effects)
  }

  /// The outcome of a request that was given up is otherwise ignored, but a late response shows that the server can be
  /// reached.
  private mutating func lateUpdateEnded(_ outcome: HTTPOutcome, at now: BootInstant, _ effects: inout [Effect]) {
    guard case .response = outcome else { return }
    network.outage.reached()
    noteOutage(at: now, &effects)
  }

  /// Any response ends an outage, and only a failure of the network begins one.
  private mutating func noteReachability(_ outcome: HTTPOutcome, _ result: UpdateOutcome, at now: BootInstant) {
    if case .response = outcome { return network.outage.reached() }
    if case .failed(let failure) = result, failure.category.row.isNetworkFailure {
      network.outage.noteUnreachable(at: now)
    }
  }

  /// Adds what is wrong with the token itself to a rejection of the token.
  private func explained(_ outcome: UpdateOutcome, at now: Moment) -> UpdateOutcome {
    guard case .failed(let failure) = outcome, failure.rejectsToken, let token = delivery.tokenInFlight else {
      return outcome
    }
    return .failed(
      failure.explained(by: TokenInspection(of: token.secret, for: token.context, at: clock.bestTime(at: now))))
  }

  mutating func apply(_ deliveryEffects: [DeliveryAgent.Effect], at now: Moment, _ effects: inout [Effect]) {
    for effect in deliveryEffects {
      switch effect {
      case .send(let id, var request):
        request.certificateTime = certificateTime(at: now)
        storeRunState(at: now, &effects)
        effects.append(.sendUpdate(id: id, request))
      case .cancel(let id): effects.append(.cancelUpdate(id: id))
      case .backlog(let change): backlogChanged(change, at: now.boot, &effects)
      case .accepted(let live, let isQueued, let sentAt, let past):
        accepted(live, isQueued: isQueued, sentAt: sentAt, past: past, at: now, &effects)
      case .readStore: effects.append(.readStore)
      case .forgetOthers(let time): effects.append(.forgetOthers(before: time))
      case .wentOffline(let sentAt):
        handleAccepted(past: 0, sentAt: sentAt, at: now, &effects)
        acceptedOffline(sentAt: sentAt, at: now, &effects)
      case .offlineFailed(let failure, let token):
        count(failure)
        // This is not an outage: the next position is not reported as a recovery.
        let notice =
          dutyState.isOffline || lifecycle.isSettingOffline
          ? eventLimiter.offlineFailed(failure, at: now.boot) : eventLimiter.updateFailed(failure, at: now.boot)
        failed(failure, with: token, notice, at: now, &effects)
      case .updateForm(let text, let summary):
        effects.append(.storeUpdateForm(text))
        if case .rejected(let status) = summary { effects.append(.event(.compactUpdatesRefused(httpStatus: status))) }
      case .resends(let failure), .suspectsBacklog(let failure): count(failure)
      case .rejectsBacklog(let failure):
        report(eventLimiter.backfillRejected(failure, at: now.boot), &effects)
      case .failed(let failure, let token):
        count(failure)
        failed(failure, with: token, eventLimiter.updateFailed(failure, at: now.boot), at: now, &effects)
      }
    }
  }

  private mutating func accepted(
    _ live: VehicleLocation, isQueued: Bool, sentAt: BootInstant, past: Int, at now: Moment, _ effects: inout [Effect]
  ) {
    // If a substitute was accepted, the rejected newest position counts as reported: the heartbeat is next.
    if let newest = policy.newest, !delivery.mayBeLive(newest) {
      policy.markReported(at: sentAt)
    } else if !isQueued {
      // A queued position does not affect when the next report is due.
      policy.markReported(live, at: sentAt)
    }
    handleAccepted(past: past, sentAt: sentAt, at: now, &effects)
    if delivery.vehicleState == .offline { acceptedOffline(sentAt: sentAt, at: now, &effects) }
    effects += eventLimiter.updateAccepted(past: past, pending: delivery.backlog.count, at: now.boot).map { .event($0) }
    effects.append(.event(.updateAccepted(past: past, location: configuration.logsPositions ? live : nil)))
  }

  /// Handles an accepted update of any kind.
  private mutating func handleAccepted(past: Int, sentAt: BootInstant, at now: Moment, _ effects: inout [Effect]) {
    storeRunState(at: now, &effects)
    statistics.accepted += 1
    statistics.backfilled += past
    network.reached()
    apply(tokens.handle(.accepted, at: now), at: now, &effects)
    effects.append(.accepted(sentAt: sentAt))
  }

  private mutating func failed(
    _ failure: UpdateFailure, with token: AccessToken, _ notice: Event?, at now: Moment, _ effects: inout [Effect]
  ) {
    if failure.category.row.isNetworkFailure {
      network.failed(at: now.boot)
    } else if failure.httpStatus != nil {
      network.reached()
    }
    if failure.rejectsToken { apply(tokens.handle(.rejected(token), at: now), at: now, &effects) }
    report(notice, &effects)
  }

  private mutating func count(_ failure: UpdateFailure) {
    statistics.failed[failure.category, default: 0] += 1
  }

  mutating func tokenEnded(_ id: UInt64, _ outcome: TokenOutcome, at now: Moment, _ effects: inout [Effect]) {
    // The expiry of a token is compared with the best known time.
    let known = clock.time(at: now)
    let sentAt = tokens.fetchSentAt
    var tokensByWallClock = tokens
    var changes = tokens.handle(.ended(id: id, outcome), at: Moment(boot: now.boot, wall: known?.0 ?? now.wall))
    // A token that has expired only by a receiver's time is compared with the wall clock instead: otherwise Fleet
    // Engine, the better reference, would never be reached.
    if known?.1 == .gnss, changes.contains(where: { $0.isExpired }) {
      let others = tokensByWallClock.handle(.ended(id: id, outcome), at: now)
      if !others.contains(where: { $0.isFailure }) { (tokens, changes) = (tokensByWallClock, others) }
    }
    // Only a provider returns tokens; any other response may come from a captive portal with a wrong clock.
    if case .http(let exchange) = outcome {
      clock.requestEnded(exchange)
      for case .obtained(let token, _) in changes {
        if let time = exchange.date {
          clock.observe(.tokenProvider, time, sentAt: sentAt, at: now.boot)
        } else if let time = (try? TokenClaims(of: token.secret))?.issuedAt {
          clock.observeIssueTime(time, sentAt: sentAt ?? now.boot, at: now.boot)
        }
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
        effects.append(.fetchToken(id: id, request.checkingCertificates(at: time)))
        // The first update of a run needs two handshakes, which are made in parallel.
        if statistics.tokenFetches == 1, statistics.attempts == 0 {
          effects.append(.connect(to: configuration.delivery.endpoint.url, certificateTime: time))
        }
      case .cancelFetch(let id):
        effects.append(.cancelToken(id: id))
      case .obtained(let token, let outage):
        statistics.tokens += 1
        eventLimiter.tokenObtained()
        effects.append(
          .event(
            .tokenObtained(
              life: token.deadline - now.boot, token.lifetimeSource, isFirst: statistics.tokens == 1, after: outage)))
        storeToken(token, &effects)
      case .restored(let token):
        effects.append(.event(.tokenRestored(life: token.deadline - now.boot, token.lifetimeSource)))
      case .discardStored: if configuration.tokenKey != nil { effects.append(.removeStoredToken) }
      case .failed(let failure):
        if case .transport(let kind) = failure.reason, !kind.isUnusableResponse {
          // It proves nothing about Fleet Engine, which may have answered without a default route.
          if network.isAbsent { network.failed(at: now.boot) }
          network.outage.noteUnreachable(at: now.boot)
        }
        statistics.tokenFailures[failure.reason.name, default: 0] += 1
        let left = tokens.token(at: now.boot).map { $0.deadline - now.boot }
        report(eventLimiter.tokenFailed(failure, left: left, at: now.boot), &effects)
      case .commandErrorLines(let lines):
        effects += eventLimiter.tokenRemarks(lines, at: now.boot).map { .event($0) }
      case .repeatedlyRejected(let delay): effects.append(.event(.tokenRefused(delivery.failure, retryDelay: delay)))
      }
    }
  }
}

extension TokenAgent.Effect {
  fileprivate var isFailure: Bool { if case .failed = self { true } else { false } }

  /// Whether a token was rejected because it had expired.
  fileprivate var isExpired: Bool { if case .failed(let failure) = self { failure.reason == .expired } else { false } }
}
