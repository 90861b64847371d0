// SPDX-License-Identifier: Apache-2.0
package import Authorization
package import Connectivity
import FleetEngine
package import HTTPMessages
package import Positioning
package import Timekeeping

/// The whole of the daemon's mind: fixes in, requests out, everything between decided here.
///
/// It owns no clock, socket, log or file. The shell hands it what happened and when, performs the effects it returns, and
/// calls again at `nextDeadline`.
package struct VehicleAgent: Sendable {
  /// Everything of the settings that the core needs.
  package struct Configuration: Equatable, Sendable {
    /// What tokens are asked for; nil when the settings name no vehicle.
    package var context: AuthorizationContext?
    /// Where tokens come from.
    package var tokenProvider: TokenProvider
    /// What a token is kept under for the next run of the program. Nil: none is kept.
    package var tokenKey: KeptToken.Key?
    /// The kernel's name of this boot, one word; nil: nothing is kept of what was sent.
    package var boot: String?
    /// When a fix is accepted.
    package var filter: FixFilter.Configuration
    /// When a position is worth a report.
    package var reporting: ReportingPolicy.Configuration
    /// Where updates go, and how much may wait.
    package var delivery: DeliveryAgent.Configuration
    /// Whether events may hold coordinates, which are personal data.
    package var tellsPositions = false
    /// Whether Fleet Engine is on another machine, and so beyond a network.
    package var needsNetwork = true
    /// Address of a Fleet Engine on another machine, for the alarm that simulated positions are sent there.
    package var remoteEndpoint: String?
    /// How long a source that has ended may take to be delivered.
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

  /// Everything that can happen to the daemon.
  package enum Input: Equatable, Sendable {
    /// The source of this ID reports.
    case source(Int, SourceReport)
    /// The sources that are read from now on, in the order of priority: at the start, and with new settings.
    case sources([SourceSelector.Candidate])
    /// `nextDeadline` has come.
    case deadline
    case updateEnded(id: UInt64, HTTPOutcome)
    case tokenEnded(id: UInt64, TokenOutcome)
    /// The file that holds the token has changed.
    case tokenRenewed
    /// What an earlier run has kept: at the start, if there is something.
    case tokenFound(Secret)
    /// What an earlier run has left of `keepLimits`: at the start, before the first fix.
    case limitsFound(String)
    /// The network as it is now: at the start, and when it has changed. Never told where it cannot be watched.
    case network(NetworkState)
    /// The machine was suspended for this long, and has woken.
    case resumed(after: Duration)
    /// Somebody has set the wall clock, forward or back.
    case clockStepped(Duration)
    /// New settings. When they name another vehicle, its backlog begins empty: `restored` follows.
    indirect case configure(Configuration)
    /// What the store held for this vehicle: once after `readStore`, after new settings with another vehicle, and when a store
    /// that could not be used can be. What is held already does no harm.
    case restored([Backlog.Record])
    /// What the store says of itself. `unread`: at the start, before the first fix.
    case store(BacklogStoreState)
    /// The store's file could not be used; it was set aside under this name, and an empty one made.
    case storeSetAside(name: String, why: String)
    /// The store's file in this directory was deleted or replaced while it was used; what is in memory is written anew.
    case storeReplaced(directory: String)
    /// So many rows of the store's file cannot be positions, and were dropped.
    case storeRowsDamaged(Int)
    /// The store's file is an empty one, or another: `backlogSnapshot` answers, also after the end, and nothing else does.
    case storeStartsOver
    /// So many positions of other vehicles had to make room in the store's file for this vehicle's.
    case othersDropped(Int)
    /// The process was asked to stop, by this signal: finish within this time.
    case stop(within: Duration, signal: String)
    /// The driver is off duty. What an earlier run has kept of the pause comes before the first fix; nil begins one now.
    case pause(PauseNote?)
    /// The driver is on duty again.
    case resume
  }

  /// What the shell is to do. Each carries all that doing it needs.
  package enum Effect: Equatable, Sendable {
    /// `sendUpdate` to this URL follows as soon as there is a token: connect meanwhile. What comes of it is for the request to
    /// find.
    case connect(to: String, certificateTime: Timestamp?)
    case sendUpdate(id: UInt64, HTTPRequest)
    case cancelUpdate(id: UInt64)
    case fetchToken(id: UInt64, TokenRequest)
    case cancelToken(id: UInt64)
    /// To be given as `tokenFound` to the next run, where nobody else can read it.
    case keepToken(Secret)
    /// What was kept is of no use any more.
    case forgetToken
    /// To be given as `limitsFound` to the next run in the same boot, at once.
    case keepLimits(String)
    /// Open connections are most likely dead: the next requests go through fresh ones.
    case dropConnections
    /// The store may be read now: once, after `store(.unread)`. `restored` follows, or a state that says why not.
    case readStore
    /// For a store that outlives the process. It belongs to the vehicle of the configuration in force.
    case backlog(Backlog.Change)
    /// All that the backlog holds, for a store that starts over.
    case backlogSnapshot([Backlog.Record])
    /// Positions of other vehicles from before this time have had their day; the store may let them go.
    case forgetOthers(before: Timestamp)
    case event(Event)
    /// The source of this ID, which waits for this, may give its next fix: the last one has run its course.
    case readyForNextFix(Int)
    /// For the first time an update was accepted that was sent with the settings in force.
    case settingsProven
    /// From now on the agent only delivers what is pending; `finished` follows.
    case stopping
    /// Keep this for the next start, at once; nil: there is no pause any more.
    case keepPause(PauseNote?)
    /// All is done.
    case finished(Lifecycle.Ending)
  }

  /// How long a finished recording may take to be delivered, if nothing else is said.
  package static let drainLimit = Duration.seconds(60)

  var configuration: Configuration
  var selector: SourceSelector
  var simulationAlarm: SimulationAlarm
  var policy: ReportingPolicy
  var tokens: TokenAgent
  /// Sending, the backlog, and the waits after failures.
  package internal(set) var delivery: DeliveryAgent
  /// Counts since the start.
  package internal(set) var statistics = Statistics()
  /// Whether it runs, sends the rest, stops or has ended.
  package internal(set) var lifecycle = Lifecycle()
  var fixes = FixMonitor()
  var notices = Notices()
  var expiry = BacklogExpiry()
  var track = RecentTrack()
  var outcomes = RecentOutcomes()
  var store = BacklogStoreState.off
  var storeReading = StoreReading()
  var network = NetworkGate()
  var clocks: TimeJudge
  var certificates = CertificateClock()
  /// What the filters know of the time, beside their receivers.
  var timeBounds: TimeBounds?
  /// Whether the time is known well enough to remove by it what waits: one wrong word of a server must not cost a position.
  var isTimeConfirmed = false
  /// Up to when a stored position may go as the live one; nil: nothing is known of the time.
  var storedLimit: DeliveryAgent.StoredLimit?
  var duty = Duty()
  /// Since when there is no position of this run to send: what is stored goes without one after an interval.
  var withoutFixSince = BootInstant.boot
  /// Time of the live position of the last request, if it was a stored one: it says nothing about when the next is due.
  var storedSent: Timestamp?
  /// Since when the settings are in force, until an update was accepted with them.
  var unprovenSince: BootInstant? = .boot

  /// - Parameter seed: of every jitter.
  package init(_ configuration: Configuration, seed: UInt64) {
    self.configuration = configuration
    selector = SourceSelector(filter: configuration.filter)
    clocks = TimeJudge(buildDate: configuration.filter.buildDate)
    simulationAlarm = SimulationAlarm(configuration)
    policy = ReportingPolicy(configuration.reporting)
    tokens = TokenAgent(
      context: configuration.context, provider: configuration.tokenProvider, buildDate: configuration.filter.buildDate,
      seed: seed)
    delivery = DeliveryAgent(configuration.delivery, seed: seed &+ 1)
  }

  /// Takes what happened, and returns what is to be done, in this order.
  package mutating func handle(_ input: Input, at now: Moment) -> [Effect] {
    if case .storeStartsOver = input { return [.backlogSnapshot(delivery.backlog.records)] }
    guard !lifecycle.isFinished else { return [] }
    var effects = [Effect]()
    switch input {
    case .source(let id, let report): select(.report(report, from: id), at: now, &effects)
    case .sources(let candidates): select(.replaced(candidates), at: now, &effects)
    case .deadline:
      proceed(at: now, &effects)
      releaseSources(at: now.boot, &effects)
      return effects
    case .updateEnded(let id, let outcome): updateEnded(id, outcome, at: now, &effects)
    case .tokenEnded(let id, let outcome): tokenEnded(id, outcome, at: now, &effects)
    case .tokenRenewed: renewToken(at: now, &effects)
    case .tokenFound(let text): restore(text, at: now, &effects)
    case .limitsFound(let text): resumeLimits(text, at: now, &effects)
    case .network(let state): take(state, at: now, &effects)
    case .resumed(let time):
      effects.append(.event(.resumed(after: time)))
      fixes.woke(at: now.boot)
      startAfresh(at: now, &effects)
    case .clockStepped(let step): report(notices.clockStepped(step, at: now.boot), &effects)
    case .configure(let configuration): configure(configuration, at: now, &effects)
    case .restored(let records): restore(records, at: now, &effects)
    case .store(let state): take(state, at: now.boot, &effects)
    case .storeSetAside(let name, let why): effects.append(.event(.storeSetAside(name: name, why: why)))
    case .storeReplaced(let directory): effects.append(.event(.storeReplaced(directory: directory)))
    case .storeRowsDamaged(let count):
      statistics.removed[.damaged, default: 0] += count
      report(notices.removed(count, .damaged, within: 0, at: now.boot), &effects)
    case .storeStartsOver: break
    case .othersDropped(let count): effects.append(.event(.othersDropped(count)))
    case .stop(let time, let signal):
      if lifecycle.stop(until: now.boot + time, reserving: reserve(of: time)) {
        effects += [.event(.stopping(.signal(signal))), .stopping]
      }
    case .pause(let note): pause(note, at: now, &effects)
    case .resume: resume(at: now, &effects)
    }
    tidy(at: now, &effects)
    watchClock(at: now, &effects)
    proceed(at: now, &effects)
    releaseSources(at: now.boot, &effects)
    return effects
  }

  /// The time of the newest believed fix: the better clock while the machine's own is not set.
  package var newestTime: Timestamp? { policy.newestTime }

  /// Releases the sources that wait, once the newest position is delivered or not due. During a pause a recording waits;
  /// after it the next fix is what there is to wait for.
  private mutating func releaseSources(at now: BootInstant, _ effects: inout [Effect]) {
    guard selector.hasWaiting, !isPaused, delivery.isIdle,
      policy.newest == nil || !delivery.isOwing && policy.reason(at: now) == nil
    else { return }
    effects += selector.release().map { .readyForNextFix($0) }
  }

  // MARK: - Fixes

  /// Takes the next position of the vehicle.
  ///
  /// - Parameter overrules: whether stamps after this one were wrong.
  mutating func ingest(
    _ accepted: FixFilter.Accepted, overrules: Bool, at now: Moment, _ effects: inout [Effect]
  ) {
    noteFix(accepted.fix, at: now.boot, &effects)
    if overrules { apply(delivery.handle(.overruled(after: accepted.time), at: now.boot), at: now, &effects) }
    if !configuration.filter.keepsTimes, let before = policy.newestTime {
      let jump = (accepted.time - before) - (now.boot - policy.newestAt)
      if max(jump, .zero - jump) > TimeJudge.slack {
        apply(delivery.handle(.clockJumped, at: now.boot), at: now, &effects)
      }
    }
    policy.observe(accepted, at: now.boot)
    if let newest = policy.newest, !isPaused { track.observe(newest.coordinate, at: now.boot) }
    expiry.observe(accepted.time, at: now.boot)
    // Times of a recording or a simulator are no clock, and a date that the machine's clock has given says nothing about it.
    guard !configuration.filter.keepsTimes, accepted.fix.quality != .simulated else { return }
    // What the receiver itself says: a time that was corrected bears out what it was corrected by.
    if let stamp = accepted.fix.timestamp { clocks.observe(.gnss, stamp, at: now.boot) }
    report(notices.receiverClock(accepted.clockOffset, at: now.boot), &effects)
  }

  /// The used source gives accepted fixes.
  mutating func noteFix(_ fix: Fix, at now: BootInstant, _ effects: inout [Effect]) {
    notices.fixAccepted()
    report(fixes.accepted(fix, at: now), &effects)
  }

  mutating func noteRejection(_ rejection: FixRejection, at now: BootInstant, _ effects: inout [Effect]) {
    statistics.rejected[rejection, default: 0] += 1
    fixes.rejected(rejection)
    report(notices.fixRejected(rejection, at: now), &effects)
  }

  func report(_ event: Event?, _ effects: inout [Effect]) {
    if let event { effects.append(.event(event)) }
  }

  mutating func watchClock(at now: Moment, _ effects: inout [Effect]) {
    let judgement = clocks.judge(at: now)
    let bounds = judgement?.serverBounds
    let isConfirmed = bounds != nil && judgement?.isConfirmed == true
    storedLimit = judgement.flatMap { judgement in
      configuration.filter.keepsTimes
        ? nil
        : DeliveryAgent.StoredLimit(
          judgement.bounds.latest(at: now.boot) + TimeJudge.slack, by: judgement.reference,
          until: judgement.lapsesAt, at: now.boot)
    }
    if bounds != timeBounds || isConfirmed != isTimeConfirmed {
      let isNew = bounds != timeBounds
      (timeBounds, isTimeConfirmed) = (bounds, isConfirmed)
      if isNew { select(.time(bounds), at: now, &effects) }
      if let bounds { dropWrongTimes(bounds, at: now, &effects) }
    }
    if certificates.hasOtherTime(judgement, at: now) { endWaits(at: now, &effects) }
    switch clocks.verdict(judgement, at: now) {
    case .wrong(let error): effects.append(.event(.clockWrong(error)))
    case .right: effects.append(.event(.clockRight))
    case nil: break
    }
  }

  /// Fleet Engine would ignore every right position after one from the future. What has a wrong time does not go: the next fix
  /// is the first of all.
  private mutating func dropWrongTimes(_ bounds: TimeBounds, at now: Moment, _ effects: inout [Effect]) {
    guard !configuration.filter.keepsTimes else { return }
    if let newest = policy.newest, ReceiverClock.error(of: newest.time, bounds, at: policy.newestAt) != nil {
      policy.forget()
      withoutFixSince = now.boot
    }
    removeWrongTimes(at: now, &effects)
  }

  /// Removes what waits and bears a time that has not come. By a single word of a server nothing is removed: until a second
  /// one agrees, it only is not sent.
  mutating func removeWrongTimes(at now: Moment, _ effects: inout [Effect]) {
    guard let timeBounds, !configuration.filter.keepsTimes else { return }
    let latest = timeBounds.latest(at: now.boot) + TimeJudge.slack
    let input = isTimeConfirmed ? DeliveryAgent.Input.overruled(after: latest) : .doubted(after: latest)
    apply(delivery.handle(input, at: now.boot), at: now, &effects)
  }

  // MARK: - Settings

  /// What is kept free for OFFLINE of the time that a run has for its end.
  func reserve(of time: Duration) -> Duration { leavesDuty ? Lifecycle.reserve(of: time) : .zero }

  private mutating func configure(_ new: Configuration, at now: Moment, _ effects: inout [Effect]) {
    let isOtherVehicle = new.context != configuration.context
    let before = configuration
    unprovenSince = now.boot
    if isOtherVehicle, owesOffline {
      effects.append(
        .event(.stateOfflineMissing(vehicle: before.delivery.endpoint.vehicle.vehicleID, isRepeated: false)))
    }
    if !new.needsNetwork { network = NetworkGate() }
    configuration = new
    select(.configured(new.filter), at: now, &effects)
    simulationAlarm = SimulationAlarm(new)
    policy.configure(new.reporting)
    if isOtherVehicle {
      duty.vehicleChanged()
      policy.restart()
      track.forget()
      outcomes = RecentOutcomes()
    }
    apply(tokens.handle(.configured(new.context, new.tokenProvider), at: now), at: now, &effects)
    keepToken(from: before, at: now.boot, &effects)
    apply(
      delivery.handle(.configured(new.delivery, isOtherVehicle: isOtherVehicle), at: now.boot), at: now, &effects)
    notices.configured(isOtherVehicle: isOtherVehicle)
  }
}
