// SPDX-License-Identifier: Apache-2.0
package import Authorization
package import Vehicle
package import ExternalInput
package import HTTPMessages
package import Observability
package import FixSources
package import Timekeeping

/// The daemon as one value, from the start of its process to the end: it decides which settings to use, or waits for
/// files and credentials that they name (`Startup`); then it runs with them (`Run`). Both the service and
/// `Tests/Simulation` run it.
///
/// Performs no I/O and has no clock. The shell passes inputs with their time one after the other, performs the effects
/// in order, and calls again at `nextDeadline`. If an effect is an operation on the backlog's file or on a line, its
/// outcome is passed as an input after all effects of that call have been performed.
package struct Daemon: Sendable {
  /// The settings, with the values that only a running daemon has.
  package struct Configuration: Equatable, Sendable {
    /// For the vehicle.
    package var vehicle: VehicleAgent.Configuration
    /// Where the backlog is stored.
    package var store: StoreAgent.Configuration
    /// The text for `storeSettings`; nil: these settings are not stored.
    package var settingsText: String?
    /// Which settings these are; without the result of a reload.
    package var settings: SettingsStatus
    /// Path of the metrics file; nil: none.
    package var metricsFile: String?
    /// Whether other programs on the machine may monitor the positions.
    package var servesPositions: Bool
    /// Digests of the settings, to compare them with other settings.
    package var parts: SettingsParts
    /// The digests of the last settings that worked; nil if none are stored.
    package var keptParts: SettingsParts?
    /// The time for their confirmation, if a file next to them asks for one; nil if there is no such file.
    package var confirmationLimit: Duration?
    /// Probable mistakes in valid settings, each with what to do.
    package var warnings: [String]

    package init(
      vehicle: VehicleAgent.Configuration, store: StoreAgent.Configuration, settingsText: String?,
      settings: SettingsStatus = SettingsStatus(hash: ""), metricsFile: String? = nil, servesPositions: Bool = false,
      parts: SettingsParts = SettingsParts(), keptParts: SettingsParts? = nil, confirmationLimit: Duration? = nil,
      warnings: [String] = []
    ) {
      self.vehicle = vehicle
      self.store = store
      self.settingsText = settingsText
      self.settings = settings
      self.metricsFile = metricsFile
      self.servesPositions = servesPositions
      self.parts = parts
      self.keptParts = keptParts
      self.confirmationLimit = confirmationLimit
      self.warnings = warnings
    }
  }

  /// Everything that can happen to the daemon.
  package enum Input: Sendable {
    /// What the vehicle learns from outside: everything except new settings and the reports of the sources and the
    /// store.
    case vehicle(VehicleAgent.Input)
    /// The process has started.
    case launched
    /// The result of `readSettings`.
    case settingsRead(SettingsOutcome)
    /// The result of `readKeptSettings`.
    case keptSettingsRead(KeptSettingsOutcome)
    /// The state of previous runs has been passed, so the backlog's file may be read from now on. Passed once, before
    /// the first fix.
    case start
    /// The operation of `store` has ended.
    case storeEnded(StoreAgent.Outcome)
    /// What the driver chose before a restart. Passed before the first fix.
    indirect case driverRecordsFound(DriverRecords)
    /// Read the settings again (SIGHUP).
    case reload
    /// `storePause` was performed; why it failed, nil on success.
    case pauseStored(String?)
    /// `storeDuty` was performed; why it failed, nil on success.
    case dutyStored(String?)
    /// A request on the control socket; `respond` follows.
    case request(id: UInt64, Request)
    /// The last client that monitored has disconnected.
    case unmonitored
    /// The last client that monitored the positions has disconnected.
    case positionsUnmonitored
    /// The values that were read for `measure`.
    indirect case measured(Measurement)
    /// The watchdog is due, so the machine is awake. `deletedFile`: as in `Measurement`.
    case watchdog(deletedFile: String?)
    /// The sources of the settings in order of priority, made according to `plan`. Passed after `start`, and with new
    /// settings.
    case sources([Source])
    /// Something happened to the line of the source with this ID.
    case line(Int, SourceInput)
    /// `nextDeadline` has passed.
    case deadline

    /// Whether it is possible that the input affects only a source's session.
    var mayAffectOnlySource: Bool {
      switch self {
      case .line, .deadline: true
      default: false
      }
    }
  }

  /// What the shell has to do. Each case has all data that it needs. Cases without a comment are as in
  /// `VehicleAgent.Effect`.
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
    /// Read the settings, and prepare everything that they need: `settingsRead` follows. The settings in force stay in
    /// use; if the new ones name another vehicle, its lock may be taken already.
    case readSettings
    /// Read the last settings that worked, and prepare everything that they need: `keptSettingsRead` follows.
    /// `isReverting`: they replace valid settings, so they may name another token provider; otherwise they replace
    /// files with mistakes.
    case readKeptSettings(isReverting: Bool)
    /// Store this text for the next start at once; nil: remove what is stored.
    case storeConfirmation(String?)
    /// Use what was prepared last; what was used before is no longer needed. After the first settings, the state of
    /// previous runs is passed, then `start` and `sources`.
    case useSettings
    /// The unit counts as started, or the reload has ended.
    case ready
    case stopping(within: Duration)
    /// `pauseStored` follows.
    case storePause(PauseRecord?)
    /// `dutyStored` follows.
    case storeDuty(DutyRecord?)
    /// Send systemd this status line.
    case showStatus(String)
    /// Read the values of `Measurement`; `measured` follows.
    case measure
    /// Replace this file with the metrics.
    case writeMetrics(String, path: String)
    /// Store the data volume for the next run.
    case storeTraffic(String)
    /// Answer the request with this ID.
    indirect case respond(id: UInt64, Response)
    /// Send this to all programs that monitor the daemon.
    case monitor(MonitorItem)
    /// Open the socket for positions, unless it is open already, or close it.
    case servePositions(Bool)
    /// Send this to all programs that monitor the positions.
    case position(VehiclePosition)
    /// The run has ended, the backlog's file is closed, and everything is published.
    case finished(Lifecycle.Ending)
    /// The process ends without ever having had settings.
    case exit(Exit)
  }

  /// Why the process ends without ever having had settings.
  package enum Exit: Equatable, Sendable {
    /// A stop was requested.
    case stopped
    /// The process must be started again: a directory of the service was deleted.
    case restarting
    /// Something that the settings name was missing for too long; a new start may find it.
    case unavailable
    /// The settings cannot be used. The text lists the mistakes, one per line. `isMissing`: the only problem is that a
    /// route or recording does not exist.
    case failed(String, isMissing: Bool)
  }

  /// What passes between the vehicle and the other parts.
  package enum Message: Equatable, Sendable {
    /// The vehicle is passed this input.
    case toVehicle(VehicleAgent.Input)
    /// The vehicle decides on this effect.
    case fromVehicle(VehicleAgent.Effect)
    /// The vehicle was passed something in this call, and decides on nothing more in it.
    case settled
  }

  /// Receives each message between the parts.
  package typealias Observer = (Message, VehicleAgent) -> Void

  private let seed: UInt64
  private let version: String
  private let traffic: String?
  private let confirmation: ConfirmationRecord?
  private let launchedAt: BootInstant
  private var startup: Startup
  /// Nil until the clocks have been read.
  private var clocks: ClockComparison?
  /// The part that runs with the settings; nil before there are any.
  package private(set) var run: Run?

  /// When to handle `deadline`; nil if no deadline is pending. Stored, because a computed property of a value in an
  /// object would first copy the value.
  package private(set) var nextDeadline: BootInstant?

  /// - Parameters:
  ///   - seed: for all jitter.
  ///   - waitsForSettings: whether to wait for a missing file or credential. On a terminal it is reported instead.
  ///   - version: the daemon's release.
  ///   - buildDate: an earlier time means that the clock is not set.
  ///   - pause: the pause of an earlier run; nil if there is none.
  ///   - traffic: the last `storeTraffic` of a previous run; nil if there is none.
  ///   - confirmation: the last `storeConfirmation` of a previous run; nil if there is none.
  ///   - now: the time of the start.
  package init(
    seed: UInt64, waitsForSettings: Bool, version: String = "", buildDate: Timestamp, pause: PauseRecord? = nil,
    traffic: String? = nil, confirmation: String? = nil, at now: BootInstant
  ) {
    self.seed = seed
    self.version = version
    self.traffic = traffic
    launchedAt = now
    self.confirmation = confirmation.flatMap { ConfirmationRecord($0) }
    startup = Startup(
      waitsForSettings: waitsForSettings, version: version, buildDate: buildDate, pause: pause,
      confirmation: self.confirmation, at: now)
  }

  /// Handles an input, and returns the effects in order. Before there are settings, inputs that need them are ignored.
  ///
  /// - Parameter observer: receives each message between the parts, with the vehicle as it is then: before it handles a
  ///   `toVehicle`, otherwise after it has decided. It must not use this value.
  package mutating func handle(_ input: Input, at now: Moment, observer: Observer? = nil) -> [Effect] {
    if let effects = run?.handle(input, at: now, observer: observer) {
      nextDeadline = run?.nextDeadline
      return effects
    }
    var effects = [Effect]()
    if let settings = startup.handle(input, at: now, &effects) {
      var run = Run(
        settings.configuration, seed: seed, version: version, traffic: traffic, confirmation: confirmation,
        from: launchedAt, at: now)
      if let trouble = startup.pauseTrouble { run.choices.unstoredPause = (startup.pause, trouble) }
      if startup.isMonitored { run.monitor = MonitorWatch(run.vehicle, state: nil) }
      effects += run.begin(settings, at: now, observer)
      self.run = run
    }
    nextDeadline = run == nil ? startup.nextDeadline : run?.nextDeadline
    return effects
  }

  /// The clocks were read. Call this before each other input of a wake-up, so that the vehicle first learns of a
  /// suspend or a step of the clock.
  ///
  /// - Parameter awake: CLOCK_MONOTONIC, read together with the moment.
  /// - Returns: the effects in order.
  package mutating func clocksRead(_ now: Moment, awake: Duration) -> [Effect] {
    guard let changes = clocks?.update(now, awake: awake) else {
      clocks = ClockComparison(now, awake: awake)
      return []
    }
    return changes.isEmpty ? [] : changes.flatMap { handle(.vehicle(Daemon.input(of: $0)), at: now) }
  }

  private static func input(of change: ClockComparison.Change) -> VehicleAgent.Input {
    switch change {
    case .suspended(let time): .resumed(after: time)
    case .stepped(let step): .clockStepped(step)
    }
  }

  /// Processes data from the line of the source with this ID, in chunks of any size, except for datagrams.
  ///
  /// - Returns: the effects in order.
  package mutating func receive(
    _ bytes: Span<UInt8>, from sender: SourceSender = .peer, of id: Int, at now: Moment, observer: Observer? = nil
  ) -> [Effect] {
    let effects = run?.receive(bytes, from: sender, of: id, at: now, observer: observer)
    nextDeadline = run?.nextDeadline
    return effects ?? []
  }

  /// A sender has connected to the source with this ID.
  ///
  /// - Returns: nil if its connection must be closed unread.
  package mutating func admit(_ address: IPAddress, to id: Int, at now: BootInstant) -> NMEANetworkSession.Admission? {
    defer { nextDeadline = run?.nextDeadline }
    return run?.admit(address, to: id, at: now)
  }

  /// What happens to the sources under new settings. Changes nothing.
  ///
  /// - Parameters:
  ///   - settings: in order of priority.
  ///   - isVehicleInUse: whether another process has the vehicle of these settings; if so, no running source is kept.
  /// - Returns: a plan in the same order. Each new source has to be made for the input `sources`.
  package func plan(_ settings: [any SourceIdentity], isVehicleInUse: Bool = false) -> [PlannedSource] {
    (run?.sources ?? SourceSessions()).plan(settings, areNew: isVehicleInUse)
  }

  /// Why these settings of the files would not be used: they were reverted, and have not changed. Nil: they would be
  /// used, and what they need has to be prepared.
  package func rejection(of configuration: Configuration) -> String? {
    if let run { run.settings.rejection(of: configuration) } else { startup.rejection(of: configuration) }
  }

  /// For the watchdog: false if a step has been due, or a deadline has been missed, for longer than the grace period.
  package func isProgressing(at now: BootInstant) -> Bool {
    run?.isProgressing(at: now) ?? (startup.nextDeadline?.isMissed(at: now) != true)
  }
}
