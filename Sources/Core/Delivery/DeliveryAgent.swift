// SPDX-License-Identifier: Apache-2.0
import ExternalInput
package import Authorization
package import FleetEngine
package import HTTPMessages
package import Timekeeping

/// Gets positions to Fleet Engine: one request at a time, the newest position always in it, the backlog riding along, and
/// after a failure the wait that its category calls for.
package struct DeliveryAgent: Sendable {
  /// Where updates go, and how much may wait for them.
  package struct Configuration: Equatable, Sendable {
    /// The vehicle's URL and the form of its updates.
    package var endpoint: FleetEngineEndpoint
    /// Least time between accepted updates.
    package var floor: Duration
    /// Time between requests that only work off the backlog.
    package var interval: Duration
    /// Positions of the backlog in one request.
    package var batch: Int
    /// Positions that may wait; when there is one more, the backlog is thinned. One or more.
    package var maxLocations: Int
    /// Bytes that the backlog's positions may take, at ``Backlog/recordSize`` each.
    package var maxBytes: Int
    /// Positions older than this are removed from the backlog; more than zero.
    package var maxAge: Duration

    package init(
      endpoint: FleetEngineEndpoint, floor: Duration = .seconds(5), interval: Duration = .seconds(10),
      batch: Int = 100, maxLocations: Int = 10_000, maxBytes: Int = 16_000_000, maxAge: Duration = .seconds(7 * 86_400)
    ) {
      self.endpoint = endpoint
      self.floor = floor
      self.interval = interval
      self.batch = batch
      self.maxLocations = maxLocations
      self.maxBytes = maxBytes
      self.maxAge = maxAge
    }

    /// Positions that may wait, by number and by bytes.
    var capacity: Int { min(maxLocations, maxBytes / Backlog.recordSize) }

    /// Only a test on the loopback asks for less than Fleet Engine's floor, and it wants no limit either.
    var isLimited: Bool { floor >= .seconds(5) }
  }

  /// What happens to it: positions, answers, news that end a wait, and what a store held.
  package enum Input: Sendable {
    /// Send the newest position; nothing is under way, and the time has come. `isOwed`: it was due, and must not be lost.
    case send(VehicleLocation, isOwed: Bool, token: AccessToken)
    /// This position is due and cannot be sent now.
    case due(VehicleLocation)
    /// Set the vehicle's state to OFFLINE; nothing is under way, and the time has come.
    case goOffline(token: AccessToken)
    /// A request has ended. Of another than the one under way nothing comes.
    case ended(id: UInt64, UpdateOutcome)
    /// What a store has held for this vehicle.
    case restored([Backlog.Record])
    /// What the previous run has sent, oldest first; since when the floor of this vehicle counts; the time of the newest
    /// position that Fleet Engine has.
    case resumed([BootInstant], spacedFrom: BootInstant?, delivered: Timestamp?)
    /// What the previous run has sent last may arrive until then.
    case mayArrive(RequestKind, until: BootInstant)
    /// The filter has overruled stamps after this one.
    case overruled(after: Timestamp)
    /// The positions to come are dated by another clock than those before.
    case clockJumped
    /// Stamps after this one are most likely wrong: nothing is removed, and nothing is sent for them.
    case doubted(after: Timestamp)
    /// The time by positions that can be trusted with it: what is too old to matter goes, and what bears a later time.
    case time(Timestamp)
    /// Connections that were open are most likely dead: a request under way is given up.
    case connectionsLost
    /// The network came up, or the machine woke: what waits for a network waits no longer.
    case networkUp
    /// A pause begins: a request under way is given up, and what comes after is no part of the outage before.
    case paused
    /// Settings changed. When they name another vehicle, what is known of this one is forgotten, though not by the store.
    indirect case configured(Configuration, isOtherVehicle: Bool)
  }

  /// What the shell is to do, or the vehicle's agent to know. Each carries all that doing it needs.
  package enum Effect: Equatable, Sendable {
    case send(id: UInt64, HTTPRequest)
    case cancel(id: UInt64)
    case backlog(Backlog.Change)
    /// `live` was sent at `sentAt`; `past` is the number of positions of the backlog that went with it.
    case accepted(live: VehicleLocation, sentAt: BootInstant, past: Int)
    /// The request was not accepted, with this token.
    indirect case failed(UpdateFailure, AccessToken, sentAt: BootInstant)
    /// The vehicle's state is OFFLINE at Fleet Engine, by a request of this time.
    case wentOffline(sentAt: BootInstant)
    /// OFFLINE was not accepted, with this token.
    indirect case offlineFailed(UpdateFailure, AccessToken, sentAt: BootInstant)
    /// The server has not processed the request: it is made once more at once, which is no outage.
    indirect case resends(UpdateFailure, sentAt: BootInstant)
    /// The request will be sent once more without the backlog, before anything else is blamed.
    indirect case suspectsBacklog(UpdateFailure, sentAt: BootInstant)
  }

  /// What a request sets.
  package enum RequestKind: Int64, Sendable {
    /// A position, and ONLINE where the vehicle's state follows the duty.
    case position = 1
    /// OFFLINE.
    case offline = 2
  }

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
    var update: PositionUpdate
    var records: [Backlog.ID]
    /// Whether what rides along is a position that Fleet Engine has already.
    var isControl: Bool
    var token: AccessToken
    var sentAt: BootInstant
    /// Whether another position goes in the place of the newest, which was refused.
    var isSubstitute: Bool
    var deadline: BootInstant
  }

  /// What is known of one vehicle, and forgotten with it.
  private struct KnownVehicle {
    /// Why the last attempt was not accepted.
    var failure: UpdateFailure?
    /// By the first failure after an accepted update.
    var failingSince: BootInstant?
    /// The last attempt was accepted, and there was no pause since.
    var isOnline = false
    /// What the last accepted update has set; nil when it has set none, or there was none.
    var state: VehicleState?
    var lastAcceptedAt: BootInstant?
    /// The newest position that Fleet Engine has.
    var delivered: VehicleLocation?
    /// The time of the newest position that Fleet Engine has of the run before.
    var deliveredBefore: Timestamp?
    /// The time of the newest position that a store has held.
    var newestRestored: Timestamp?
    /// The place that Fleet Engine has, and since when.
    var place: (location: VehicleLocation, since: BootInstant)?
    var isOwing = false
    /// The last attempt was not processed, and is made again.
    var isResending = false
    /// The newest position that was due in this run, as long as its time stands.
    var newestOwed: Timestamp?
    /// The time of a live position that the server refused with nothing else in the request.
    var refusedLive: Timestamp?
    /// Until when a request may arrive that was given up, or has ended without an answer.
    var mayArriveUntil: [RequestKind: BootInstant] = [:]
  }

  private(set) var configuration: Configuration
  /// What waits in memory; the store's copy follows it by effects.
  package private(set) var backlog = Backlog()
  private var state = State.idle
  private var vehicle = KnownVehicle()
  private var backfill: Backfill
  private var lastID: UInt64 = 0
  private var gate: RetryGate
  private var lastAttemptAt = BootInstant.boot
  /// From when the floor counts: the last update of this vehicle that was accepted, or may have been.
  private var spacedFrom: BootInstant?
  /// The same of vehicles that the settings have named in the last seconds, and may name again.
  private var departed: [(endpoint: FleetEngineEndpoint, at: BootInstant)] = []

  package init(_ configuration: Configuration, seed: UInt64) {
    self.configuration = configuration
    gate = RetryGate(seed: seed)
    backfill = Backfill(limit: configuration.batch, endpoint: configuration.endpoint)
  }

  // MARK: - What is known

  /// Whether no request is under way.
  package var isIdle: Bool { if case .idle = state { true } else { false } }

  /// When the request under way was sent; nil when there is none.
  package var sentAt: BootInstant? {
    switch state {
    case .idle: nil
    case .sending(let attempt): attempt.sentAt
    case .goingOffline(let attempt): attempt.sentAt
    }
  }

  /// The latest time at which the request under way must have ended.
  package var attemptDeadline: BootInstant? {
    switch state {
    case .idle: nil
    case .sending(let attempt): attempt.deadline
    case .goingOffline(let attempt): attempt.deadline
    }
  }

  /// What the request under way sets; nil when there is none.
  var underWay: RequestKind? {
    switch state {
    case .idle: nil
    case .sending: .position
    case .goingOffline: .offline
    }
  }

  /// Until when a position that has ended without an answer may arrive. It would set the vehicle to ONLINE.
  var positionMayArriveUntil: BootInstant { vehicle.mayArriveUntil[.position] ?? .boot }

  /// The same of OFFLINE: until then no position is sent, as one that comes before it would not be the last word.
  var offlineMayArriveUntil: BootInstant { vehicle.mayArriveUntil[.offline] ?? .boot }

  /// The vehicle's state at Fleet Engine, as far as this run has set it; nil when it has not.
  package var vehicleState: VehicleState? { vehicle.state }

  /// Why the last attempt was not accepted; nil when it was.
  package var failure: UpdateFailure? { vehicle.failure }

  /// Whether the last attempt was not accepted.
  package var isFailing: Bool { if case .some = vehicle.failure { true } else { false } }

  /// Since when no attempt was accepted, by the first failure after an accepted update.
  package var failingSince: BootInstant? { vehicle.failingSince }

  /// Whether the last attempt was accepted. Not after a pause, until the next one is.
  package var isOnline: Bool { vehicle.isOnline }

  /// When Fleet Engine last accepted an update; nil before the first.
  package var lastAcceptedAt: BootInstant? { vehicle.lastAcceptedAt }

  /// The newest position that Fleet Engine has.
  package var delivered: VehicleLocation? { vehicle.delivered }

  /// Whether positions are pending: an attempt failed, or a position went to the backlog.
  package var isOwing: Bool { vehicle.isOwing }

  /// Whether a position may go as the live one: it has not been refused alone.
  package func mayBeLive(_ location: VehicleLocation) -> Bool { vehicle.refusedLive != location.time }

  /// Positions of the backlog that are not on their way as the live one.
  package var waiting: Int {
    guard let attempt, backlog.holds(attempt.update.live.time) else { return backlog.count }
    return backlog.count - 1
  }

  private var attempt: Attempt? { if case .sending(let attempt) = state { attempt } else { nil } }

  /// The time of the newest position that Fleet Engine has, by this run and the one before; nil when none is known.
  var newestDelivered: Timestamp? {
    [vehicle.delivered?.time, vehicle.deliveredBefore].compactMap(\.self).max()
  }

  /// The attempts that limit the next one, oldest first, and since when the floor counts.
  var limits: (attempts: [BootInstant], spacedFrom: BootInstant?) { (gate.attempts, spacedFrom) }

  /// The earliest time of the next attempt, and which limit makes it so late; nil: the wait after a failure.
  package var earliest: (at: BootInstant, by: Cause.Limit?) {
    let spaced = spaced(configuration.isLimited ? gate.spaced : .boot)
    return gate.notBefore > spaced.at ? (gate.notBefore, nil) : spaced
  }

  /// The earliest time of one last attempt before the end, which waits for no backoff, and which limit makes it so late.
  package var earliestLast: (at: BootInstant, by: Cause.Limit) {
    spaced(configuration.isLimited ? gate.spacedLast : .boot)
  }

  /// The earliest time of the next attempt to set OFFLINE, and which limit makes it so late; nil: the wait after a failure. The
  /// time between accepted positions does not count for it.
  var earliestOffline: (at: BootInstant, by: Cause.Limit?) {
    let limit = earliestLastOffline
    let spaced = configuration.isLimited ? gate.spaced : .boot
    return gate.notBefore > spaced ? (gate.notBefore, nil) : (spaced, limit.by)
  }

  /// The same of one last attempt before the end, which waits for no backoff.
  var earliestLastOffline: (at: BootInstant, by: Cause.Limit) {
    (configuration.isLimited ? gate.spacedLast : .boot, .attempts)
  }

  private func spaced(_ limit: BootInstant) -> (at: BootInstant, by: Cause.Limit) {
    let floor = spacedFrom.map { $0 + configuration.floor } ?? .boot
    if offlineMayArriveUntil > max(floor, limit) { return (offlineMayArriveUntil, .offline) }
    return floor > limit ? (floor, .floor) : (limit, .attempts)
  }

  /// Up to when a stored position may go as the live one.
  struct StoredLimit: Equatable, Sendable {
    /// The latest time that it can be.
    var latest: Timestamp
    /// Whether Fleet Engine says so, by whose clock positions are judged.
    var isFleetEngine: Bool
    /// When this was said once, and counts no more unless it is said again; nil: no such time is to come.
    var lapsesAt: BootInstant?

    /// - Parameter end: of a single word, which counts no more from then on.
    init(_ latest: Timestamp, by reference: TimeJudge.Reference?, until end: BootInstant?, at now: BootInstant) {
      self.latest = latest
      lapsesAt = end.flatMap { now < $0 ? $0 : nil }
      isFleetEngine = reference == .fleetEngine && (end == nil || lapsesAt != nil)
    }
  }

  /// What goes as the live position while there is no fix: the newest of what waits, once it has gone of what has arrived.
  /// Nil when nothing waits, or nothing may go.
  ///
  /// - Parameter limit: what bears a later time does not go. Where all does that earlier runs have left, and Fleet Engine has
  ///   not given the time, it is most likely the time that is wrong: the oldest goes, and the answer says what time it is.
  ///   If it does not, the newest goes.
  ///   Nil: no time is known.
  func stored(until limit: StoredLimit?) -> VehicleLocation? {
    let records = backlog.records
    var newest = records.last { record in
      mayBeLive(record.location) && limit.map { record.id <= $0.latest } ?? true
    }
    if newest == nil, limit?.isFleetEngine == false, let restored = vehicle.newestRestored {
      let isSendable: (Backlog.Record) -> Bool = { mayBeLive($0.location) && $0.id <= restored }
      newest = vehicle.lastAcceptedAt == nil ? records.first(where: isSendable) : records.last(where: isSendable)
    }
    guard let newest = newest?.location else { return nil }
    return delivered.flatMap { $0.time > newest.time ? $0 : nil } ?? newest
  }

  /// When the backlog alone is worth a request; nil when there is nothing in it to be sent.
  ///
  /// - Parameters:
  ///   - time: of the live position.
  ///   - token: the token that there is at a time.
  package func backfillDeadline(before time: Timestamp, with token: (BootInstant) -> AccessToken?) -> BootInstant? {
    guard !backlog.isEmpty, backfill.hasWork(among: backlog.sendable(before: time, age: configuration.maxAge)) else {
      return nil
    }
    let due = lastAttemptAt + configuration.interval
    return max(due, backfill.deniedUntil(with: token(due), at: due) ?? due)
  }

  // MARK: - Inputs

  /// Takes what happened, and returns what is to be done, in this order.
  package mutating func handle(_ input: Input, at now: BootInstant) -> [Effect] {
    switch input {
    case .send(let newest, let isOwed, let token):
      // The one that is sent is beside the limit for as long as it is on its way: most often all is well soon, and a full
      // backlog need not be thinned for it.
      let limit = configuration.capacity > 0 ? configuration.capacity + 1 : 0
      return (isOwed ? enqueue(newest, limit: limit) : []) + send(newest, token: token, at: now)
    case .due(let location): return enqueue(location, limit: configuration.capacity)
    case .goOffline(let token): return goOffline(token: token, at: now)
    case .ended(let id, let outcome): return end(id, outcome, at: now)
    case .restored(let records):
      // The file also holds what this run has put there before it was read.
      let newest = records.lazy.filter { [backlog] in !backlog.contains($0.id) }.map(\.id).max()
      let changes = backlog.restore(records, limit: configuration.capacity)
      vehicle.newestRestored = [vehicle.newestRestored, newest].compactMap(\.self).max()
      // Its removal was not stored in time.
      return DeliveryAgent.effects(changes + (delivered.map { backlog.remove([$0.time], .delivered) } ?? []))
    case .resumed(let attempts, let start, let delivered):
      gate.restore(attempts)
      vehicle.deliveredBefore = delivered
      spacedFrom = start ?? spacedFrom
      return []
    case .mayArrive(let kind, let end):
      mayArrive(kind, until: end)
      return []
    case .overruled(let newest):
      forget(after: newest)
      return DeliveryAgent.effects(backlog.overrule(after: newest))
    case .clockJumped:
      backlog.part()
      return []
    case .doubted(let newest):
      if let owed = vehicle.newestOwed, owed > newest { vehicle.newestOwed = nil }
      return []
    case .time(let time):
      forget(after: time)
      return DeliveryAgent.effects(backlog.expire(before: time - configuration.maxAge) + backlog.overrule(after: time))
    case .connectionsLost: return abandon()
    case .networkUp:
      resetBackoff(at: now)
      return []
    case .paused:
      vehicle.failingSince = nil
      vehicle.isOnline = false
      // What was wrong with a position is not wrong with OFFLINE.
      if configuration.endpoint.followsDuty, vehicle.failure?.category.row.pastPositions == .rejected { gate.allow() }
      return abandon()
    case .configured(let configuration, let isOtherVehicle):
      return configure(configuration, isOtherVehicle: isOtherVehicle, at: now)
    }
  }

  /// A later time was wrong.
  private mutating func forget(after newest: Timestamp) {
    if let owed = vehicle.newestOwed, owed > newest { vehicle.newestOwed = nil }
    if let before = vehicle.deliveredBefore, before > newest { vehicle.deliveredBefore = nil }
    if let restored = vehicle.newestRestored, restored > newest { vehicle.newestRestored = newest }
  }

  // Static: a call on `self` whose argument changes it copies all of it first.
  private static func effects(_ changes: [Backlog.Change]) -> [Effect] { changes.map { .backlog($0) } }

  /// Keeps a position until it has arrived, unless it has, or is kept already.
  private mutating func enqueue(_ location: VehicleLocation, limit: Int) -> [Effect] {
    vehicle.isOwing = true
    vehicle.newestOwed = max(vehicle.newestOwed ?? location.time, location.time)
    guard location.time != vehicle.delivered?.time else { return [] }
    return DeliveryAgent.effects(backlog.append(location, limit: limit))
  }

  // MARK: - One attempt

  /// The position to send as `lastLocation`: the newest, or, if the server refused that one, the newest accepted or queued
  /// position, so that one bad position cannot block the queue. The refused one goes as a past position of the next fix,
  /// and is found there.
  private func live(for newest: VehicleLocation) -> VehicleLocation {
    guard !mayBeLive(newest) else { return newest }
    let waiting = backlog.sendable(before: newest.time, age: configuration.maxAge).last?.location
    let known = delivered.flatMap { $0.time < newest.time ? $0 : nil }
    guard let waiting, let known else { return waiting ?? known ?? newest }
    return waiting.time > known.time ? waiting : known
  }

  private mutating func send(_ newest: VehicleLocation, token: AccessToken, at now: BootInstant) -> [Effect] {
    let live = live(for: newest)
    let records = backfill.select(
      from: backlog.sendable(before: live.time, age: configuration.maxAge),
      delivered: delivered.flatMap { $0.time < live.time ? $0 : nil }, with: token, at: now)
    var sinceUpdate: Int?
    if let place = vehicle.place, place.location.coordinate == live.coordinate {
      let seconds = (now - place.since).wholeSeconds
      sinceUpdate = seconds > 0 ? Int(min(seconds, Int64(Int32.max))) : nil
    }
    let update = PositionUpdate(live: live, timeSinceUpdate: sinceUpdate, past: records.map(\.location))
    lastID += 1
    lastAttemptAt = now
    gate.attempted(at: now)
    let attempt = Attempt(
      id: lastID, update: update, records: records.map(\.id), isControl: backfill.isControl, token: token, sentAt: now,
      isSubstitute: live.time != newest.time, deadline: now + configuration.endpoint.deadline)
    state = .sending(attempt)
    return [.send(id: lastID, configuration.endpoint.request(update, token: token.secret))]
  }

  /// Gives up the request under way; a position that must not be lost is in the backlog.
  private mutating func abandon() -> [Effect] {
    if case .goingOffline(let attempt) = state {
      state = .idle
      mayArrive(.offline, until: attempt.deadline)
      return [.cancel(id: attempt.id)]
    }
    guard let attempt else { return [] }
    state = .idle
    mayArrive(.position, until: attempt.deadline)
    return [.cancel(id: attempt.id)] + DeliveryAgent.effects(backlog.makeRoom(limit: configuration.capacity))
  }

  private mutating func mayArrive(_ kind: RequestKind, until end: BootInstant) {
    vehicle.mayArriveUntil[kind] = max(vehicle.mayArriveUntil[kind] ?? end, end)
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
    spacedFrom = now
    vehicle.isOnline = true
    vehicle.state = configuration.endpoint.followsDuty ? .online : nil
    vehicle.isResending = false
    vehicle.lastAcceptedAt = now
    vehicle.failure = nil
    vehicle.failingSince = nil
    vehicle.delivered = live
    backlog.part()
    if vehicle.place?.location.coordinate != live.coordinate { vehicle.place = (live, now) }
    gate.succeeded()
    var changes = [Backlog.Change]()
    if attempt.records.isEmpty {
      backfill.acceptedAlone(at: now)
    } else {
      changes += backlog.remove(backfill.accepted(attempt.records), .refused)
    }
    changes += backlog.remove(attempt.records + (mayBeIgnored(live) ? [] : [live.time]), .delivered)
    // What became due while this was on its way follows as soon as it may, and does not wait for the next fix.
    vehicle.isOwing = vehicle.newestOwed.map { $0 > live.time && $0 != vehicle.refusedLive } ?? false
    return DeliveryAgent.effects(changes) + [
      .accepted(live: live, sentAt: attempt.sentAt, past: attempt.isControl ? 0 : attempt.records.count)
    ]
  }

  /// Whether Fleet Engine may have ignored a live position, as it has a newer one of the run before: it goes once more, as a
  /// past position of the next fix.
  private func mayBeIgnored(_ live: VehicleLocation) -> Bool {
    guard let before = vehicle.deliveredBefore, let restored = vehicle.newestRestored else { return false }
    return live.time < before && live.time <= restored
  }

  private mutating func fail(_ attempt: Attempt, _ failure: UpdateFailure, at now: BootInstant) -> Effect {
    vehicle.isOwing = true
    if failure.mayArrive { mayArrive(.position, until: attempt.deadline) }
    guard note(failure, at: now) else { return .resends(failure, sentAt: attempt.sentAt) }
    if failure.category.row.pastPositions == .rejected, attempt.records.isEmpty {
      // Where another is refused as well, it is not this position's fault; nor where it has been accepted before.
      let isBlameless = attempt.isSubstitute || attempt.update.live.time == vehicle.delivered?.time
      vehicle.refusedLive = isBlameless ? nil : attempt.update.live.time
    }
    if backfill.failed(attempt.records, failure.category.row.pastPositions, with: attempt.token) {
      gate.hold(for: AttemptLimiter.spacing, at: now)
      return .suspectsBacklog(failure, sentAt: attempt.sentAt)
    }
    backOff(after: failure, at: now)
    return .failed(failure, attempt.token, sentAt: attempt.sentAt)
  }

  /// - Returns: false when the request is made once more at once, as the server has not processed it.
  private mutating func note(_ failure: UpdateFailure, at now: BootInstant) -> Bool {
    if failure.isUnprocessed, !vehicle.isResending {
      // The limit of attempts is the only wait.
      vehicle.isResending = true
      return false
    }
    vehicle.isResending = false
    vehicle.isOnline = false
    vehicle.failure = failure
    vehicle.failingSince = failingSince ?? now
    if failure.isUnsent { gate.neverArrived() }
    return true
  }

  private mutating func backOff(after failure: UpdateFailure, at now: BootInstant) {
    _ = gate.failed(failure.backoff, floor: AttemptLimiter.spacing, after: failure.retryAfter ?? .zero, at: now)
  }

  // MARK: - The end of a duty

  private mutating func goOffline(token: AccessToken, at now: BootInstant) -> [Effect] {
    guard let request = configuration.endpoint.offlineRequest(token: token.secret) else { return [] }
    lastID += 1
    lastAttemptAt = now
    gate.attempted(at: now)
    state = .goingOffline(
      OfflineAttempt(id: lastID, token: token, sentAt: now, deadline: now + configuration.endpoint.deadline))
    return [.send(id: lastID, request)]
  }

  private mutating func end(_ attempt: OfflineAttempt, _ outcome: UpdateOutcome, at now: BootInstant) -> [Effect] {
    state = .idle
    switch outcome {
    case .accepted:
      vehicle.isResending = false
      vehicle.failure = nil
      vehicle.failingSince = nil
      vehicle.state = .offline
      gate.succeeded()
      return [.wentOffline(sentAt: attempt.sentAt)]
    case .failed(let failure):
      if failure.mayArrive { mayArrive(.offline, until: attempt.deadline) }
      guard note(failure, at: now) else { return [.resends(failure, sentAt: attempt.sentAt)] }
      backOff(after: failure, at: now)
      return [.offlineFailed(failure, attempt.token, sentAt: attempt.sentAt)]
    }
  }

  // MARK: - Network and settings

  /// At most once in 30 s, and never against the wish of a server that was reached.
  private mutating func resetBackoff(at now: BootInstant) {
    guard failure.map({ !$0.isJudged && $0.retryAfter == nil }) ?? true else { return }
    gate.kick(at: now)
  }

  private mutating func configure(
    _ configuration: Configuration, isOtherVehicle: Bool, at now: BootInstant
  ) -> [Effect] {
    if isOtherVehicle { depart(to: configuration, at: now) }
    self.configuration = configuration
    backfill = Backfill(limit: configuration.batch, endpoint: configuration.endpoint)
    gate.reset()
    guard isOtherVehicle else { return [] }
    backlog.forget()
    let effects = abandon()
    vehicle = KnownVehicle()
    return effects
  }

  /// The floor belongs to a vehicle: one that comes back within it is not updated sooner for that.
  private mutating func depart(to next: Configuration, at now: BootInstant) {
    departed.removeAll { now - $0.at > max(configuration.floor, next.floor) }
    // What is on its way may arrive all the same.
    if let last = isIdle ? spacedFrom : now { departed.append((configuration.endpoint, last)) }
    spacedFrom = departed.last { $0.endpoint.isSameVehicle(as: next.endpoint) }?.at
  }
}
