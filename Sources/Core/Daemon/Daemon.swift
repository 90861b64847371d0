// SPDX-License-Identifier: Apache-2.0
package import Authorization
package import Delivery
import FleetEngine
package import HTTPMessages
package import Observability
package import Positioning
package import Timekeeping

/// The daemon as one value: the sources, the vehicle, the store of its backlog, what passes between them, reloads,
/// requests on the control socket, and what is published. Both the service and `Tests/Simulation` run it.
///
/// Performs no I/O and has no clock. The shell passes inputs with their time one after the other, performs the effects
/// in order, and calls again at `nextDeadline`. The outcome of an operation on the backlog's file or a line is an input
/// after the effects of which the operation is one.
package struct Daemon: Sendable {
  /// The settings, with the values that only a running daemon has.
  package struct Configuration: Equatable, Sendable {
    /// For the vehicle.
    package var vehicle: VehicleAgent.Configuration
    /// Where the backlog is stored.
    package var store: StoreAgent.Configuration
    /// The text for `storeSettings`; nil: these settings are not stored.
    package var settingsText: String?
    /// Which settings these are; without a reload.
    package var settings: SettingsStatus
    /// Path of the metrics file; nil: none.
    package var metricsFile: String?
    /// What is probably not meant, although it is valid, with what to do.
    package var warnings: [String]

    package init(
      vehicle: VehicleAgent.Configuration, store: StoreAgent.Configuration, settingsText: String?,
      settings: SettingsStatus = SettingsStatus(hash: ""), metricsFile: String? = nil, warnings: [String] = []
    ) {
      self.vehicle = vehicle
      self.store = store
      self.settingsText = settingsText
      self.settings = settings
      self.metricsFile = metricsFile
      self.warnings = warnings
    }
  }

  /// Everything that can happen to the daemon.
  package enum Input: Sendable {
    /// What the vehicle learns from outside: anything but new settings and the reports of the sources and the store.
    case vehicle(VehicleAgent.Input)
    /// The state of previous runs was passed: from now on the backlog's file may be read. Once, before the first fix.
    case start
    /// The operation of `store` has ended.
    case storeEnded(StoreAgent.Outcome)
    /// What the driver has chosen before a restart: before the first fix.
    indirect case driverFound(DriverRecords)
    /// Read the settings again (SIGHUP).
    case reload
    /// What came of `readSettings`.
    case settingsRead(SettingsOutcome)
    /// `storePause` was performed; why it failed, nil on success.
    case pauseStored(String?)
    /// `storeDuty` was performed; why it failed, nil on success.
    case dutyStored(String?)
    /// A request on the control socket; `respond` follows.
    case request(id: UInt64, Request)
    /// What was read for `measure`.
    indirect case measured(Measurement)
    /// The watchdog is due, so the machine is awake. `deletedFile`: as in `Measurement`.
    case watchdog(deletedFile: String?)
    /// The sources of the settings in order of priority, made according to `plan`. After `start`, and with new
    /// settings.
    case sources([Source])
    /// Something happened to the line of the source with this ID.
    case line(Int, SourceInput)
    /// `nextDeadline` has passed.
    case deadline

    /// Whether it may concern a source's session alone.
    var isOfSource: Bool {
      switch self {
      case .line, .deadline: true
      default: false
      }
    }
  }

  /// What the shell has to do. Each case has all data that it needs. Without a comment: as in `VehicleAgent.Effect`.
  package enum Effect: Equatable, Sendable {
    case connect(to: String, certificateTime: Timestamp?)
    case sendUpdate(id: UInt64, HTTPRequest)
    case cancelUpdate(id: UInt64)
    case fetchToken(id: UInt64, TokenRequest)
    case cancelToken(id: UInt64)
    case storeToken(Secret)
    case removeStoredToken
    case storeRunState(String)
    case storeUpdateForm(String)
    case dropConnections
    case lockVehicle
    /// Perform this on the backlog's file. `storeEnded` follows, except after `close`.
    case store(StoreAgent.Operation)
    /// Perform this on the line of the source with this ID.
    case line(Int, LineOperation)
    case event(Event)
    /// Store this text as the last settings that worked: the first update with them was accepted.
    case storeSettings(String)
    /// Read the settings, and prepare all that they need: `settingsRead` follows. Nothing changes yet.
    case readSettings
    /// Use what was prepared last; what was used before is not needed any more.
    case useSettings
    /// The reload has ended.
    case ready
    case stopping(within: Duration)
    /// `pauseStored` follows.
    case storePause(PauseRecord?)
    /// `dutyStored` follows.
    case storeDuty(DutyRecord?)
    /// Send systemd this status line.
    case showStatus(String)
    /// Read what is asked; `measured` follows.
    case measure
    /// Replace this file by the metrics.
    case writeMetrics(String, path: String)
    /// Store the data volume for the next run.
    case storeTraffic(String)
    /// Answer the request with this ID.
    indirect case respond(id: UInt64, Response)
    /// The run has ended, the backlog's file is closed, and everything is published.
    case finished(Lifecycle.Ending)
  }

  /// What passes between the parts.
  package enum Message: Equatable, Sendable {
    /// The vehicle is passed this.
    case toVehicle(VehicleAgent.Input)
    /// The vehicle decides this.
    case fromVehicle(VehicleAgent.Effect)
  }

  /// Is told what passes between the parts.
  package typealias Observer = (Message, VehicleAgent) -> Void

  /// The vehicle.
  package private(set) var vehicle: VehicleAgent
  var sources = SourceSessions()
  var store: StoreAgent
  /// What is published, and when.
  var publication: Publication
  var settings = SettingsLife()
  var choices = Choices()
  var settingsText: String?
  /// Reports of the store that the vehicle has not been passed yet.
  private var reports: [VehicleAgent.Input] = []
  /// How the run has ended, while the store writes what is pending.
  var ending: Lifecycle.Ending?
  private var vehicleDeadline: BootInstant?
  /// Whether the vehicle was passed anything in the last call, and not only a source's session.
  package internal(set) var wasVehicleCalled = false

  /// When to handle `deadline`; nil while waiting for something else only.
  package private(set) var nextDeadline: BootInstant?
  /// Fleet Engine accepted the last update, and there is a network. Stored, because a computed property of a value in
  /// an object would first copy the value.
  package private(set) var isOnline = false

  /// - Parameters:
  ///   - seed: of every jitter.
  ///   - version: the daemon's release.
  ///   - traffic: the last `storeTraffic` of a previous run; nil if there is none.
  ///   - now: the start.
  package init(
    _ configuration: Configuration, seed: UInt64, version: String = "", traffic: String? = nil,
    at now: BootInstant = .boot
  ) {
    publication = Publication(configuration, version: version, traffic: traffic, at: now)
    vehicle = VehicleAgent(configuration.vehicle, seed: seed)
    store = StoreAgent(
      configuration.store, vehicle: configuration.vehicle.delivery.endpoint.vehicle, seed: seed &+ 2)
    settingsText = configuration.settingsText
  }

  /// Handles an input, and returns the effects in order.
  ///
  /// - Parameter observer: is told what passes between the parts, with the vehicle before that. It must not use this
  ///   value.
  package mutating func handle(_ input: Input, at now: Moment, observer: Observer? = nil) -> [Effect] {
    wasVehicleCalled = false
    var effects = [Effect]()
    switch input {
    case .vehicle(let input):
      switch input {
      case .stop, .directoryDeleted: endSources(&effects)
      default: break
      }
      pass(input, at: now, observer, &effects)
      if case .vehicleLocked(let holder) = input { vehicleLocked(by: holder, at: now, observer, &effects) }
    case .start:
      publication.hasBegun = true
      pass(.store(.unread), at: now, observer, &effects)
    case .storeEnded(let outcome): feedStore(.ended(outcome), at: now.boot, &effects)
    case .sources(let list): use(list, at: now, observer, &effects)
    case .line(let id, let input): perform(sources.handle(input, of: id, at: now), of: id, at: now, observer, &effects)
    case .driverFound(let records): restore(records, at: now, observer, &effects)
    case .reload: reload(for: nil, &effects)
    case .settingsRead(let outcome): settingsRead(outcome, at: now, &effects)
    case .pauseStored(let trouble): pauseStored(trouble, &effects)
    case .dutyStored(let trouble): dutyStored(trouble, &effects)
    case .request(let id, let request): handle(request, id, at: now, observer, &effects)
    case .measured(let measurement): measured(measurement, at: now, &effects)
    case .watchdog(let deletedFile): publication.settings.deletedFile = deletedFile
    case .deadline:
      // What a source reads comes before what else is due: that follows at the next call, which is due at once.
      if passSourceDeadlines(at: now, observer, &effects) { break }
      if let time = store.nextDeadline, now.boot >= time { feedStore(.deadline, at: now.boot, &effects) }
      if let time = vehicleDeadline, now.boot >= time { pass(.deadline, at: now, observer, &effects) }
    }
    settle(at: now, observer, &effects)
    if wasVehicleCalled || !input.isOfSource { publish(after: input, at: now, &effects) }
    return effects
  }

  /// Passes on what the store reports, and new settings once it is done with the previous ones.
  mutating func settle(at now: Moment, _ observer: Observer?, _ effects: inout [Effect]) {
    passReports(at: now, observer, &effects)
    useSettings(at: now, observer, &effects)
    updateDeadline()
  }

  /// To be called after any of the parts was.
  mutating func updateDeadline() {
    nextDeadline = .earliest(.earliest(vehicleDeadline, store.nextDeadline), sources.nextDeadline)
  }

  /// Nothing is left to do but to publish the end.
  var isClosed: Bool { ending != nil && store.hasEnded }

  /// For the watchdog: false if a step has been due, or a deadline over, for longer than the grace period.
  package func isProgressing(at now: BootInstant) -> Bool {
    vehicle.isProgressing(at: now) && sources.isProgressing(at: now)
  }

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
    case .storeSettings: if let settingsText { effects.append(.storeSettings(settingsText)) }
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
    case .readyForNextFix(let id): sources.readyForNextFix(id, at: now)
    case .stopping(let time): effects.append(.stopping(within: time))
    case .storePause(let record):
      choices.storesPause()
      effects.append(.storePause(record))
    case .storeDuty(let record):
      choices.storesDuty()
      effects.append(.storeDuty(record))
    }
  }

  mutating func feedStore(_ input: StoreAgent.Input, at now: BootInstant, _ effects: inout [Effect]) {
    for effect in store.handle(input, at: now) {
      switch effect {
      case .perform(let operation): effects.append(.store(operation))
      // The vehicle may be deciding just now.
      case .report(let report): reports.append(report)
      }
    }
  }

  mutating func passReports(at now: Moment, _ observer: Observer?, _ effects: inout [Effect]) {
    while !reports.isEmpty { pass(reports.removeFirst(), at: now, observer, &effects) }
  }
}
