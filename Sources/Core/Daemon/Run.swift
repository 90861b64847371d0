// SPDX-License-Identifier: Apache-2.0
import PositionBacklog
import Delivery
package import Vehicle
import FixSources
import FleetEngine
import Observability
import Timekeeping

/// What runs once there are settings: the sources, the vehicle, the store of its backlog, the messages between them,
/// reloads, requests on the control socket, and what is published.
package struct Run: Sendable {
  typealias Configuration = Daemon.Configuration
  typealias Input = Daemon.Input
  typealias Effect = Daemon.Effect
  typealias Observer = Daemon.Observer

  /// The vehicle.
  package private(set) var vehicle: VehicleAgent
  var sources = SourceSessions()
  var store: StoreAgent
  /// What is published, and when.
  var publication: Publication
  var settings: SettingsLifecycle
  var choices = Choices()
  /// Nil while no client monitors.
  var monitor: MonitorWatch?
  /// Whether the settings in force have a socket for positions.
  var servesPositions = false
  /// Reports of the store that have not been passed to the vehicle yet.
  private var storeReports: [VehicleAgent.Input] = []
  /// Whether fixes are needed has changed, and the sources have not been notified yet.
  var hasFixNeedChanged = false
  /// How the run ended, while the store writes what is pending.
  var ending: Lifecycle.Ending?
  private var vehicleDeadline: BootInstant?
  /// Whether the last call passed anything to the vehicle, and not only to a source's session.
  package internal(set) var wasVehicleCalled = false

  /// When to handle `deadline`; nil if no deadline is pending.
  private(set) var nextDeadline: BootInstant?
  /// Fleet Engine accepted the last update, and there is a network.
  private(set) var isOnline = false

  /// - Parameters:
  ///   - seed: for all jitter.
  ///   - version: the daemon's release.
  ///   - traffic: the last `storeTraffic` of a previous run; nil if there is none.
  ///   - confirmation: the last `storeConfirmation` of a previous run; nil if there is none.
  ///   - start: when the process was started.
  init(
    _ configuration: Configuration, seed: UInt64, version: String, traffic: String?, confirmation: ConfirmationRecord?,
    from start: BootInstant, at now: Moment
  ) {
    publication = Publication(configuration, version: version, traffic: traffic, from: start, at: now.boot)
    vehicle = VehicleAgent(configuration.vehicle, seed: seed)
    store = StoreAgent(
      configuration.store, vehicle: configuration.vehicle.delivery.endpoint.vehicle, seed: seed &+ 2)
    settings = SettingsLifecycle(text: configuration.settingsText, record: confirmation)
  }

  /// Handles an input, and returns its effects; see `Daemon.handle`.
  mutating func handle(_ input: Input, at now: Moment, observer: Observer? = nil) -> [Effect] {
    wasVehicleCalled = false
    var effects = [Effect]()
    switch input {
    case .launched: break
    // A token of another provider proves nothing about this one.
    case .vehicle(.tokenFound) where settings.confirmation?.changesToken == true: break
    case .vehicle(let input):
      switch input {
      case .stop, .directoryDeleted: endSources(&effects)
      case .resumed(let time):
        settings.slept(for: time)
        passToSources(.resumed, at: now, observer, &effects)
      default: break
      }
      pass(input, at: now, observer, &effects)
      if case .vehicleLocked(let holder) = input { vehicleLocked(by: holder, at: now, observer, &effects) }
    case .start:
      publication.hasBegun = true
      pass(.store(.unread), at: now, observer, &effects)
      effects.append(.ready)
    case .storeEnded(let outcome): feedStore(.ended(outcome), at: now.boot, &effects)
    case .sources(let list): useSources(list, at: now, observer, &effects)
    case .line(let id, let input): perform(sources.handle(input, of: id, at: now), of: id, at: now, observer, &effects)
    case .driverRecordsFound(let records): restore(records, at: now, observer, &effects)
    case .reload: reload(for: nil, &effects)
    case .settingsRead(let outcome): settingsRead(outcome, at: now, &effects)
    case .keptSettingsRead(let outcome): keptSettingsRead(outcome, at: now, &effects)
    case .pauseStored(let trouble): pauseStored(trouble, &effects)
    case .dutyStored(let trouble): dutyStored(trouble, &effects)
    case .request(let id, let request): handle(request, id, at: now, observer, &effects)
    case .measured(let measurement): measured(measurement, at: now, &effects)
    case .unmonitored: monitor = nil
    case .positionsUnmonitored: pass(.positionsMonitored(false), at: now, observer, &effects)
    case .watchdog(let deletedFile): publication.settings.deletedFile = deletedFile
    case .deadline:
      // What a source reads comes before anything else that is due: that follows at the next call, which is due at
      // once.
      if passSourceDeadlines(at: now, observer, &effects) { break }
      if let time = store.nextDeadline, now.boot >= time { feedStore(.deadline, at: now.boot, &effects) }
      if let time = vehicleDeadline, now.boot >= time { pass(.deadline, at: now, observer, &effects) }
    }
    settle(at: now, observer, &effects)
    if wasVehicleCalled || !input.mayAffectOnlySource { publish(after: input, at: now, &effects) }
    reportSettled(to: observer)
    return effects
  }

  /// Passes on what the store reports, and new settings once it is done with the previous ones.
  mutating func settle(at now: Moment, _ observer: Observer?, _ effects: inout [Effect]) {
    passStoreReports(at: now, observer, &effects)
    passFixNeed(at: now, observer, &effects)
    useSettings(at: now, observer, &effects)
    reviewConfirmation(at: now, observer, &effects)
    updateDeadline()
  }

  /// To be called after any of the parts was called.
  mutating func updateDeadline() {
    nextDeadline = .earliest(.earliest(vehicleDeadline, store.nextDeadline), sources.nextDeadline)
    if let time = settings.nextDeadline { nextDeadline = .earliest(nextDeadline, time) }
  }

  /// Whether nothing is left to do except to publish the end.
  var isClosed: Bool { ending != nil && store.hasEnded }

  /// Whether no deadline was missed; see `Daemon.isProgressing`.
  func isProgressing(at now: BootInstant) -> Bool {
    vehicle.isProgressing(at: now) && sources.isProgressing(at: now)
  }

  /// Notifies the observer at the end of a call.
  func reportSettled(to observer: Observer?) { if wasVehicleCalled { observer?(.settled, vehicle) } }

  // MARK: - The parts

  mutating func pass(_ input: VehicleAgent.Input, at now: Moment, _ observer: Observer?, _ effects: inout [Effect]) {
    observer?(.toVehicle(input), vehicle)
    wasVehicleCalled = true
    let decided = vehicle.handle(input, at: now)
    if !decided.isEmpty, effects.isEmpty { effects.reserveCapacity(8) }
    for effect in decided {
      observer?(.fromVehicle(effect), vehicle)
      perform(effect, at: now.boot, &effects)
    }
    vehicleDeadline = vehicle.nextDeadline(at: now.boot)
    isOnline = vehicle.isReachingFleetEngine
  }

  private mutating func perform(_ effect: VehicleAgent.Effect, at now: BootInstant, _ effects: inout [Effect]) {
    switch effect {
    case .readStore: feedStore(.start, at: now, &effects)
    case .backlog(let change): feedStore(.changed(change), at: now, &effects)
    case .collectChanges(let isInOutage): feedStore(.outage(isInOutage), at: now, &effects)
    case .commitBacklog: feedStore(.commit, at: now, &effects)
    case .backlogSnapshot(let records): feedStore(.snapshot(records), at: now, &effects)
    case .forgetOthers(let time): feedStore(.forgetOthers(before: time), at: now, &effects)
    case .accepted(let sentAt):
      updateAccepted(sentAt: sentAt, &effects)
    case .finished(let ending):
      self.ending = ending
      feedStore(.close, at: now, &effects)
    case .connect(let url, let time): effects.append(.connect(to: url, certificateTime: time))
    case .sendUpdate(let id, let request): effects.append(.sendUpdate(id: id, request))
    case .cancelUpdate(let id): effects.append(.cancelUpdate(id: id))
    case .fetchToken(let id, let request): effects.append(.fetchToken(id: id, request))
    case .cancelToken(let id): effects.append(.cancelToken(id: id))
    case .storeToken(let text): effects.append(.storeToken(text))
    case .removeStoredToken: effects.append(.removeStoredToken)
    case .storeRunState(let text): effects.append(.storeRunState(text))
    case .storeUpdateForm(let text): effects.append(.storeUpdateForm(text))
    case .dropConnections: effects.append(.dropConnections)
    case .lockVehicle: effects.append(.lockVehicle)
    case .event(let event): effects.append(.event(event))
    case .position(let accepted): effects.append(.position(VehiclePosition(accepted)))
    case .needFixes(let areNeeded):
      // The sources are notified later, because the vehicle is still deciding.
      sources.areFixesNeeded = areNeeded
      hasFixNeedChanged = true
    case .readyForNextFix(let id): sources.readyForNextFix(id, at: now)
    case .stopping(let time): effects.append(.stopping(within: time))
    case .storePause(let record):
      choices.beginStoringPause()
      effects.append(.storePause(record))
    case .storeDuty(let record):
      choices.beginStoringDuty()
      effects.append(.storeDuty(record))
    }
  }

  mutating func feedStore(_ input: StoreAgent.Input, at now: BootInstant, _ effects: inout [Effect]) {
    for effect in store.handle(input, at: now) {
      switch effect {
      case .perform(let operation): effects.append(.store(operation))
      // The report is passed on later, because the vehicle may still be deciding.
      case .report(let report): storeReports.append(report)
      }
    }
  }

  mutating func passStoreReports(at now: Moment, _ observer: Observer?, _ effects: inout [Effect]) {
    while !storeReports.isEmpty { pass(storeReports.removeFirst(), at: now, observer, &effects) }
  }
}
