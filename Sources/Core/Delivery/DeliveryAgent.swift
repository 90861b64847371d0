// SPDX-License-Identifier: Apache-2.0
package import PositionBacklog
package import Authorization
package import ClockEstimation
package import FleetEngine
package import HTTPMessages
package import Timekeeping

/// Delivers positions to Fleet Engine: one request at a time, always with the newest position, together with past
/// positions of the backlog. After a failure, the backoff depends on its category.
package struct DeliveryAgent: Sendable {
  private enum State {
    case idle
    case sending(Attempt)
    case goingOffline(OfflineAttempt)
  }

  private struct OfflineAttempt {
    var id: UInt64
    var token: AccessToken
    var sentAt: BootInstant
    var deadline: BootInstant
  }

  private struct Attempt {
    var id: UInt64
    var kind: RequestKind
    var update: PositionUpdate
    var form: UpdateForm
    var records: [Backlog.ID]
    /// Whether the past position is the control position, which Fleet Engine has already.
    var isControl: Bool
    var token: AccessToken
    var sentAt: BootInstant
    /// Whether another position replaces the newest, which was rejected.
    var isSubstitute: Bool
    /// Whether the live position came from the backlog, because there was no fix.
    var isQueued: Bool
    var deadline: BootInstant
  }

  /// State of the current vehicle.
  private struct CurrentVehicle {
    /// Why the last attempt failed.
    var failure: UpdateFailure?
    /// When the first failure after an accepted update occurred; nil if there was none.
    var failingSince: BootInstant?
    /// False also after a pause, until an attempt is accepted. Unrelated to `state`.
    var wasLastAttemptAccepted = false
    /// The state that the last accepted update set, or the previous run's OFFLINE; nil if it set none, or there was
    /// none.
    var state: VehicleState?
    /// When that update was sent.
    var stateSentAt = BootInstant.boot
    /// A later request that sets ONLINE had no response.
    var mayBeOnline = false
    var lastAcceptedAt: BootInstant?
    /// The newest position that Fleet Engine has.
    var delivered: VehicleLocation?
    /// The timestamp of the newest position that the previous run delivered.
    var deliveredBefore: Timestamp?
    /// The timestamp of the newest position that came from the store, and was not queued already.
    var newestRestored: Timestamp?
    /// The last accepted live position, and when one at this place was first accepted: for `timeSinceUpdate`.
    var acceptedLive: (location: VehicleLocation, since: BootInstant)?
    var hasOverduePosition = false
    /// The last attempt is repeated: the server did not process it, or closed the connection without a response.
    var isResending = false
    /// The number of attempts in a row that failed while the connection stayed open.
    var streamResets = 0
    /// The newest position that was due in this run, unless its timestamp was wrong.
    var newestDue: Timestamp?
    /// The timestamp of a live position that the server rejected with nothing else in the request.
    var rejectedLive: Timestamp?
    /// Why the last update with past positions failed; reported if they prove to be the cause.
    var backlogRejection: UpdateFailure?
    /// The live position of a compact update that was rejected: it is sent once more in the plain form.
    var rejectedCompactLive: VehicleLocation?
    /// The time until which a request that was cancelled or timed out may still arrive.
    var mayArriveUntil: [RequestKind: BootInstant] = [:]
    var outcomes = RecentOutcomes()
  }

  /// Where updates go, and the limits of the backlog.
  package private(set) var configuration: Configuration
  /// The queue in memory; the store persists it through effects.
  package private(set) var backlog = Backlog()
  /// The state that the store has reported.
  package private(set) var store = BacklogStoreState.off
  private var storeReadSchedule = StoreReadSchedule()
  private var expiry = BacklogExpiry()
  /// When the time without a position of a receiver began: an interval later, the newest queued position is sent as the
  /// live one.
  package private(set) var withoutFixSince = BootInstant.boot
  private var state = State.idle
  private var vehicle = CurrentVehicle()
  private var backfill: Backfill
  private var formNegotiation: UpdateFormNegotiation
  private var lastID: UInt64 = 0
  private var gate: RetryGate
  private var lastAttemptAt = BootInstant.boot
  private var floor = UpdateFloor()
  /// The times until which requests of vehicles that the settings named before may arrive: they may name one again.
  private var otherArrivals: [(endpoint: FleetEngineEndpoint, until: [RequestKind: BootInstant])] = []
  /// Which requests use a new connection.
  private var connections = ReconnectPolicy()

  package init(_ configuration: Configuration, seed: UInt64) {
    self.configuration = configuration
    gate = RetryGate(seed: seed)
    backfill = Backfill(limit: configuration.batch, endpoint: configuration.endpoint)
    formNegotiation = UpdateFormNegotiation(configuration.form, server: configuration.endpoint.origin)
  }

  // MARK: - State

  /// Whether there is no request in flight.
  package var isIdle: Bool { if case .idle = state { true } else { false } }

  /// When the current request was sent; nil if there is none.
  package var sentAt: BootInstant? {
    switch state {
    case .idle: nil
    case .sending(let attempt): attempt.sentAt
    case .goingOffline(let attempt): attempt.sentAt
    }
  }

  /// The deadline of the current request; nil if there is none.
  package var attemptDeadline: BootInstant? {
    switch state {
    case .idle: nil
    case .sending(let attempt): attempt.deadline
    case .goingOffline(let attempt): attempt.deadline
    }
  }

  /// The timestamp of the live position in the current request; nil if there is none.
  package var liveInFlight: Timestamp? { attempt?.update.live.time }

  /// What the current request sets; nil if there is none.
  package var inFlight: RequestKind? {
    switch state {
    case .idle: nil
    case .sending(let attempt): attempt.kind
    case .goingOffline: .offline
    }
  }

  /// The time until which a request of this kind that had no response may still arrive.
  private func mayArriveUntil(_ kind: RequestKind) -> BootInstant { vehicle.mayArriveUntil[kind] ?? .boot }

  /// The time until which a request that sets ONLINE, and had no response, may still arrive.
  package var onlineMayArriveUntil: BootInstant { mayArriveUntil(.position) }

  /// The same for OFFLINE, with or without a position.
  package var offlineMayArriveUntil: BootInstant { max(mayArriveUntil(.offline), mayArriveUntil(.offlinePosition)) }

  /// The kind of a request that had no response and may still arrive; nil if there is none.
  package func mayArrive(at now: BootInstant) -> RequestKind? {
    [.position, .offlinePosition, .offline].first { mayArriveUntil($0) > now }
  }

  /// The time until which requests of each kind may arrive, including the one in flight.
  package var arrivalDeadlines: [RequestKind: BootInstant] {
    guard let inFlight, let attemptDeadline else { return vehicle.mayArriveUntil }
    return vehicle.mayArriveUntil.merging([inFlight: attemptDeadline], uniquingKeysWith: max)
  }

  /// When a position has to be sent in order to set ONLINE: at once if the vehicle is OFFLINE, and once more when an
  /// older OFFLINE can no longer arrive; nil: none has to be.
  package var onlineDue: BootInstant? {
    switch vehicle.state {
    case .offline: .boot
    case .online: vehicle.stateSentAt < offlineMayArriveUntil ? offlineMayArriveUntil : nil
    case nil: nil
    }
  }

  /// Whether the last request was rejected in a way that may be due to its position.
  package var isPositionSuspect: Bool { vehicle.failure?.category.row.pastPositions == .rejected }

  /// The vehicle's state at Fleet Engine that this run has set, or that the previous run had stored; nil if none.
  package var vehicleState: VehicleState? { vehicle.state }

  /// Whether Fleet Engine has accepted OFFLINE, and every later ONLINE is known to have failed.
  package var isOffline: Bool { vehicle.state == .offline && !vehicle.mayBeOnline }

  /// Why the last attempt failed; nil if it was accepted.
  package var failure: UpdateFailure? { vehicle.failure }

  /// Whether the last attempt failed.
  package var isFailing: Bool { if case .some = vehicle.failure { true } else { false } }

  /// The time of the first failure after an accepted update.
  package var failingSince: BootInstant? { vehicle.failingSince }

  /// In which form updates are sent, and why.
  package var updateForm: UpdateFormNegotiation.Summary { formNegotiation.summary }

  /// Whether the last attempt was accepted. False after a pause, until an attempt is.
  package var wasLastAttemptAccepted: Bool { vehicle.wasLastAttemptAccepted }

  /// The time of the last accepted update; nil before the first.
  package var lastAcceptedAt: BootInstant? { vehicle.lastAcceptedAt }

  /// The outcomes of recent updates.
  package var outcomes: RecentOutcomes { vehicle.outcomes }

  /// The newest position that Fleet Engine has.
  package var delivered: VehicleLocation? { vehicle.delivered }

  /// Whether a position waits to be sent as soon as possible: an attempt failed, or a position became due that could
  /// not be sent.
  package var hasOverduePosition: Bool { vehicle.hasOverduePosition }

  /// Whether a position can be sent as the live one: it was not rejected as the only one in a request.
  package func mayBeLive(_ location: VehicleLocation) -> Bool { vehicle.rejectedLive != location.time }

  /// The number of queued positions, without the live position in flight.
  package var pendingCount: Int {
    guard let attempt, backlog.contains(attempt.update.live.time) else { return backlog.count }
    return backlog.count - 1
  }

  /// The store's state for users: unread until its file has been read, even if it has been written before.
  package var storeState: BacklogStoreState { store == .healthy && storeReadSchedule.isPending ? .unread : store }

  /// Whether positions of previous runs may still be restored.
  package var isStorePending: Bool { storeReadSchedule.isPending }

  /// When to read the store; nil if there is nothing to read.
  package var storeReadDueAt: BootInstant? { storeReadSchedule.dueAt }

  private var attempt: Attempt? { if case .sending(let attempt) = state { attempt } else { nil } }

  /// The token of the request in flight; nil without one.
  package var tokenInFlight: AccessToken? {
    switch state {
    case .idle: nil
    case .sending(let attempt): attempt.token
    case .goingOffline(let attempt): attempt.token
    }
  }

  /// The timestamp of the newest position that this run or the previous one delivered; nil if unknown.
  package var newestDelivered: Timestamp? {
    [vehicle.delivered?.time, vehicle.deliveredBefore].compactMap(\.self).max()
  }

  /// The times of the attempts that limit the next one, oldest first, and the start of the floor.
  package var rateLimitHistory: (attempts: [BootInstant], floorStart: BootInstant?) { (gate.attempts, floor.start) }

  /// The earliest time of the next attempt, and the limit that determines it; nil: the backoff.
  package var earliest: (at: BootInstant, by: RequestLimit?) {
    let allowed = earliestAllowed(configuration.isRateLimited ? gate.earliestByLimit : .boot)
    return gate.notBefore > allowed.at ? (gate.notBefore, nil) : allowed
  }

  /// The earliest time of a final attempt at shutdown, which skips the backoff, and the limit that determines it.
  package var earliestFinal: (at: BootInstant, by: RequestLimit) {
    earliestAllowed(configuration.isRateLimited ? gate.earliestFinalByLimit : .boot)
  }

  /// The earliest time of the next attempt to set OFFLINE, and the limit that determines it; nil: the backoff. The
  /// floor applies to positions only.
  package var earliestOffline: (at: BootInstant, by: RequestLimit?) {
    let limit = earliestFinalOffline
    let allowed = configuration.isRateLimited ? gate.earliestByLimit : .boot
    return gate.notBefore > allowed ? (gate.notBefore, nil) : (allowed, limit.by)
  }

  /// The same for a final attempt at shutdown, which skips the backoff.
  package var earliestFinalOffline: (at: BootInstant, by: RequestLimit) {
    (configuration.isRateLimited ? gate.earliestFinalByLimit : .boot, .attempts)
  }

  private func earliestAllowed(_ limit: BootInstant) -> (at: BootInstant, by: RequestLimit) {
    let floor = floor.earliestUpdate(minimumInterval: configuration.floor)
    return floor > limit ? (floor, .floor) : (limit, .attempts)
  }

  /// The live position while there is no fix: the newest queued position that is not later than `limit`, or the newest
  /// delivered one if that is later. Nil if nothing is queued, or nothing can be sent.
  ///
  /// - Parameter limit: later timestamps are not sent. If all restored positions have later timestamps and Fleet Engine
  ///   is not the reference, the time is most likely wrong: then the oldest is sent, because the response has Fleet
  ///   Engine's time. After a response without a time, the newest is sent. Nil: the time is unknown.
  package func liveWithoutFix(notAfter limit: VehicleClock.LiveLimit?) -> VehicleLocation? {
    let records = backlog.records
    var newest = records.last { record in
      mayBeLive(record.location) && limit.map { record.id <= $0.latest } ?? true
    }
    if newest == nil, limit?.isByFleetEngine == false, let restored = vehicle.newestRestored {
      let isSendable: (Backlog.Record) -> Bool = { mayBeLive($0.location) && $0.id <= restored }
      newest = vehicle.lastAcceptedAt == nil ? records.first(where: isSendable) : records.last(where: isSendable)
    }
    guard let newest = newest?.location else { return nil }
    return delivered.flatMap { $0.time > newest.time ? $0 : nil } ?? newest
  }

  /// When to make a request for the backlog alone; nil if none of it can be sent.
  ///
  /// - Parameters:
  ///   - time: timestamp of the live position.
  ///   - token: the token that is valid at a time; nil if none is.
  package func backfillDeadline(before time: Timestamp, with token: (BootInstant) -> AccessToken?) -> BootInstant? {
    guard !backlog.isEmpty, backfill.hasWork(among: backlog.sendable(before: time, maxAge: configuration.maxAge)) else {
      return nil
    }
    let due = lastAttemptAt + configuration.backfillInterval
    return max(due, backfill.suspendedUntil(with: token(due), at: due) ?? due)
  }

  // MARK: - Inputs

  /// Handles an input, and returns the effects in order.
  package mutating func handle(_ input: Input, at now: BootInstant) -> [Effect] {
    switch input {
    case .send(let newest, let isDue, let isQueued, let state, let token):
      // The position in flight is not counted against the capacity: it is usually delivered soon, so the backlog is not
      // thinned for it.
      let limit = configuration.capacity > 0 ? configuration.capacity + 1 : 0
      return (isDue ? enqueue(newest, limit: limit) : [])
        + send(newest, isQueued: isQueued, state: state, token: token, at: now)
    case .due(let location): return enqueue(location, limit: configuration.capacity)
    case .goOffline(let token): return goOffline(token: token, at: now)
    case .ended(let id, let outcome):
      let effects = end(id, outcome, at: now)
      if !effects.isEmpty { storeReadSchedule.requestEnded() }
      return effects
    case .restored(let records): return restore(records, at: now)
    case .store(let state):
      switch state {
      case .unread: storeReadSchedule.found(at: now)
      case .off, .memoryOnly: storeReadSchedule.failed()
      case .healthy: break
      }
      store = state
      return []
    case .readStore:
      storeReadSchedule.begin()
      switch store {
      case .memoryOnly, .off: storeReadSchedule.failed()
      case .unread, .healthy: break
      }
      return [.readStore]
    case .fixForgotten:
      withoutFixSince = now
      return []
    case .restoredLimits(let attempts, let start, let delivered):
      gate.restore(attempts)
      vehicle.deliveredBefore = delivered
      if let start { floor.begin(at: start) }
      return []
    case .restoredUpdateForm(let text):
      formNegotiation.restore(text)
      return []
    case .updatedElsewhere:
      floor.begin(at: now)
      return []
    case .restoredOffline:
      noteState(.offline, sentAt: .boot)
      return []
    case .mayArrive(let kind, let end):
      mayArrive(kind, until: end)
      return []
    case .misdated(let newest):
      forget(after: newest)
      return DeliveryAgent.effects(backlog.removeMisdated(after: newest))
    case .clockJumped:
      backlog.breakSegment()
      return []
    case .suspected(let newest):
      if let due = vehicle.newestDue, due > newest { vehicle.newestDue = nil }
      backlog.forgetDelivered(after: newest)
      return []
    case .expire: return expire(at: now)
    case .cancel: return abandon()
    case .networkUp:
      resetBackoff(at: now)
      return []
    case .paused:
      vehicle.failingSince = nil
      vehicle.wasLastAttemptAccepted = false
      // The reason why a position was rejected does not apply to OFFLINE.
      if configuration.endpoint.followsDuty, isPositionSuspect { gate.endWait() }
      return abandon()
    case .onDuty:
      // The reason why a position with OFFLINE, or OFFLINE alone, was rejected does not apply to ONLINE.
      if configuration.endpoint.followsDuty, isPositionSuspect { gate.endWait() }
      return []
    case .configured(let configuration, let isOtherVehicle):
      return configure(configuration, isOtherVehicle: isOtherVehicle, at: now)
    }
  }

  /// A position with this timestamp was accepted by the filter: the ages of queued positions are measured by such
  /// timestamps.
  package mutating func observe(_ stamp: Timestamp, at now: BootInstant) {
    expiry.observe(stamp, at: now)
  }

  /// Without a reliable time nothing expires.
  private mutating func expire(at now: BootInstant) -> [Effect] {
    guard let (time, latest, othersAreDue) = expiry.check(at: now) else { return [] }
    forget(after: latest)
    let oldest = time - configuration.maxAge
    return DeliveryAgent.effects(backlog.expire(before: oldest) + backlog.removeMisdated(after: latest))
      + (othersAreDue ? [.forgetOthers(before: oldest)] : [])
  }

  private mutating func restore(_ records: [Backlog.Record], at now: BootInstant) -> [Effect] {
    let before = backlog.count
    // The file may also contain what this run stored before it was read.
    let newest = records.lazy.filter { [backlog] in !backlog.contains($0.id) }.map(\.id).max()
    let changes = backlog.restore(records, limit: configuration.capacity)
    vehicle.newestRestored = [vehicle.newestRestored, newest].compactMap(\.self).max()
    // The delivered position may be among the stored ones, because its removal was not stored in time.
    let removed = delivered.map { backlog.remove([$0.time], .delivered) } ?? []
    // Reading the store may have waited for the first request; that must not prolong the wait for a fix.
    let since = storeReadSchedule.ended() ?? now
    if backlog.count > before { withoutFixSince = since }
    return DeliveryAgent.effects(changes + removed)
  }

  /// Timestamps after `newest` were wrong.
  private mutating func forget(after newest: Timestamp) {
    if let due = vehicle.newestDue, due > newest { vehicle.newestDue = nil }
    if let before = vehicle.deliveredBefore, before > newest { vehicle.deliveredBefore = nil }
    if let restored = vehicle.newestRestored, restored > newest { vehicle.newestRestored = newest }
    if let rejected = vehicle.rejectedCompactLive, rejected.time > newest { vehicle.rejectedCompactLive = nil }
  }

  // Static, because an argument that mutates `self` would copy all of it first.
  private static func effects(_ changes: [Backlog.Change]) -> [Effect] { changes.map { .backlog($0) } }

  /// Queues a position unless it was delivered or is queued already.
  private mutating func enqueue(_ location: VehicleLocation, limit: Int) -> [Effect] {
    vehicle.hasOverduePosition = true
    vehicle.newestDue = max(vehicle.newestDue ?? location.time, location.time)
    guard location.time != vehicle.delivered?.time else { return [] }
    return DeliveryAgent.effects(backlog.append(location, limit: limit))
  }

  // MARK: - One attempt

  /// The position to send as `lastLocation`: the newest, or, if the server rejected that one, the newest accepted or
  /// queued position, so that one bad position cannot block the queue. The rejected one goes as a past position with
  /// the next fix, where `Backfill` isolates it.
  private func live(for newest: VehicleLocation) -> VehicleLocation {
    guard !mayBeLive(newest) else { return newest }
    let queued = backlog.sendable(before: newest.time, maxAge: configuration.maxAge).last?.location
    let known = delivered.flatMap { $0.time < newest.time ? $0 : nil }
    guard let queued, let known else { return queued ?? known ?? newest }
    return queued.time > known.time ? queued : known
  }

  private mutating func send(
    _ newest: VehicleLocation, isQueued: Bool, state vehicleState: VehicleState, token: AccessToken, at now: BootInstant
  ) -> [Effect] {
    // A rejected position that is newer than `newest` has turned out to be from the future.
    let resent = vehicle.rejectedCompactLive.flatMap { $0.time <= newest.time ? $0 : nil }
    vehicle.rejectedCompactLive = nil
    let live = resent ?? live(for: newest)
    // A live position that is not queued was not due, or is already delivered: the newest then counts against the
    // capacity.
    let changes = backlog.contains(live.time) ? [] : backlog.makeRoom(limit: configuration.capacity)
    let records = backfill.select(
      from: backlog.sendable(before: live.time, maxAge: configuration.maxAge),
      delivered: delivered.flatMap { $0.time < live.time ? $0 : nil }, with: token, at: now)
    var sinceUpdate: Int?
    if let known = vehicle.acceptedLive, known.location.coordinate == live.coordinate {
      let seconds = (now - known.since).wholeSeconds
      sinceUpdate = seconds > 0 ? Int(min(seconds, Int64(Int32.max))) : nil
    }
    let update = PositionUpdate(live: live, timeSinceUpdate: sinceUpdate, past: records.map(\.location))
    lastID += 1
    lastAttemptAt = now
    gate.attempted(at: now)
    let form = formNegotiation.form(at: now)
    let attempt = Attempt(
      id: lastID, kind: configuration.endpoint.followsDuty && vehicleState == .offline ? .offlinePosition : .position,
      update: update, form: form, records: records.map(\.id), isControl: backfill.isControlSelected, token: token,
      sentAt: now, isSubstitute: resent == nil && live.time != newest.time,
      isQueued: isQueued && live.time == newest.time, deadline: now + configuration.endpoint.deadline)
    state = .sending(attempt)
    let request = configuration.endpoint.request(update, form, state: vehicleState, token: token.secret)
    return DeliveryAgent.effects(changes) + [send(request, at: now)]
  }

  private mutating func send(_ request: HTTPRequest, at now: BootInstant) -> Effect {
    var request = request
    request.usesNewConnection = connections.claimNewConnection(at: now)
    return .send(id: lastID, request)
  }

  /// The current request has ended on its connection.
  package mutating func ended(on outcome: HTTPOutcome) { connections.ended(outcome) }

  /// Cancels the current request; a position that is due is in the backlog.
  private mutating func abandon() -> [Effect] {
    vehicle.rejectedCompactLive = nil
    if case .goingOffline(let attempt) = state {
      state = .idle
      mayArrive(.offline, until: attempt.deadline)
      return [.cancel(id: attempt.id)]
    }
    guard let attempt else { return [] }
    state = .idle
    mayArrive(attempt.kind, until: attempt.deadline)
    return [.cancel(id: attempt.id)] + DeliveryAgent.effects(backlog.makeRoom(limit: configuration.capacity))
  }

  private mutating func mayArrive(_ kind: RequestKind, until end: BootInstant) {
    vehicle.mayArriveUntil[kind] = max(vehicle.mayArriveUntil[kind] ?? end, end)
    if kind == .position { vehicle.mayBeOnline = true }
  }

  private mutating func end(_ id: UInt64, _ outcome: UpdateOutcome, at now: BootInstant) -> [Effect] {
    if case .goingOffline(let attempt) = state { return attempt.id == id ? end(attempt, outcome, at: now) : [] }
    guard let attempt, attempt.id == id else { return [] }
    state = .idle
    switch outcome {
    case .accepted: return accept(attempt, at: now)
    case .failed(let failure):
      return [fail(attempt, failure, at: now)] + DeliveryAgent.effects(backlog.makeRoom(limit: configuration.capacity))
    }
  }

  private mutating func accept(_ attempt: Attempt, at now: BootInstant) -> [Effect] {
    let live = attempt.update.live
    floor.begin(at: now)
    vehicle.wasLastAttemptAccepted = true
    noteState(attempt.kind == .offlinePosition ? .offline : .online, sentAt: attempt.sentAt)
    vehicle.isResending = false
    vehicle.streamResets = 0
    vehicle.lastAcceptedAt = now
    vehicle.failure = nil
    vehicle.failingSince = nil
    vehicle.delivered = live
    if vehicle.acceptedLive?.location.coordinate != live.coordinate { vehicle.acceptedLive = (live, now) }
    gate.succeeded()
    let past = attempt.isControl ? 0 : attempt.records.count
    noteAccepted(past: past, sentAt: attempt.sentAt, at: now)
    var changes = backlog.breakSegment(at: live.time)
    var rejection: UpdateFailure?
    if attempt.records.isEmpty {
      if backfill.acceptedWithoutPast(at: now) { rejection = vehicle.backlogRejection }
    } else {
      changes += backlog.remove(backfill.accepted(attempt.records), .rejected)
    }
    let isIgnored = mayBeIgnored(live)
    changes += backlog.remove(attempt.records + (isIgnored ? [] : [live.time]), .delivered)
    // A position that became due during the request is sent as soon as possible, without waiting for the next fix.
    vehicle.hasOverduePosition = vehicle.newestDue.map { $0 > live.time && $0 != vehicle.rejectedLive } ?? false
    let findings = formNegotiation.accepted(attempt.form, at: now)
    return DeliveryAgent.effects(changes) + (rejection.map { [.rejectsBacklog($0)] } ?? []) + [
      .accepted(live: live, isQueued: attempt.isQueued, sentAt: attempt.sentAt, past: past)
    ] + (findings.map { [.updateForm($0, formNegotiation.summary)] } ?? [])
  }

  private mutating func noteAccepted(past: Int, sentAt: BootInstant, at now: BootInstant) {
    vehicle.outcomes.accepted(past: past, sentAt: sentAt, at: now)
    connections.accepted()
  }

  /// Whether Fleet Engine may have ignored a live position because it has a newer one of the previous run: then the
  /// position is sent again, as a past position with the next fix.
  private func mayBeIgnored(_ live: VehicleLocation) -> Bool {
    guard let before = vehicle.deliveredBefore, let restored = vehicle.newestRestored else { return false }
    return live.time < before && live.time <= restored
  }

  private mutating func fail(_ attempt: Attempt, _ failure: UpdateFailure, at now: BootInstant) -> Effect {
    vehicle.hasOverduePosition = true
    vehicle.outcomes.failed(failure.category, sentAt: attempt.sentAt, at: now)
    if failure.mayArrive { mayArrive(attempt.kind, until: attempt.deadline) }
    if formNegotiation.failed(attempt.form, failure) {
      // Neither the live position nor the past ones are treated as the cause of this failure, or of the rejections just
      // before it.
      vehicle.rejectedLive = nil
      vehicle.rejectedCompactLive = attempt.update.live
      return .resends(failure)
    }
    guard recordUnlessResending(failure, at: now) else { return .resends(failure) }
    if failure.category.row.pastPositions == .rejected, attempt.records.isEmpty {
      // If a substitute is rejected as well, or the position was accepted before, the newest position is not the cause.
      let isBlameless = attempt.isSubstitute || attempt.update.live.time == vehicle.delivered?.time
      vehicle.rejectedLive = isBlameless ? nil : attempt.update.live.time
    }
    if !attempt.records.isEmpty { vehicle.backlogRejection = failure }
    if backfill.failed(
      attempt.records, failure.category.row.pastPositions, wasSent: !failure.isUnsent, with: attempt.token)
    {
      gate.hold(for: AttemptLimiter.spacing, at: now)
      return .suspectsBacklog(failure)
    }
    backOff(after: failure, at: now)
    return .failed(failure, attempt.token)
  }

  /// - Returns: false if the request is repeated at once on another connection.
  private mutating func recordUnlessResending(_ failure: UpdateFailure, at now: BootInstant) -> Bool {
    vehicle.streamResets = failure.isConnectionOpen ? vehicle.streamResets + 1 : 0
    if failure.isWorthResending, !vehicle.isResending, vehicle.streamResets < 2 {
      // Only the rate limit applies.
      vehicle.isResending = true
      return false
    }
    vehicle.isResending = false
    vehicle.wasLastAttemptAccepted = false
    vehicle.failure = failure
    vehicle.failingSince = failingSince ?? now
    if failure.isUnsent { gate.failedUnsent() }
    return true
  }

  private mutating func backOff(after failure: UpdateFailure, at now: BootInstant) {
    let backoff = failure.backoff(afterResets: vehicle.streamResets)
    _ = gate.failed(backoff, minimum: AttemptLimiter.spacing, after: failure.retryAfter ?? .zero, at: now)
  }

  // MARK: - The vehicle's state

  /// An update that sets this state was accepted, in this run or in the previous one.
  private mutating func noteState(_ state: VehicleState, sentAt: BootInstant) {
    vehicle.state = configuration.endpoint.followsDuty ? state : nil
    vehicle.stateSentAt = sentAt
    vehicle.mayBeOnline = false
  }

  private mutating func goOffline(token: AccessToken, at now: BootInstant) -> [Effect] {
    guard let request = configuration.endpoint.offlineRequest(token: token.secret) else { return [] }
    lastID += 1
    lastAttemptAt = now
    gate.attempted(at: now)
    state = .goingOffline(
      OfflineAttempt(id: lastID, token: token, sentAt: now, deadline: now + configuration.endpoint.deadline))
    return [send(request, at: now)]
  }

  private mutating func end(_ attempt: OfflineAttempt, _ outcome: UpdateOutcome, at now: BootInstant) -> [Effect] {
    state = .idle
    switch outcome {
    case .accepted:
      vehicle.isResending = false
      vehicle.streamResets = 0
      vehicle.failure = nil
      vehicle.failingSince = nil
      noteState(.offline, sentAt: attempt.sentAt)
      gate.succeeded()
      noteAccepted(past: 0, sentAt: attempt.sentAt, at: now)
      return [.wentOffline(sentAt: attempt.sentAt)]
    case .failed(let failure):
      vehicle.outcomes.failed(failure.category, sentAt: attempt.sentAt, at: now)
      if failure.mayArrive { mayArrive(.offline, until: attempt.deadline) }
      guard recordUnlessResending(failure, at: now) else { return [.resends(failure)] }
      backOff(after: failure, at: now)
      return [.offlineFailed(failure, attempt.token)]
    }
  }

  // MARK: - Network and settings

  /// Resets the backoff at most once in 30 s, and never if the server evaluated the request or asked for the wait.
  private mutating func resetBackoff(at now: BootInstant) {
    guard failure.map({ !$0.isEvaluated && $0.retryAfter == nil }) ?? true else { return }
    gate.resetUnlessRecent(at: now)
  }

  private mutating func configure(
    _ configuration: Configuration, isOtherVehicle: Bool, at now: BootInstant
  ) -> [Effect] {
    let previous = self.configuration.endpoint
    if isOtherVehicle {
      // The request in flight may still arrive.
      if !isIdle { floor.begin(at: now) }
      floor.switchVehicle(from: self.configuration, to: configuration, at: now)
    }
    self.configuration = configuration
    backfill = Backfill(limit: configuration.batch, endpoint: configuration.endpoint)
    formNegotiation.configure(configuration.form, server: configuration.endpoint.origin)
    gate.reset()
    if !configuration.endpoint.followsDuty { vehicle.state = nil }
    guard isOtherVehicle else { return [] }
    backlog.forget()
    let effects = abandon()
    otherArrivals.removeAll { $0.endpoint.isSameVehicle(as: previous) || $0.until.values.allSatisfy { $0 <= now } }
    if !vehicle.mayArriveUntil.isEmpty { otherArrivals.append((previous, vehicle.mayArriveUntil)) }
    vehicle = CurrentVehicle()
    let arrivals = otherArrivals.first { $0.endpoint.isSameVehicle(as: configuration.endpoint) }?.until ?? [:]
    for (kind, end) in arrivals where end > now { mayArrive(kind, until: end) }
    return effects
  }
}
