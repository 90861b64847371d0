// SPDX-License-Identifier: Apache-2.0
import Authorization
package import Configuration
import ControlSocket
package import EventLoop
import Glibc
import HTTPClient
import HTTPMessages
import NetworkWatch
import Positioning
import Release
import Reporting
package import ServiceManager
import Timekeeping
import TokenStore

/// The shell around `VehicleAgent`: it hands over what happens, does what the agent decides, and keeps systemd informed.
///
/// It belongs to the loop's thread.
package final class LocationDaemon {
  /// Gives the settings, at the start and at each reload.
  package typealias Loader = () throws(ConfigurationError) -> SettingsFile

  private let loop: EventLoop
  private var journal: Journal
  private let notifier: ServiceNotifier
  private let load: Loader
  private var settings: Settings
  private var warnings: [Diagnostic]
  private var agent: VehicleAgent
  private var clients: HTTPClients
  private let tokens: TokenFetcher
  private let tokenKeeper = TokenKeeper()
  private var sources: SourceSet?
  private var keeper: BacklogKeeper?
  private var timer: LoopTimer
  private var watchdog: Watchdog?
  private var networkWatch: NetworkWatch?
  private var clockWatch: ClockWatch?
  private var clocks: ClockComparison
  private var control: ControlServer?
  private var signals: [EventSource<Void>] = []
  private var status: StatusLine
  private let pauseFile = PauseFile.ofService
  /// Why the pause, or its end, could not be kept.
  private var pauseTrouble: String?
  private var metricsFile: MetricsFile
  private var hasWarnedOfSimulation = false
  private var isStopping = false
  private var isAskedToStop = false
  private var isEnded = false

  /// - Parameters:
  ///   - load: is called now, and again at SIGHUP.
  /// - Throws: `DaemonError` with the exit code, when the settings are wrong, a credential or certificate file cannot be
  ///   used, or the system denies a timer.
  package init(
    loop: EventLoop, journal: Journal, notifier: ServiceNotifier, load: @escaping Loader
  ) throws(DaemonError) {
    let file = try LocationDaemon.check(load)
    var journal = journal
    journal.level = JournalEntry.Priority(file.settings.log.level)
    self.loop = loop
    self.journal = journal
    self.notifier = notifier
    self.load = load
    settings = file.settings
    warnings = file.warnings
    var seed = SystemRandomNumberGenerator()
    agent = VehicleAgent(try VehicleAgent.Configuration(file.settings), seed: seed.next())
    clients = try HTTPClients(file.settings, loop: loop)
    tokens = TokenFetcher(loop: loop, exchanges: clients.tokens)
    status = StatusLine(notifier)
    metricsFile = MetricsFile(path: file.settings.metrics.textfile)
    clocks = ClockComparison(loop.now, awake: loop.awake)
    let relay = Relay()
    do {
      timer = try loop.makeTimer { relay.action?() }
    } catch {
      throw DaemonError(ExitCode.system, error.message, cause: error)
    }
    relay.action = { [unowned self] in feed(.deadline) }
  }

  /// Reads the settings, and the credentials that they name.
  ///
  /// - Throws: exit code `configuration`, with every mistake on a line of its own.
  package static func check(_ load: Loader) throws(DaemonError) -> SettingsFile {
    let file: SettingsFile
    do {
      file = try load()
    } catch {
      throw DaemonError(ExitCode.configuration, error.message, cause: error)
    }
    _ = try VehicleAgent.Configuration(file.settings)
    return file
  }

  /// Runs until it is asked to stop, or its recording has been delivered.
  ///
  /// - Returns: the exit code.
  package func run() throws(DaemonError) -> Int32 {
    do {
      signals = [
        try loop.addSignal(SIGTERM) { [unowned self] in stop("asked to, by SIGTERM") },
        try loop.addSignal(SIGINT) { [unowned self] in stop("asked to, by SIGINT") },
        try loop.addSignal(SIGHUP) { [unowned self] in _ = reload() },
      ]
      watchdog = try Watchdog(loop: loop, notifier: notifier) { [unowned self] in
        writeMetrics(at: loop.now)
        return isProgressing
      }
      write(.started(vehicle: settings.vehicle.vehicleID, version: Release.version))
      if loop.now.wall < Release.buildDate { write(.clockUnset()) }
      warn()
      watchSurroundings()
      restorePause()
      keeper = try makeKeeper()
      // What an earlier run left is there before the first fix.
      keeper?.start()
      restoreToken()
      sources = try makeSources(settings)
      watchToken(try VehicleAgent.Configuration(settings))
      listen()
      loop.defer { [notifier] in _ = notifier.ready() }
      return try loop.run()
    } catch let error as DaemonError {
      throw error
    } catch let error as EventLoopError {
      throw DaemonError(ExitCode.system, error.message, cause: error)
    } catch {
      throw DaemonError(ExitCode.system, "\(error)", cause: error)
    }
  }

  private var isProgressing: Bool {
    let now = loop.now.boot
    return agent.isProgressing(at: now) && sources?.isProgressing(at: now) ?? true
  }

  // MARK: - Inputs and effects

  private func feed(_ input: VehicleAgent.Input) {
    let now = loop.now
    compareClocks(now)
    step(input, at: now)
  }

  private func step(_ input: VehicleAgent.Input, at now: Moment) {
    let (effects, deadline, isSettled) = agent.step(input, at: now)
    for effect in effects { perform(effect) }
    if let deadline { timer.arm(at: deadline) } else { timer.disarm() }
    // A network that comes and goes is told in the journal once in a while, and here each time.
    let isOfNetwork = if case .network = input { true } else { false }
    if isOfNetwork || status.isDue(after: effects, at: now.boot) { show(at: now) }
    writeMetrics(at: now)
    guard isSettled, sources?.awaitsSettling == true else { return }
    // A fix that went nowhere has settled within its own report: the next one gets a turn of its own, or a recording of such
    // fixes would be one deep call. And what is new of the sources is told before the fix that brought it.
    switch input {
    case .fix, .sources: loop.defer { [unowned self] in tellSettled() }
    default: tellSettled()
    }
  }

  /// Looks again: in the meantime the source may have given a fix that has not run its course.
  private func tellSettled() {
    if agent.isSettled(at: loop.now.boot) { sources?.settled() }
  }

  private func show(at now: Moment) {
    let text = agent.status(at: now.boot, wall: now.wall)
    let isUnset = now.wall < Release.buildDate && !text.contains("this machine's clock is")
    status.show(text + (isUnset ? "; this machine's clock is not set" : ""), at: now.boot)
  }

  private func perform(_ effect: VehicleAgent.Effect) {
    switch effect {
    case .sendUpdate(let id, let request):
      clients.updates.start(id, request, certificateTime: certificateTime) { [unowned self] in
        feed(.updateEnded(id: id, $0))
      }
    case .cancelUpdate(let id): clients.updates.cancel(id)
    case .fetchToken(let id, let request):
      tokens.start(id, request, certificateTime: certificateTime) { [unowned self] in feed(.tokenEnded(id: id, $0)) }
    case .cancelToken(let id): tokens.cancel(id)
    case .keepToken(let text): keepToken(text)
    case .forgetToken: tokenKeeper.forget()
    case .dropConnections:
      clients.updates.dropConnections()
      clients.tokens.dropConnections()
    case .backlog(let change): keeper?.follow(change)
    case .forgetOthers(let time): keeper?.forgetOthers(before: time)
    case .event(let event): write(event)
    case .keepPause(let note):
      pauseTrouble = pauseFile.keep(note)
      if let pauseTrouble { write(.pauseNotKept(pauseTrouble)) }
    case .finished(let undelivered): finish(undelivered)
    }
  }

  /// When certificates are judged while this machine's clock cannot be right: by GNSS, if it told a time, and not before
  /// the build. Nil: by the clock.
  private var certificateTime: Timestamp? {
    guard loop.now.wall < Release.buildDate else { return nil }
    return max(agent.newestTime ?? Release.buildDate, Release.buildDate)
  }

  private func write(_ event: Event) {
    guard journal.takes(JournalEntry.Priority(event.kind.priority)) else { return }
    journal.log(JournalEntry(event))
  }

  private func watchToken(_ configuration: VehicleAgent.Configuration) {
    tokens.watch(configuration.tokenProvider) { [unowned self] in feed(.tokenRenewed) }
  }

  private func restoreToken() {
    if settings.token.isCached, RuntimeDirectory.path != nil, KeptToken.Key.currentBoot == nil {
      write(
        .tokenNotKept(
          "the name of this boot is not known; the unit has to tell it, as the one that comes with the program does: Environment=FLEET_BOOT_ID=%b"
        ))
    }
    do {
      if let text = try tokenKeeper.find() { feed(.tokenFound(text)) }
    } catch {
      write(.tokenNotRestored(error.message, reason: "file"))
    }
  }

  private func keepToken(_ text: Secret) {
    do {
      try tokenKeeper.keep(text)
    } catch {
      write(.tokenNotKept(error.message))
    }
  }

  // MARK: - Metrics

  private func metrics(at now: Moment) -> String {
    var reading = agent.metrics(at: now)
    reading.traffic = [
      MetricReading.Traffic(peer: "fleet_engine", clients.updates.traffic),
      MetricReading.Traffic(peer: "token_provider", clients.tokens.traffic),
    ]
    reading.storeBytes = keeper?.bytes
    reading.version = Release.version
    if isEnded { reading.isOnline = false }
    return MetricsText.exposition(of: reading)
  }

  /// Whoever has woken the machine, it is awake.
  private func writeMetrics(at now: Moment, isLast: Bool = false) {
    guard isLast || metricsFile.isDue(at: now.boot) else { return }
    if let trouble = metricsFile.write(metrics(at: now), at: now.boot) { write(.settingsWarning(trouble)) }
  }

  // MARK: - Pauses

  /// Before the first position: what was asked for before a restart is still meant.
  private func restorePause() {
    let (note, trouble) = pauseFile.read()
    if let note { feed(.pause(note)) }
    if let trouble { write(.pauseNotKept(trouble)) }
  }

  /// - Returns: what the daemon has to say to it.
  private func steer(_ input: VehicleAgent.Input) -> ControlAnswers.Steered {
    guard !isStopping else { return .refused("the daemon is stopping") }
    feed(input)
    return .done(remark: pauseTrouble)
  }

  // MARK: - Network and clocks

  /// Neither is needed: without them the daemon finds out by trying, and by the next fix.
  private func watchSurroundings() {
    do {
      networkWatch = try NetworkWatch(loop: loop) { [unowned self] in feed(.network($0)) }
    } catch {
      write(.networkUnwatched(error.message))
    }
    clockWatch = try? ClockWatch(loop: loop) { [unowned self] in
      // The wake of the machine is told here; what else is due comes of it.
      feed(.deadline)
    }
  }

  /// Before all else: what follows is to know that the machine has slept.
  private func compareClocks(_ now: Moment) {
    for change in clocks.read(now, awake: loop.awake) {
      switch change {
      case .slept(let time): step(.resumed(after: time), at: now)
      case .stepped(let step): self.step(.clockStepped(step), at: now)
      }
    }
  }

  private func makeKeeper() throws(EventLoopError) -> BacklogKeeper {
    let handlers = BacklogKeeper.Handlers(
      tell: { [unowned self] in feed($0) }, records: { [unowned self] in agent.delivery.backlog.records })
    return try BacklogKeeper(settings.backlog, vehicle: settings.vehicle.owner, loop: loop, handlers: handlers)
  }

  // MARK: - The sources

  /// - Throws: exit code `configuration` when a route or recording cannot be read. A receiver is not opened yet.
  private func makeSources(_ settings: Settings) throws(DaemonError) -> SourceSet {
    let handlers = SourceSet.Handlers(
      use: { [unowned self] fix in
        warnOfSimulation(fix)
        feed(.fix(fix))
      },
      changed: { [unowned self] in tellSources() },
      ended: { [unowned self] in end() })
    return try SourceSet(
      settings.sources, filter: FixFilter.Configuration(settings), loop: loop, handlers: handlers)
  }

  private func tellSources() {
    if let sources { feed(.sources(sources.overview)) }
  }

  /// The last source has ended.
  private func end() {
    let names = sources?.names ?? ""
    sources = nil
    if agent.newestTime == nil {
      feed(.source(.lost("\(names) has ended without a position that can be believed")))
    }
    write(.stopping("the source has no more positions"))
    _ = notifier.stopping()
    isStopping = true
    feed(.sourceEnded)
  }

  /// What a person should know of settings that are in force.
  private func warn() {
    for warning in warnings { write(.settingsWarning("\(warning)")) }
    hasWarnedOfSimulation = false
  }

  /// A route that is driven here, or a receiver that is itself a simulator (NMEA quality 8): loud, once, where dispatchers
  /// would see a vehicle that is not there.
  private func warnOfSimulation(_ fix: Fix) {
    guard fix.quality == .simulated, !hasWarnedOfSimulation, !settings.fleetEngine.isLoopback else { return }
    hasWarnedOfSimulation = true
    write(.simulatedSource(endpoint: settings.fleetEngine.endpoint))
  }

  // MARK: - Questions

  /// Answers `fleet-locationctl`. Without the socket the daemon does its work all the same.
  private func listen() {
    guard let path = ControlAnswers.socketPath else { return }
    do {
      control = try ControlServer(loop: loop, path: path) { [unowned self] question in
        ControlAnswers.answer(
          question,
          report: {
            let now = loop.now
            return agent.report(at: now.boot, wall: now.wall, storeBytes: keeper?.bytes)
          }, reload: { reload() }, steer: { steer($0) },
          metrics: { metrics(at: loop.now) })
      }
    } catch {
      write(.settingsWarning(error.message))
    }
  }

  // MARK: - The service

  private func stop(_ why: String) {
    if !isStopping { write(.stopping(why)) }
    isStopping = true
    isAskedToStop = true
    _ = notifier.stopping()
    sources?.stop()
    sources = nil
    feed(.stop(within: settings.reporting.stopTimeout))
  }

  private func finish(_ undelivered: Int) {
    tokens.endPrograms()
    keeper?.close()
    isEnded = true
    writeMetrics(at: loop.now, isLast: true)
    write(.stopped(undelivered: undelivered))
    // Who asks for the end has had what could be done; a recording that was not delivered has failed.
    loop.exit(undelivered == 0 || isAskedToStop ? ExitCode.done : ExitCode.undelivered)
  }

  /// - Returns: what is wrong with the new settings; nil when they are in force.
  private func reload() -> String? {
    guard !isStopping else { return "the daemon is stopping" }
    _ = notifier.reloading()
    defer { _ = notifier.ready() }
    do {
      try takeSettings(try LocationDaemon.check(load))
      write(.reloaded())
      warn()
      return nil
    } catch {
      write(.reloadRefused(error.message))
      return error.message
    }
  }

  /// Everything that can fail comes before anything that changes.
  private func takeSettings(_ file: SettingsFile) throws(DaemonError) {
    let configuration = try VehicleAgent.Configuration(file.settings)
    let newClients = try HTTPClients(file.settings, loop: loop)
    let newSources = try sources?.prepare(file.settings.sources)
    settings = file.settings
    warnings = file.warnings
    journal.level = JournalEntry.Priority(file.settings.log.level)
    clients.updates.replaceClient(by: newClients.updates)
    clients.tokens.replaceClient(by: newClients.tokens)
    if !metricsFile.isAt(settings.metrics.textfile) { metricsFile = MetricsFile(path: settings.metrics.textfile) }
    keeper?.configure(settings.backlog, vehicle: settings.vehicle.owner)
    feed(.configure(configuration))
    keeper?.start()
    watchToken(configuration)
    if let state = networkWatch?.state { feed(.network(state)) }
    if let newSources {
      sources?.replace(by: newSources, filter: configuration.filter)
      tellSources()
    }
  }
}

extension VehicleAgent {
  /// Handles an input, and answers what is asked after each. In one access: a question to an agent that an object holds
  /// copies all of the agent first.
  fileprivate mutating func step(
    _ input: Input, at now: Moment
  ) -> (effects: [Effect], deadline: BootInstant?, isSettled: Bool) {
    let effects = handle(input, at: now)
    return (effects, nextDeadline(at: now.boot), isSettled(at: now.boot))
  }
}

/// Lets a handler be made before the object that it calls.
private final class Relay {
  var action: (() -> Void)?
}
