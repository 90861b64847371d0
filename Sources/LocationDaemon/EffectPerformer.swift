// SPDX-License-Identifier: Apache-2.0
import Authorization
import Configuration
import Daemon
import EventLoop
import HTTPMessages
import Vehicle
import Observability
import ServiceManager
import Timekeeping
import TokenStore

/// Owns the performer, and does what the performer cannot.
protocol EffectOwner: AnyObject {
  /// Reads the settings, and prepares everything that they need.
  func readSettings()
  /// Reads the last settings that worked, and prepares everything that they need.
  func readKeptSettings(isReverting: Bool)
  /// Uses what was prepared.
  func useSettings()
  /// Passes an input to `Daemon`, also while an effect is performed.
  func pass(_ input: Daemon.Input)
  /// Tries to lock the vehicle.
  func lockVehicle()
  /// The sockets for other programs on the machine; nil if there are none.
  var sockets: LocalSockets? { get }
  /// The run has ended: no child process is running, and no file is open.
  func finish(_ ending: Lifecycle.Ending)
  /// The process ends without having run with settings.
  func exit(_ exit: Daemon.Exit)
}

/// Performs the effects of `Daemon`, and passes their results back to it: requests, tokens, the backlog's file, the
/// pause, the journal, and what is published.
final class EffectPerformer {
  private let loop: EventLoop
  private var journal: Journal
  private let notifier: ServiceNotifier
  private let loader: SettingsLoader
  let meters = ConnectionMeters()
  /// Both are nil before there are settings.
  private var clients: HTTPClients?
  private var tokenFetcher: TokenFetcher?
  private let tokenCache = TokenCache()
  private let runStateFile = RuntimeDirectory.path.map { RuntimeFile(directory: $0, name: "limits") }
  private var hasRunStateFileFailed = false
  private let pauseFile = PauseFile.ofService
  private let dutyFile = DutyFile.ofService
  private let updateFormFile = UpdateFormFile()
  private let storePerformer = StorePerformer()
  private var metricsFile = MetricsFile()
  private var trafficFile = TrafficFile()
  private var confirmationFile = ConfirmationFile()
  /// To be set before the first effect is performed.
  weak var owner: (any EffectOwner)?
  /// The last events of level info and above, also those below the journal's level.
  private var recentEvents = RecentEvents()

  init(loop: EventLoop, journal: Journal, notifier: ServiceNotifier, loader: SettingsLoader) {
    self.loop = loop
    self.journal = journal
    self.notifier = notifier
    self.loader = loader
  }

  func perform(_ effect: Daemon.Effect) {
    switch effect {
    case .sendUpdate(let id, let request):
      clients?.updates.start(id, request) { [weak self] in
        self?.clients?.updates.requestEnded(id)
        self?.feed(.updateEnded(id: id, $0))
      }
    case .connect(let url, let time): clients?.updates.connect(to: url, certificateTime: time)
    case .cancelUpdate(let id): clients?.updates.cancel(id)
    case .fetchToken(let id, let request):
      tokenFetcher?.start(id, request) { [weak self] in self?.feed(.tokenEnded(id: id, $0)) }
    case .cancelToken(let id): tokenFetcher?.cancel(id)
    case .storeToken(let text): storeToken(text)
    case .removeStoredToken: tokenCache.remove()
    case .storeRunState(let text): storeRunState(text)
    case .storeUpdateForm(let text):
      if let trouble = updateFormFile.store(text) { write(.settingsWarning(trouble)) }
    case .dropConnections:
      clients?.updates.dropConnections()
      clients?.tokens.dropConnections()
    case .store(let operation):
      if let outcome = storePerformer.perform(operation) { owner?.pass(.storeEnded(outcome)) }
    case .event(let event): write(event)
    case .storePause(let record): owner?.pass(.pauseStored(pauseFile.store(record)))
    case .storeDuty(let record): owner?.pass(.dutyStored(dutyFile.store(record)))
    // Performed by the sources' lines.
    case .line: break
    case .storeSettings(let text):
      if let trouble = loader.store(text) { write(.settingsWarning(trouble)) }
    case .readSettings:
      // Before there are settings, the unit is still starting.
      if clients != nil { notifier.reloading() }
      owner?.readSettings()
    case .readKeptSettings(let isReverting): owner?.readKeptSettings(isReverting: isReverting)
    case .storeConfirmation(let text):
      if let trouble = confirmationFile.store(text) { write(.settingsWarning(trouble)) }
    case .useSettings: owner?.useSettings()
    // Deferred, so that READY=1 follows the status line of the inputs that are still to be passed; that line names the
    // source.
    case .ready: loop.defer { [notifier] in _ = notifier.ready() }
    case .lockVehicle: owner?.lockVehicle()
    // The extra time is for the last commit of the store.
    case .stopping(let time): notifier.stopping(within: time + .seconds(5))
    case .showStatus(let line): notifier.status(line)
    case .measure: owner?.pass(.measured(measurement))
    case .writeMetrics(let text, let path):
      if let trouble = metricsFile.write(text, to: path) { write(.settingsWarning(trouble)) }
    case .storeTraffic(let text):
      if let trouble = trafficFile.store(text) { write(.settingsWarning(trouble)) }
    case .respond(let id, let response): owner?.sockets?.respond(id, response)
    case .monitor(let item): owner?.sockets?.publish(item)
    case .servePositions(let isOn): owner?.sockets?.servePositions(isOn)
    case .position(let position): owner?.sockets?.publish(position)
    case .finished(let ending):
      tokenFetcher?.endPrograms()
      owner?.finish(ending)
    case .exit(let exit): owner?.exit(exit)
    }
  }

  func write(_ event: Event) {
    recentEvents.add(event, at: loop.now.boot)
    if let sockets = owner?.sockets, sockets.monitors.connected > 0, let item = MonitorItem.Event(event) {
      sockets.publish(.event(item))
    }
    guard journal.accepts(event.kind.priority) else { return }
    journal.log(JournalEntry(event))
  }

  private func feed(_ input: VehicleAgent.Input) {
    owner?.pass(.vehicle(input))
  }

  private func storeToken(_ text: Secret) {
    do {
      try tokenCache.store(text)
    } catch {
      write(.tokenNotKept(error.message))
    }
  }

  private func storeRunState(_ text: String) {
    do {
      try runStateFile?.write(text)
    } catch {
      // Reported once, because it would fail again with each update.
      if !hasRunStateFileFailed { write(.settingsWarning(error.message)) }
      hasRunStateFileFailed = true
    }
  }

  // MARK: - State of an earlier run

  /// Restores the run state of a previous run in this boot: the limits for requests, the time, and what was delivered.
  /// To be called before the first request.
  func restoreRunState() {
    do {
      if let text = try runStateFile?.read() { feed(.runStateFound(text)) }
    } catch {
      write(.settingsWarning(error.message))
    }
  }

  /// Restores what a previous run has found out about the form of updates. To be called before the first request.
  func restoreUpdateForm() {
    if let text = updateFormFile.read() { feed(.updateFormFound(text)) }
  }

  /// Restores what the driver chose before a restart. To be called before the first position.
  func restoreDuty() {
    let (pause, duty) = (pauseFile.read(), dutyFile.read())
    owner?.pass(
      .driverRecordsFound(
        DriverRecords(
          pause: pause.record, pauseTrouble: pause.problem, duty: duty.record, dutyTrouble: duty.problem)))
  }

  func restoreToken(_ settings: Settings.Token) {
    if settings.isCached, RuntimeDirectory.path != nil, StoredToken.Key.currentBootID == nil {
      write(
        .tokenNotKept(
          "the boot ID is not known; the unit must set it, as the packaged unit does: Environment=FLEET_BOOT_ID=%b"
        ))
    }
    do {
      if let text = try tokenCache.read() { feed(.tokenFound(text)) }
    } catch {
      write(.tokenNotRestored(error.message, reason: "file"))
    }
  }

  /// Watches the token file, if the token comes from a file.
  func watchToken(_ provider: TokenProvider) {
    tokenFetcher?.watch(provider) { [weak self] in self?.feed(.tokenFileChanged) }
  }

  // MARK: - New settings and counters

  /// Applies new settings.
  ///
  /// - Parameter newClients: the clients made from the same settings.
  func configure(_ settings: Settings, clients newClients: HTTPClients) {
    journal.level = settings.logLevel
    if let clients {
      clients.updates.replaceClient(with: newClients.updates)
      clients.tokens.replaceClient(with: newClients.tokens)
    } else {
      clients = newClients
      tokenFetcher = TokenFetcher(loop: loop, exchanges: newClients.tokens)
    }
    tokenFetcher?.configure(settings.token, settings.agent.tokenProvider)
    if let trouble = metricsFile.use(settings.metricsFile) { write(.settingsWarning(trouble)) }
  }

  /// Reads the counters of connections and files, for status, metrics and the data volume.
  private var measurement: Measurement {
    var measurement = Measurement(
      storeBytes: storePerformer.size, events: recentEvents.report(at: loop.now.boot), deletedFile: loader.missingFile)
    if let sockets = owner?.sockets {
      measurement.monitors = sockets.monitors
      measurement.positionMonitors = sockets.positionMonitors
    }
    guard let clients else { return measurement }
    measurement.fleetEngine = MetricReading.Traffic(peer: "fleet_engine", clients.updates.traffic, meters.updates)
    measurement.tokenProvider = MetricReading.Traffic(peer: "token_provider", clients.tokens.traffic, meters.tokens)
    measurement.transport = clients.updates.protocolVersion
    return measurement
  }
}
