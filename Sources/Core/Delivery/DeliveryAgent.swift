// SPDX-License-Identifier: Apache-2.0
package import Authorization
package import FleetEngine
package import HTTPMessages
package import Timekeeping

/// Gets positions to Fleet Engine: one request at a time, the newest position always in it, the backlog riding along, and
/// after a failure the wait that its category calls for.
package struct DeliveryAgent: Sendable {
  package struct Configuration: Equatable, Sendable {
    package var endpoint: FleetEngineEndpoint
    /// Least time between accepted updates.
    package var floor: Duration
    /// Time between requests that only work off the backlog.
    package var interval: Duration
    /// Positions of the backlog in one request.
    package var batch: Int
    package var maxLocations: Int
    /// Bytes that the backlog's positions may take, at ``Backlog/recordSize`` each.
    package var maxBytes: Int
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

  /// What is under way.
  private struct Attempt {
    var id: UInt64
    var update: PositionUpdate
    var records: [Backlog.ID]
    var token: AccessToken
    var sentAt: BootInstant
    /// Whether the position counts as taken by the policy, and must not be lost.
    var isOwed: Bool
    /// Whether another position goes in the place of the newest, which was refused.
    var isSubstitute: Bool
    var deadline: BootInstant
  }

  /// What the end of an attempt means.
  package enum Conclusion: Equatable, Sendable {
    /// `live` was sent at `sentAt`; `delivered` is the number of positions from the backlog that went with it.
    case accepted(live: VehicleLocation, sentAt: BootInstant, delivered: Int)
    case failed(UpdateFailure, retry: Duration)
    /// The request will be sent once more without the backlog, before anything else is blamed.
    case suspectsBacklog(UpdateFailure)
  }

  private(set) var configuration: Configuration
  package private(set) var backlog = Backlog()
  package private(set) var failure: UpdateFailure?
  package private(set) var lastAcceptedAt: BootInstant?
  /// When the vehicle was last offline since, by the first failure after an accepted update.
  package private(set) var failingSince: BootInstant?
  /// The newest position that Fleet Engine has.
  package private(set) var delivered: VehicleLocation?
  /// Positions are owed: an attempt failed, or a position went to the backlog.
  package private(set) var isOwing = false

  /// The newest position that was due in this run, as long as its time stands.
  private var newestOwed: Timestamp?
  /// The time of a live position that the server refused with nothing else in the request.
  private var refusedLive: Timestamp?
  private var attempt: Attempt?
  private var lastID: UInt64 = 0
  private var gate: RetryGate
  private var lastAttemptAt = BootInstant.boot
  /// From when the floor counts: the last update of this vehicle that was accepted, or may have been.
  private var spacedFrom: BootInstant?
  /// The same of vehicles that the settings have named in the last seconds, and may name again.
  private var departed: [(endpoint: FleetEngineEndpoint, at: BootInstant)] = []
  private var backfill: Backfill
  /// The place that Fleet Engine has, and since when.
  private var place: (location: VehicleLocation, since: BootInstant)?

  package init(_ configuration: Configuration, seed: UInt64) {
    self.configuration = configuration
    gate = RetryGate(seed: seed)
    backfill = Backfill(limit: configuration.batch, endpoint: configuration.endpoint)
  }

  package var isIdle: Bool { attempt == nil }

  /// When the request under way was sent; nil when there is none.
  package var sentAt: BootInstant? { attempt?.sentAt }

  /// The latest time at which the request under way must have ended.
  package var attemptDeadline: BootInstant? { attempt?.deadline }

  /// The earliest time of the next attempt, and which limit makes it so late; nil: the wait after a failure.
  package var earliest: (at: BootInstant, by: Cause.Limit?) {
    let spaced = spaced(configuration.isLimited ? gate.spaced : .boot)
    return gate.notBefore > spaced.at ? (gate.notBefore, nil) : spaced
  }

  /// The earliest time of one last attempt before the end, which waits for no backoff, and which limit makes it so late.
  package var earliestLast: (at: BootInstant, by: Cause.Limit) {
    spaced(configuration.isLimited ? gate.spacedLast : .boot)
  }

  private func spaced(_ limit: BootInstant) -> (at: BootInstant, by: Cause.Limit) {
    guard let spacedFrom, spacedFrom + configuration.floor > limit else { return (limit, .attempts) }
    return (spacedFrom + configuration.floor, .floor)
  }

  /// When the backlog alone is worth a request; nil when it is empty, or refused.
  ///
  /// - Parameter token: the token that there is at a time.
  package func backfillDeadline(
    for live: VehicleLocation, with token: (BootInstant) -> AccessToken?
  ) -> BootInstant? {
    let due = lastAttemptAt + configuration.interval
    guard !backlog.sendable(before: live.time, age: configuration.maxAge).isEmpty,
      !backfill.isDenied(with: token(due))
    else { return nil }
    return due
  }

  // MARK: - Doing

  /// What goes as the live position: the newest, unless it was refused. Then it is the newest of what Fleet Engine has
  /// and what waits, so that the rest of the backlog goes on without it; the refused one goes as a past position of the
  /// next fix, and is found to be the culprit there.
  private func live(for newest: VehicleLocation) -> VehicleLocation {
    guard refusedLive == newest.time else { return newest }
    let waiting = backlog.sendable(before: newest.time, age: configuration.maxAge).last?.location
    let known = delivered.flatMap { $0.time < newest.time ? $0 : nil }
    guard let waiting, let known else { return waiting ?? known ?? newest }
    return waiting.time > known.time ? waiting : known
  }

  /// Whether a position may go as the live one: it has not been refused alone.
  package func mayBeLive(_ location: VehicleLocation) -> Bool { refusedLive != location.time }

  /// Starts an attempt; the caller has seen that there is none and that it may.
  ///
  /// - Parameter isOwed: whether `newest` must reach the server sooner or later.
  /// - Returns: nil when it cannot be put into a request, which counts as refused.
  package mutating func begin(
    _ newest: VehicleLocation, isOwed: Bool, token: AccessToken, at now: BootInstant
  ) -> (id: UInt64, request: HTTPRequest)? {
    let live = live(for: newest)
    let records = backfill.select(
      from: backlog.sendable(before: live.time, age: configuration.maxAge), with: token)
    var sinceUpdate: Int?
    if let place, place.location.coordinate == live.coordinate {
      let seconds = (now - place.since).wholeSeconds
      sinceUpdate = seconds > 0 ? Int(min(seconds, Int64(Int32.max))) : nil
    }
    let update = PositionUpdate(live: live, timeSinceUpdate: sinceUpdate, past: records.map(\.location))
    lastID += 1
    lastAttemptAt = now
    gate.attempted(at: now)
    let attempt = Attempt(
      id: lastID, update: update, records: records.map(\.id), token: token, sentAt: now, isOwed: isOwed,
      isSubstitute: live.time != newest.time, deadline: now + configuration.endpoint.deadline)
    guard let request = configuration.endpoint.request(update, token: token.secret) else {
      let failure = UpdateFailure(
        .rejected, "the position cannot be written as JSON", from: configuration.endpoint.vehicle.service)
      _ = fail(attempt, failure, at: now)
      return nil
    }
    self.attempt = attempt
    return (lastID, request)
  }

  /// Keeps a position until it has arrived, unless it has, or is kept already.
  package mutating func record(_ location: VehicleLocation) -> [Backlog.Change] {
    isOwing = true
    newestOwed = max(newestOwed ?? location.time, location.time)
    guard location.time != delivered?.time else { return [] }
    return backlog.append(location, limit: configuration.capacity)
  }

  /// Takes what a store has held for this vehicle.
  package mutating func restore(_ records: [Backlog.Record]) -> [Backlog.Change] {
    let changes = backlog.restore(records, limit: configuration.capacity)
    // Its removal was not stored in time.
    return changes + (delivered.map { backlog.remove([$0.time], .delivered) } ?? [])
  }

  /// Gives up the attempt under way, before the end of everything; what it carried is kept if it must not be lost.
  ///
  /// - Returns: the request to cancel, if there is one, and the changes of the backlog.
  package mutating func abandon() -> (cancel: UInt64?, [Backlog.Change]) {
    guard let attempt else { return (nil, []) }
    self.attempt = nil
    return (attempt.id, attempt.isOwed ? record(attempt.update.live) : [])
  }

  /// The filter has overruled stamps after `newest`.
  package mutating func overrule(after newest: Timestamp) -> [Backlog.Change] {
    if let owed = newestOwed, owed > newest { newestOwed = nil }
    return backlog.overrule(after: newest)
  }

  /// Reads the outcome of an attempt.
  ///
  /// - Returns: nil when it is not the outcome of the attempt under way; the token of the attempt, for the token agent to
  ///   judge.
  package mutating func finish(
    _ id: UInt64, _ outcome: UpdateOutcome, at now: BootInstant
  ) -> (Conclusion, [Backlog.Change], AccessToken)? {
    guard let attempt, attempt.id == id else { return nil }
    self.attempt = nil
    switch outcome {
    case .accepted:
      let (conclusion, changes) = accept(attempt, at: now)
      return (conclusion, changes, attempt.token)
    case .failed(let failure):
      let changes = attempt.isOwed ? record(attempt.update.live) : []
      return (fail(attempt, failure, at: now), changes, attempt.token)
    }
  }

  private mutating func accept(_ attempt: Attempt, at now: BootInstant) -> (Conclusion, [Backlog.Change]) {
    let live = attempt.update.live
    lastAcceptedAt = now
    spacedFrom = now
    failure = nil
    failingSince = nil
    delivered = live
    backlog.part()
    if place?.location.coordinate != live.coordinate { place = (live, now) }
    gate.reset()
    var changes = [Backlog.Change]()
    let refused =
      attempt.records.isEmpty
      ? backfill.acceptedAlone(backlog.sendable(before: live.time, age: configuration.maxAge))
      : backfill.accepted(attempt.records)
    if let refused { changes += backlog.remove([refused], .refused) }
    let arrived = attempt.records + backlog.records.filter { $0.location.time == live.time }.map(\.id)
    changes += backlog.remove(arrived, .delivered)
    // What became due while this was on its way follows as soon as it may, and does not wait for the next fix.
    isOwing = newestOwed.map { $0 > live.time && $0 != refusedLive } ?? false
    return (.accepted(live: live, sentAt: attempt.sentAt, delivered: attempt.records.count), changes)
  }

  private mutating func fail(_ attempt: Attempt, _ failure: UpdateFailure, at now: BootInstant) -> Conclusion {
    isOwing = true
    self.failure = failure
    failingSince = failingSince ?? now
    if failure.category.row.pastPositions == .rejected, attempt.records.isEmpty {
      // Where another is refused as well, it is not this position's fault.
      refusedLive = attempt.isSubstitute ? nil : attempt.update.live.time
    }
    if backfill.failed(attempt.records, failure.category.row.pastPositions, with: attempt.token) {
      gate.hold(for: AttemptLimiter.spacing, at: now)
      return .suspectsBacklog(failure)
    }
    let wait = gate.failed(
      failure.backoff, floor: max(failure.retryAfter ?? .zero, AttemptLimiter.spacing), at: now)
    return .failed(failure, retry: wait)
  }

  // MARK: - Being told

  /// A pause begins: what comes after it is no part of the outage before.
  package mutating func forgetOutage() {
    failingSince = nil
  }

  /// The network came up, or the machine woke: what waits for a network waits no longer. At most once in 30 s, and never
  /// against the wish of a server that was reached.
  package mutating func networkUp(at now: BootInstant) {
    guard failure.map({ !$0.isJudged && $0.retryAfter == nil }) ?? true else { return }
    gate.kick(at: now)
  }

  /// Takes new settings.
  ///
  /// - Parameter isOtherVehicle: the backlog is another's then, and is forgotten, though not by the store; so is what is
  ///   known of Fleet Engine's state.
  /// - Returns: the request to cancel.
  package mutating func configure(
    _ configuration: Configuration, isOtherVehicle: Bool, at now: BootInstant
  ) -> UInt64? {
    if isOtherVehicle { depart(to: configuration, at: now) }
    self.configuration = configuration
    backfill = Backfill(limit: configuration.batch, endpoint: configuration.endpoint)
    gate.reset()
    guard isOtherVehicle else { return nil }
    let cancelled = attempt?.id
    attempt = nil
    failure = nil
    failingSince = nil
    lastAcceptedAt = nil
    delivered = nil
    place = nil
    isOwing = false
    newestOwed = nil
    refusedLive = nil
    backlog.forget()
    return cancelled
  }

  /// The floor belongs to a vehicle: one that comes back within it is not updated sooner for that.
  private mutating func depart(to next: Configuration, at now: BootInstant) {
    departed.removeAll { now - $0.at > max(configuration.floor, next.floor) }
    // What is on its way may arrive all the same.
    if let last = attempt == nil ? spacedFrom : now { departed.append((configuration.endpoint, last)) }
    spacedFrom = departed.last { $0.endpoint.isSameVehicle(as: next.endpoint) }?.at
  }

  /// Drops what is too old to matter, or bears a time that has not come.
  ///
  /// - Parameter newest: the time now, by positions that can be trusted with it.
  package mutating func tidy(at newest: Timestamp) -> [Backlog.Change] {
    backlog.expire(before: newest - configuration.maxAge) + backlog.overrule(after: newest)
  }

  /// Positions of the backlog that are not on their way as the live one.
  package var waiting: Int {
    guard let attempt, backlog.holds(attempt.update.live.time) else { return backlog.count }
    return backlog.count - 1
  }
}
