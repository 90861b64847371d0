// SPDX-License-Identifier: Apache-2.0
import Configuration
import Daemon
package import EventLoop
package import ExternalInput
import FleetEngine
import Glibc
package import FixSources
import Release
import Vehicle
import Observability
package import ServiceManager
import Timekeeping
import SystemCalls

/// The shell around `Daemon`: passes inputs to it, and performs its effects on files, sources and requests.
package final class LocationDaemon: LineOwner, EffectOwner, RequestOwner {
  private let loop: EventLoop
  private let notifier: ServiceNotifier
  private let loader: SettingsLoader
  /// The settings in force; nil before there are any.
  private var settings: Settings?
  /// What was prepared for the settings that were read last.
  private var prepared: Prepared?
  private var daemon: Daemon
  /// The inputs that have not been passed to `daemon` yet, and the reads of sources that are due, in order. They are
  /// queued because an effect may have its outcome at once, before the effects after it are performed.
  private var pending: [Pending] = []
  private var isStepping = false
  /// The clocks as read in this call of the loop; nil before that, and after an effect that may have taken time.
  private var clocks: Moment?
  private let performer: EffectPerformer
  private let monitor: SystemMonitor
  private var lines: SourceLines?
  private let vehicleLock = VehicleLock()
  private var timer: LoopTimer
  /// When the timer fires; nil if it does not.
  private var timerDeadline: BootInstant?
  private var watchdog: Watchdog?
  private(set) var sockets: LocalSockets?
  private var signals: [EventSource<Void>] = []
  private let directories: ServiceDirectories
  /// Why the process ends without having run; nil if it was stopped, or is running.
  private var failure: DaemonError?

  /// - Parameter loader: reads the settings.
  /// - Throws: `DaemonError` with the exit code, if the system denied a timer.
  package init(
    loop: EventLoop, journal: Journal, notifier: ServiceNotifier, loader: SettingsLoader
  ) throws(DaemonError) {
    self.loop = loop
    self.notifier = notifier
    self.loader = loader
    var seed = SystemRandomNumberGenerator()
    daemon = Daemon(
      seed: seed.next(), waitsForSettings: notifier.isActive, version: Release.version, buildDate: Release.buildDate,
      pause: PauseFile.ofService.read().record, traffic: TrafficFile().read(),
      confirmation: ConfirmationFile().read(), at: loop.now.boot)
    performer = EffectPerformer(loop: loop, journal: journal, notifier: notifier, loader: loader)
    monitor = SystemMonitor(loop: loop)
    directories = ServiceDirectories(isService: notifier.isActive)
    let timerHandler = DeferredHandler()
    do {
      timer = try loop.makeTimer { timerHandler.action?() }
    } catch {
      throw DaemonError(ExitCode.system, error.message, cause: error)
    }
    timerHandler.action = { [weak self] in
      self?.timerDeadline = nil
      self?.pass(.deadline)
    }
    performer.owner = self
    sockets = LocalSockets(loop: loop, owner: self)
    lines = SourceLines(loop: loop, owner: self)
  }

  /// Runs until it is stopped, or its recording has been delivered.
  ///
  /// - Returns: the exit code.
  /// - Throws: exit code `configuration`, or `unavailable` if a route or recording is missing: what is wrong with the
  ///   settings, and why kept ones are not used; `system` if the event loop failed.
  package func run() throws(DaemonError) -> Int32 {
    do {
      signals = [
        try loop.addSignal(SIGTERM) { [unowned self] in stop("SIGTERM") },
        try loop.addSignal(SIGINT) { [unowned self] in stop("SIGINT") },
        try loop.addSignal(SIGHUP) { [unowned self] in pass(.reload) },
      ]
      sockets?.listen()
      watchdog = try Watchdog(loop: loop, notifier: notifier) { [weak self] in
        guard let self else { return false }
        pass(.watchdog(deletedFile: loader.missingFile))
        let isProgressing = daemon.isProgressing(at: loop.now.boot)
        if let path = directories.deleted {
          feed(.directoryDeleted(path, within: stopTimeout))
        } else {
          sockets?.restore()
        }
        return isProgressing
      }
      pass(.launched)
      let code = try loop.run()
      if let failure { throw failure }
      return code
    } catch {
      throw DaemonError(stoppedBy: error)
    }
  }

  private func stop(_ signal: String) { feed(.stop(within: stopTimeout, signal: signal)) }

  private var stopTimeout: Duration { settings?.stopTimeout ?? .zero }

  // MARK: - Inputs and effects

  private func feed(_ input: VehicleAgent.Input) { pass(.vehicle(input)) }

  private enum Pending {
    case input(Daemon.Input)
    /// A read from the line of the source with this ID.
    case read(Int)
  }

  /// Passes an input to the daemon, after all earlier ones.
  func pass(_ input: Daemon.Input) {
    pending.append(.input(input))
    step()
  }

  private func step() {
    guard !isStepping else { return }
    isStepping = true
    while !pending.isEmpty {
      switch pending.removeFirst() {
      case .input(let input):
        let now = readClocks()
        perform(daemon.handle(input, at: now))
      case .read(let id): lines?.perform(.read, of: id)
      }
    }
    isStepping = false
    clocks = nil
  }

  /// The time of the input that is passed now. A suspend or a step of the clock is passed before it.
  private func readClocks() -> Moment {
    if let clocks { return clocks }
    let now = loop.now
    clocks = now
    perform(daemon.clocksRead(now, awake: loop.awakeTime))
    return now
  }

  package func pass(_ input: SourceInput, of id: Int) { pass(.line(id, input)) }

  /// Passes data that the line of a source has received. Must not be called while effects are performed.
  package func receive(_ bytes: Span<UInt8>, from sender: SourceSender, of id: Int) {
    let wasStepping = isStepping
    isStepping = true
    let now = readClocks()
    perform(daemon.receive(bytes, from: sender, of: id, at: now))
    isStepping = wasStepping
    step()
  }

  package func admit(_ address: IPAddress, to id: Int) -> NMEANetworkSession.Admission? {
    defer { arm() }
    return daemon.admit(address, to: id, at: loop.now.boot)
  }

  private func perform(_ effects: [Daemon.Effect]) {
    for effect in effects {
      switch effect {
      case .line(let id, .read): pending.append(.read(id))
      case .line(let id, .pause): lines?.perform(.pause, of: id)
      case .line(let id, .watch): lines?.perform(.watch, of: id)
      case .line(let id, let operation):
        lines?.perform(operation, of: id)
        clocks = nil
      default:
        performer.perform(effect)
        clocks = nil
      }
    }
    arm()
  }

  private func arm() {
    guard daemon.nextDeadline != timerDeadline else { return }
    timerDeadline = daemon.nextDeadline
    guard let deadline = timerDeadline else { return timer.disarm() }
    guard deadline <= loop.now.boot else { return timer.arm(at: deadline) }
    // What is due at once, such as the next fix of a recording, needs no timer; if an earlier timer fires, it does no
    // harm.
    loop.defer { [weak self] in
      guard let self, timerDeadline == deadline else { return }
      timerDeadline = nil
      pass(.deadline)
    }
  }

  func write(_ event: Event) {
    performer.write(event)
  }

  // MARK: - The sources

  /// Makes the sources of new settings that are not already running.
  ///
  /// - Parameter isVehicleInUse: whether another process has their vehicle.
  /// - Throws: exit code `configuration` if a route or recording cannot be read, `unavailable` if it does not exist;
  ///   then nothing has changed.
  private func makeSources(
    of settings: Settings, isVehicleInUse: Bool = false
  ) throws(DaemonError) -> [Daemon.Source] {
    try lines?.make(settings.sources, daemon.plan(settings.sources, isVehicleInUse: isVehicleInUse)) ?? []
  }

  // MARK: - The lock of the vehicle

  func lockVehicle() {
    if let settings { use(vehicleLock.attempt(settings)) }
  }

  private func use(_ attempt: VehicleLock.Attempt) {
    if let trouble = vehicleLock.use(attempt) { write(.vehicleNotLocked(trouble)) }
    feed(.vehicleLocked(by: attempt.holder))
  }

  // MARK: - The service

  func finish(_ ending: Lifecycle.Ending) {
    write(.stopped(undelivered: ending.undelivered, isStored: ending.isStored, recording: ending.statistics))
    loop.exit(ExitCode.of(ending.result))
  }

  func exit(_ exit: Daemon.Exit) {
    switch exit {
    case .stopped: loop.exit(ExitCode.done)
    case .restarting: loop.exit(ExitCode.system)
    case .unavailable: loop.exit(ExitCode.unavailable)
    case .failed(let mistakes, let isMissing):
      failure = DaemonError(isMissing ? ExitCode.unavailable : ExitCode.configuration, mistakes)
      loop.exit(ExitCode.configuration)
    }
  }

  // MARK: - Settings

  /// Everything that new settings need.
  private struct Prepared {
    let settings: Settings
    let configuration: Daemon.Configuration
    let clients: HTTPClients
    let lock: VehicleLock.Attempt
    let sources: [Daemon.Source]
  }

  /// Reads the settings, and prepares everything that they need.
  func readSettings() {
    // Deferred, because the reload may have been requested over the previous socket, which this closes.
    if sockets?.isListening != true { loop.defer { [weak self] in self?.sockets?.listen() } }
    pass(.settingsRead(loader.read(prepare)))
  }

  func readKeptSettings(isReverting: Bool) {
    pass(.keptSettingsRead(loader.readKept(areFilesValid: isReverting, prepare)))
  }

  private func prepare(_ file: SettingsFile) throws(DaemonError) -> SettingsOutcome {
    let settings = file.settings
    var configuration = try Daemon.Configuration(file)
    configuration.keptParts = loader.keptParts
    let confirmation = loader.confirmation
    configuration.confirmationLimit = confirmation.limit
    if let warning = confirmation.warning { configuration.warnings.append(warning) }
    // For settings that are not used, neither the vehicle's lock nor a line may be taken from the settings in force.
    if daemon.rejection(of: configuration) != nil { return .valid(configuration) }
    let clients = try HTTPClients(settings, loop: loop, meters: performer.meters)
    let lock = vehicleLock.attempt(settings)
    let sources = try makeSources(of: settings, isVehicleInUse: lock.holder != nil)
    prepared = Prepared(
      settings: settings, configuration: configuration, clients: clients, lock: lock, sources: sources)
    return .valid(configuration, lockedBy: lock.holder)
  }

  /// Uses what was prepared.
  func useSettings() {
    guard let new = prepared else { return }
    prepared = nil
    let isFirst = settings == nil
    settings = new.settings
    performer.configure(new.settings, clients: new.clients)
    if isFirst { begin(new.settings) }
    if let trouble = vehicleLock.use(new.lock) { write(.vehicleNotLocked(trouble)) }
    if isFirst {
      restore(new.settings)
    } else if let state = monitor.networkState {
      feed(.network(state))
    }
    performer.watchToken(new.configuration.vehicle.tokenProvider)
    pass(.sources(new.sources))
  }

  /// Begins a run with the first settings.
  private func begin(_ settings: Settings) {
    write(.started(vehicle: settings.vehicle.vehicleID, version: Release.version))
    if let report = LocationDaemon.takeCrashReport() { write(.crashed(report)) }
    if loop.now.wall < Release.buildDate { write(.clockUnset) }
    // The clocks are compared before each input, so any input makes the daemon detect the suspend or the step.
    let trouble = monitor.watch(
      onNetwork: { [weak self] in self?.feed(.network($0)) }, onClockChange: { [weak self] in self?.pass(.deadline) })
    if let trouble { write(.networkUnwatched(trouble)) }
  }

  /// Restores the state of the previous run, before the first fix. The token is restored before the pause, because a
  /// paused vehicle may have to send OFFLINE.
  private func restore(_ settings: Settings) {
    performer.restoreRunState()
    performer.restoreUpdateForm()
    performer.restoreToken(settings.token)
    performer.restoreDuty()
    pass(.start)
  }
}

/// A handler whose action is set later, because the object that it calls does not exist yet.
private final class DeferredHandler {
  var action: (() -> Void)?
}
