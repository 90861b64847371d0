// SPDX-License-Identifier: Apache-2.0
package import SourceSelection
package import Reporting
package import PositionBacklog
package import Delivery
package import Authorization
package import ClockEstimation
package import Connectivity
import FleetEngine
package import HTTPMessages
package import FixSources
package import Positioning
package import Timekeeping

/// Top-level state machine of one vehicle: inputs in, effects out.
///
/// Performs no I/O and has no clock. The caller passes inputs with their time, has the effects performed, and calls
/// again at `nextDeadline`.
package struct VehicleAgent: Sendable {
  /// The settings that the core needs.
  package struct Configuration: Equatable, Sendable {
    /// The context of tokens; nil if the settings name no vehicle.
    package var context: AuthorizationContext?
    /// Where tokens come from.
    package var tokenProvider: TokenProvider
    /// What a stored token is bound to. Nil: tokens are not stored.
    package var tokenKey: StoredToken.Key?
    /// The kernel's boot ID, one word; nil: no run state is stored.
    package var boot: String?
    /// When a fix is accepted.
    package var filter: FixFilter.Configuration
    /// When a position is due.
    package var reporting: ReportingPolicy.Configuration
    /// Where updates go, and the limits of the backlog.
    package var delivery: DeliveryAgent.Configuration
    /// Whether events may contain coordinates, which are personal data.
    package var logsPositions = false
    /// Whether Fleet Engine is on another machine, across a network.
    package var needsNetwork = true
    /// Address of a Fleet Engine on another machine, for the warning about simulated positions.
    package var remoteEndpoint: String?
    /// The time limit for delivery after a source has ended.
    package var drainLimit: Duration
    /// Whether the end of a run sets the state of a vehicle of on-demand trips to OFFLINE.
    package var goesOfflineOnStop = false

    package init(
      context: AuthorizationContext?, tokenProvider: TokenProvider, filter: FixFilter.Configuration,
      reporting: ReportingPolicy.Configuration, delivery: DeliveryAgent.Configuration,
      drainLimit: Duration = VehicleAgent.drainLimit
    ) {
      self.context = context
      self.tokenProvider = tokenProvider
      self.filter = filter
      self.reporting = reporting
      self.delivery = delivery
      self.drainLimit = drainLimit
    }
  }

  /// Everything of which the agent is notified.
  package enum Input: Equatable, Sendable {
    /// A report of the source with this ID.
    case source(Int, SourceReport)
    /// The sources in order of priority: at the start, and with new settings.
    case sources([SourceSelector.ConfiguredSource])
    /// `nextDeadline` has passed.
    case deadline
    case updateEnded(id: UInt64, HTTPOutcome)
    case tokenEnded(id: UInt64, TokenOutcome)
    /// The token file has changed.
    case tokenFileChanged
    /// The stored token of a previous run: at the start, if there is one.
    case tokenFound(Secret)
    /// The stored run state of a previous run: at the start, before the first fix.
    case runStateFound(String)
    /// What a previous run has stored about the form of updates: at the start, before the first fix.
    case updateFormFound(String)
    /// The network's state: at the start, and when it has changed. Never sent if it cannot be monitored.
    case network(NetworkState)
    /// The machine was suspended for this long, and has resumed.
    case resumed(after: Duration)
    /// The wall clock was stepped; negative is backward.
    case clockStepped(Duration)
    /// New settings. If they name another vehicle, its backlog begins empty, and `restored` follows. `lockedBy`: as in
    /// `vehicleLocked`.
    indirect case configure(Configuration, lockedBy: VehicleHolder? = nil)
    /// An attempt was made to lock the vehicle on this machine: at the start before the first fix, and after
    /// `lockVehicle`. `by`: the process that has locked it; nil: this one has, or the machine has no such locks.
    case vehicleLocked(by: VehicleHolder?)
    /// The stored positions of this vehicle: once after `readStore`, after new settings with another vehicle, and when
    /// a failed store has recovered. Positions that are queued already are ignored.
    case restored([Backlog.Record])
    /// The store's state. `unread`: at the start, before the first fix.
    case store(BacklogStoreState)
    /// The store's file was unusable; it was renamed to this name, and an empty one created.
    case storeSetAside(name: String, why: String)
    /// The store's file in this directory was deleted or replaced while in use; it is filled from memory again.
    case storeReplaced(directory: String)
    /// This many rows of the store's file were dropped: they were not valid positions, or more than can be queued.
    case storeRowsDropped(Int, Backlog.Removal)
    /// The store's file is empty or a different one: `backlogSnapshot` is the only effect, even after the end of the
    /// run.
    case storeStartsOver
    /// This many positions of other vehicles were dropped to make room in the store's file.
    case othersDropped(Int)
    /// A stop was requested by this signal: finish within this time.
    case stop(within: Duration, signal: String)
    /// A directory that systemd has made for the service was deleted: finish within this time, so that the service is
    /// started again.
    case directoryDeleted(String, within: Duration)
    /// No position is sent until `resume`. The stored pause of a previous run comes before the first fix; nil begins
    /// one now.
    case pause(PauseRecord?)
    case resume
    /// The driver takes no new trips. The stored record of a previous run comes before the first fix; nil begins one
    /// now. While there is a `dutyRefusal`, the record is kept, but Fleet Engine is not informed.
    case goOffline(DutyRecord?)
    /// The driver takes new trips again.
    case goOnline
    /// The newest position is due as soon as the limits allow. Without effect while there is a `sendRefusal`.
    case sendNow
    /// Whether a program on this machine monitors the positions; if so, `position` follows with each.
    case positionsMonitored(Bool)
  }

  /// What the caller has to do. Each case carries all the data that it needs.
  package enum Effect: Equatable, Sendable {
    /// `sendUpdate` to this URL follows when there is a token: connect in advance. Errors are left to the request.
    case connect(to: String, certificateTime: Timestamp?)
    case sendUpdate(id: UInt64, HTTPRequest)
    case cancelUpdate(id: UInt64)
    case fetchToken(id: UInt64, TokenRequest)
    case cancelToken(id: UInt64)
    /// Store this for `tokenFound` of the next run, readable by this user only.
    case storeToken(Secret)
    /// Remove the stored token.
    case removeStoredToken
    /// Store this at once for `runStateFound` of the next run in the same boot.
    case storeRunState(String)
    /// Store this for `updateFormFound` of the next run, even after a reboot.
    case storeUpdateForm(String)
    /// Open connections are most likely dead: use new ones.
    case dropConnections
    /// Try to lock the vehicle of the current configuration; `vehicleLocked` follows.
    case lockVehicle
    /// Read the store: once, after `store(.unread)`. `restored` follows, or a state with the reason why not.
    case readStore
    /// For the store of the current configuration's vehicle.
    case backlog(Backlog.Change)
    /// Whether there is a long outage, during which the store collects changes for longer.
    case collectChanges(inOutage: Bool)
    /// The store commits the changes so far at once.
    case commitBacklog
    /// All queued positions, for a store that starts over.
    case backlogSnapshot([Backlog.Record])
    /// Delete positions of other vehicles from before this time from the store.
    case forgetOthers(before: Timestamp)
    case event(Event)
    /// The next position of the vehicle, for programs that monitor it. Not during a pause.
    case position(FixFilter.Accepted)
    /// Whether fixes are needed. While they are not, receivers are left unread if possible, and what they send during
    /// that time is discarded.
    case needFixes(Bool)
    /// The source with this ID, which waits for this effect, may report its next fix: the last one was handled.
    case readyForNextFix(Int)
    /// Fleet Engine has accepted an update that was sent at this time.
    case accepted(sentAt: BootInstant)
    /// From now on only what is pending is delivered; `finished` follows within this time.
    case stopping(within: Duration)
    /// Store this for the next start, at once; nil: the pause is over.
    case storePause(PauseRecord?)
    /// The same for the duty; nil: the driver is on duty.
    case storeDuty(DutyRecord?)
    /// The run has ended.
    case finished(Lifecycle.Ending)
  }

  /// The default of `drainLimit`.
  package static let drainLimit = Duration.seconds(60)

  var configuration: Configuration
  var selector: SourceSelector
  var policy: ReportingPolicy
  var tokens: TokenAgent
  /// Sending, the backlog, and the backoff.
  package internal(set) var delivery: DeliveryAgent
  /// Counts since the start.
  package internal(set) var statistics = Statistics()
  /// The stage of the run.
  package internal(set) var lifecycle = Lifecycle()
  var fixes = FixMonitor()
  var eventLimiter = EventRateLimiter()
  var network = NetworkGate()
  /// What is known about the time.
  package internal(set) var clock: VehicleClock
  var dutyState = DutyState()
  var lock = VehicleLockState()
  /// Whether a program on this machine monitors the positions.
  private var arePositionsMonitored = false

  /// - Parameter seed: the seed of all jitter.
  package init(_ configuration: Configuration, seed: UInt64) {
    self.configuration = configuration
    selector = SourceSelector(filter: configuration.filter)
    clock = VehicleClock(buildDate: configuration.filter.buildDate)
    policy = ReportingPolicy(configuration.reporting)
    tokens = TokenAgent(
      context: configuration.context, provider: configuration.tokenProvider, buildDate: configuration.filter.buildDate,
      seed: seed)
    delivery = DeliveryAgent(configuration.delivery, seed: seed &+ 1)
  }

  /// Handles an input, and returns the effects in order.
  package mutating func handle(_ input: Input, at now: Moment) -> [Effect] {
    if case .storeStartsOver = input { return [.backlogSnapshot(delivery.backlog.records)] }
    guard !lifecycle.isFinished else { return [] }
    var effects = [Effect]()
    // Room for the effects of an update, in one allocation.
    effects.reserveCapacity(8)
    switch input {
    case .source(let id, let report): feedSelector(.report(report, from: id), at: now, &effects)
    case .sources(let configured): feedSelector(.replaced(configured), at: now, &effects)
    case .deadline:
      proceed(at: now, &effects)
      reviewNeed(at: now, &effects)
      releaseSources(at: now.boot, &effects)
      return effects
    case .updateEnded(let id, let outcome): updateEnded(id, outcome, at: now, &effects)
    case .tokenEnded(let id, let outcome): tokenEnded(id, outcome, at: now, &effects)
    case .tokenFileChanged: tokenFileChanged(at: now, &effects)
    case .tokenFound(let text): restoreToken(text, at: now, &effects)
    case .runStateFound(let text): restoreRunState(text, at: now, &effects)
    case .updateFormFound(let text):
      apply(delivery.handle(.restoredUpdateForm(text), at: now.boot), at: now, &effects)
    case .network(let state): networkChanged(state, at: now, &effects)
    case .resumed(let time):
      effects.append(.event(.resumed(after: time)))
      fixes.woke(at: now.boot)
      feedSelector(.resumed(after: time), at: now, &effects)
      resetConnections(at: now, &effects)
    case .clockStepped(let step): report(eventLimiter.clockStepped(step, at: now.boot), &effects)
    case .configure(let configuration, let holder): configure(configuration, lockedBy: holder, at: now, &effects)
    case .vehicleLocked(let holder): vehicleLocked(by: holder, at: now, &effects)
    case .restored(let records): restoreBacklog(records, at: now, &effects)
    case .store(let state): storeChanged(state, at: now, &effects)
    case .storeSetAside(let name, let why): effects.append(.event(.storeSetAside(name: name, why: why)))
    case .storeReplaced(let directory): effects.append(.event(.storeReplaced(directory: directory)))
    case .storeRowsDropped(let count, let reason):
      statistics.removed[reason, default: 0] += count
      report(eventLimiter.removed(count, reason, interpolationError: 0, at: now.boot), &effects)
    case .storeStartsOver: break
    case .othersDropped(let count): effects.append(.event(.othersDropped(count)))
    case .stop(let time, let signal):
      if lifecycle.stop(until: now.boot + time, reserving: offlineReserve(of: time)) {
        effects += [.event(.stopping(.signal(signal))), .stopping(within: time)]
        // In a long outage up to a minute of positions is in memory only: the power may fail in the final attempt.
        if network.outage.isLong { effects.append(.commitBacklog) }
      }
    case .directoryDeleted(let path, let time):
      if lifecycle.stop(until: now.boot + time, isRestart: true) {
        effects += [.event(.stopping(.directoryDeleted(path))), .stopping(within: time)]
      }
    case .pause(let record): pause(record, at: now, &effects)
    case .resume: resume(at: now, &effects)
    case .goOffline(let record): goOffline(record, at: now, &effects)
    case .goOnline: goOnline(at: now, &effects)
    case .sendNow: if sendRefusal == nil { policy.request() }
    case .positionsMonitored(let areMonitored): arePositionsMonitored = areMonitored
    }
    apply(delivery.handle(.expire, at: now.boot), at: now, &effects)
    reviewTime(at: now, &effects)
    proceed(at: now, &effects)
    reviewNeed(at: now, &effects)
    releaseSources(at: now.boot, &effects)
    return effects
  }

  /// The timestamp of the newest accepted fix: a better clock than the machine's while that is unset.
  package var newestTime: Timestamp? { policy.newestTime }

  /// Once the newest position is delivered or not due, releases the sources that wait. During a pause, or while another
  /// process has the vehicle, a recording waits; afterwards its next fix is needed.
  private mutating func releaseSources(at now: BootInstant, _ effects: inout [Effect]) {
    guard selector.hasWaitingSource, !isSuspended, delivery.isIdle,
      policy.newest == nil || !delivery.hasOverduePosition && policy.reason(at: now) == nil
    else { return }
    effects += selector.release().map { .readyForNextFix($0) }
  }

  // MARK: - Fixes

  /// Processes the next position of the vehicle.
  ///
  /// - Parameter invalidatesLater: whether either this timestamp or the queued ones after it are wrong.
  mutating func ingest(
    _ accepted: FixFilter.Accepted, invalidatesLater: Bool, at now: Moment, _ effects: inout [Effect]
  ) {
    noteFix(accepted.fix, at: now.boot, &effects)
    if arePositionsMonitored, !isSuspended { effects.append(.position(accepted)) }
    if invalidatesLater {
      // Until the time is confirmed, either the receiver's earlier or its later timestamps may be wrong.
      let isCertain = clock.assessment.isConfirmed
      let input = isCertain ? DeliveryAgent.Input.misdated(after: accepted.time) : .suspected(after: accepted.time)
      apply(delivery.handle(input, at: now.boot), at: now, &effects)
    }
    if !configuration.filter.usesRecordedTimes, let before = policy.newestTime {
      let jump = (accepted.time - before) - (now.boot - policy.newestAt)
      if max(jump, .zero - jump) > TimeEstimator.slack {
        apply(delivery.handle(.clockJumped, at: now.boot), at: now, &effects)
      }
    }
    policy.observe(accepted, at: now.boot)
    if let newest = policy.newest, !isSuspended { fixes.track.observe(newest.coordinate, at: now.boot) }
    // A date that came from the machine's clock must not remove positions with a right one.
    if accepted.fix.timestamp != nil || configuration.filter.usesRecordedTimes || clock.assessment.isConfirmed {
      delivery.observe(accepted.time, at: now.boot)
    }
    // Times of a recording or a simulator are not a reference, and neither is a date that came from the machine's
    // clock.
    guard !configuration.filter.usesRecordedTimes, accepted.fix.quality != .simulated else { return }
    // The receiver's own timestamp: a corrected one would corroborate its own correction.
    if let stamp = accepted.fix.timestamp { clock.observe(.gnss, stamp, at: now.boot) }
    report(eventLimiter.receiverClock(accepted.clockCorrection, at: now.boot), &effects)
  }

  /// A fix of the used source was accepted, even if it is held.
  mutating func noteFix(_ fix: Fix, at now: BootInstant, _ effects: inout [Effect]) {
    eventLimiter.fixAccepted()
    report(fixes.accepted(fix, at: now).flatMap { eventLimiter.fixChanged($0, at: now) }, &effects)
  }

  mutating func noteRejection(_ rejection: FixRejection, at now: BootInstant, _ effects: inout [Effect]) {
    statistics.rejected[rejection, default: 0] += 1
    fixes.rejected(rejection)
    report(eventLimiter.fixRejected(rejection, at: now), &effects)
  }

  func report(_ event: Event?, _ effects: inout [Effect]) {
    if let event { effects.append(.event(event)) }
  }

  mutating func reviewTime(at now: Moment, _ effects: inout [Effect]) {
    let review = clock.review(at: now)
    let bounds = clock.assessment.bounds
    if review.hasNewBounds { feedSelector(.time(bounds), at: now, &effects) }
    if review.hasNewAssessment, let bounds { dropWrongTimes(bounds, at: now, &effects) }
    if review.hasNewCertificateTime { resetBackoffs(at: now, &effects) }
    switch review.clockChange {
    case .wrong(let error): effects.append(.event(.clockWrong(error)))
    case .right: effects.append(.event(.clockRight))
    case nil: break
    }
  }

  /// Fleet Engine ignores all positions that are older than one from the future. A position with a wrong timestamp is
  /// not sent: the next fix is treated as the first.
  private mutating func dropWrongTimes(_ bounds: TimeBounds, at now: Moment, _ effects: inout [Effect]) {
    guard !configuration.filter.usesRecordedTimes else { return }
    if let newest = policy.newest, ReceiverClock.error(of: newest.time, bounds, at: policy.newestAt) != nil {
      policy.forget()
      apply(delivery.handle(.fixForgotten, at: now.boot), at: now, &effects)
    }
    removeWrongTimes(at: now, &effects)
  }

  /// Removes queued positions with timestamps in the future. While the time is unconfirmed, these positions are not
  /// removed, only not sent.
  mutating func removeWrongTimes(at now: Moment, _ effects: inout [Effect]) {
    guard let latest = clock.assessment.latestTimestamp(at: now.boot), !configuration.filter.usesRecordedTimes else {
      return
    }
    let input = clock.assessment.isConfirmed ? DeliveryAgent.Input.misdated(after: latest) : .suspected(after: latest)
    apply(delivery.handle(input, at: now.boot), at: now, &effects)
  }

  // MARK: - Settings

  /// The part of the time for shutdown that is reserved for OFFLINE.
  func offlineReserve(of time: Duration) -> Duration { setsOfflineAtEnd ? Lifecycle.offlineReserve(of: time) : .zero }

  private mutating func configure(
    _ new: Configuration, lockedBy holder: VehicleHolder?, at now: Moment, _ effects: inout [Effect]
  ) {
    let isOtherVehicle = new.context != configuration.context
    let before = configuration
    if isOtherVehicle, isOfflinePending {
      effects.append(
        .event(.stateOfflineMissing(vehicle: before.delivery.endpoint.vehicle.vehicleID, isSentAtNextStart: false)))
    }
    if !new.needsNetwork { network.reset() }
    configuration = new
    feedSelector(.configured(new.filter), at: now, &effects)
    policy.configure(new.reporting)
    if isOtherVehicle {
      if dutyState.vehicleChanged() { effects.append(.storeDuty(nil)) }
      if holder != nil { lock.vehicleChanged() }
      policy.restart()
      fixes.track.forget()
    }
    apply(tokens.handle(.configured(new.context, new.tokenProvider), at: now), at: now, &effects)
    updateStoredToken(from: before, at: now.boot, &effects)
    apply(
      delivery.handle(.configured(new.delivery, isOtherVehicle: isOtherVehicle), at: now.boot), at: now, &effects)
    eventLimiter.configured(isOtherVehicle: isOtherVehicle)
    vehicleLocked(by: holder, at: now, &effects)
  }
}
