// SPDX-License-Identifier: Apache-2.0
import Configuration
import Connectivity
import ControlSocket
package import EventLoop
import FleetEngine
import Glibc
import Positioning
import Release
import Delivery
import Observability
package import ServiceManager
import Timekeeping
import SystemCalls

/// The shell around `VehicleAgent`: it hands over what happens, does what the agent decides, and keeps systemd informed.
package final class LocationDaemon {
  private let loop: EventLoop
  private let notifier: ServiceNotifier
  private let loader: SettingsLoader
  private var inForce: SettingsInForce
  private var settingsHash: String
  /// Fleet Engine accepted the last update, and there is a network: as the agent said last.
  private var isOnline = false
  private var lastReload: SettingsReading.Reload?
  private var agent: VehicleAgent
  private let performer: EffectPerformer
  private let surroundings: Surroundings
  private var sources: SourceSet?
  private var timer: LoopTimer
  private var watchdog: Watchdog?
  private var control: ControlServer?
  private var signals: [EventSource<Void>] = []
  private var selfReport: SelfReport
  private var traffic: TrafficKeeper
  private let startedAt: BootInstant
  private var settings: Settings { inForce.file.settings }

  /// - Parameters:
  ///   - loader: gives the settings at each reload.
  ///   - inForce: those to begin with.
  /// - Throws: `DaemonError` with the exit code, when a credential or certificate file cannot be used, or the system denies
  ///   a timer.
  package init(
    loop: EventLoop, journal: Journal, notifier: ServiceNotifier, loader: SettingsLoader, inForce: SettingsInForce
  ) throws(DaemonError) {
    let file = inForce.file
    self.loop = loop
    self.notifier = notifier
    self.loader = loader
    self.inForce = inForce
    settingsHash = inForce.hash
    var seed = SystemRandomNumberGenerator()
    agent = VehicleAgent(try VehicleAgent.Configuration(file.settings), seed: seed.next())
    performer = try EffectPerformer(file.settings, loop: loop, journal: journal)
    surroundings = Surroundings(loop: loop)
    startedAt = loop.now.boot
    traffic = TrafficKeeper(
      performer.meters, stateDirectory: Environment.value(of: "STATE_DIRECTORY"), at: startedAt)
    selfReport = SelfReport(metricsFile: file.settings.metricsFile, notifier: notifier)
    let relay = Relay()
    do {
      timer = try loop.makeTimer { relay.action?() }
    } catch {
      throw DaemonError(ExitCode.system, error.message, cause: error)
    }
    relay.action = { [weak self] in self?.feed(.deadline) }
    performer.use(
      EffectPerformer.Handlers(
        tell: { [weak self] in self?.feed($0) },
        readyForNextFix: { [weak self] in self?.sources?.readyForNextFix($0) },
        stopping: { [notifier] in _ = notifier.stopping() },
        finished: { [weak self] in self?.finish($0) }))
  }

  /// Runs until it is asked to stop, or its recording has been delivered.
  ///
  /// - Returns: the exit code.
  package func run() throws(DaemonError) -> Int32 {
    do {
      signals = [
        try loop.addSignal(SIGTERM) { [unowned self] in stop("SIGTERM") },
        try loop.addSignal(SIGINT) { [unowned self] in stop("SIGINT") },
        try loop.addSignal(SIGHUP) { [unowned self] in _ = reload() },
      ]
      watchdog = try Watchdog(loop: loop, notifier: notifier) { [weak self] in
        guard let self else { return false }
        let now = loop.now
        writeMetrics(at: now)
        selfReport.refresh(at: now, text: statusLine(at: now))
        return isProgressing
      }
      write(.started(vehicle: settings.vehicle.vehicleID, version: Release.version))
      if let report = LocationDaemon.crashOfRunBefore() { write(.crashed(report)) }
      if loop.now.wall < Release.buildDate { write(.clockUnset) }
      if let mistake = inForce.mistake { write(.settingsKept(mistake)) }
      warn()
      // The wake of the machine is told when its clocks are compared; what else is due comes of it.
      let trouble = surroundings.watch(
        onNetwork: { [weak self] in self?.feed(.network($0)) }, onWake: { [weak self] in self?.feed(.deadline) })
      if let trouble { write(.networkUnwatched(trouble)) }
      // What an earlier run left is there before the first fix. A pause may need the token, and comes before any position.
      performer.restoreLimits()
      performer.restoreToken(settings.token)
      performer.restorePause()
      try performer.prepareBacklog(settings)
      let sources = SourceSet(loop: loop) { [weak self] in self?.feed(.source($0, $1)) }
      self.sources = sources
      use(try sources.prepare(settings.sources))
      performer.watchToken(try VehicleAgent.Configuration(settings).tokenProvider)
      listen()
      loop.defer { [notifier] in _ = notifier.ready() }
      return try loop.run()
    } catch {
      throw DaemonError(stoppedBy: error)
    }
  }

  private var isProgressing: Bool {
    let now = loop.now.boot
    return agent.isProgressing(at: now) && sources?.isProgressing(at: now) ?? true
  }

  // MARK: - Inputs and effects

  private func feed(_ input: VehicleAgent.Input) {
    let now = loop.now
    for change in surroundings.changes(at: now) { step(change, at: now) }
    step(input, at: now)
  }

  private func step(_ input: VehicleAgent.Input, at now: Moment) {
    let (effects, deadline, isOnline) = agent.step(input, at: now)
    self.isOnline = isOnline
    var isProven = false
    for effect in effects {
      performer.perform(effect)
      if case .settingsProven = effect { isProven = true }
    }
    if isProven { keepSettings() }
    if let deadline { timer.arm(at: deadline) } else { timer.disarm() }
    selfReport.follow(input, effects, at: now, text: statusLine(at: now))
    writeMetrics(at: now)
    if traffic.isDue(at: now.boot) { readTraffic(at: now) }
  }

  private func readTraffic(at now: Moment, isLast: Bool = false) {
    let events = traffic.read(
      updates: agent.statistics.accepted, at: now.boot, time: agent.bestTime(at: now), isLast: isLast)
    for event in events { write(event) }
  }

  private func write(_ event: Event) {
    performer.write(event)
  }

  // MARK: - Metrics

  private func metrics(at now: Moment) -> String {
    MetricsText.exposition(
      of: MetricReading(
        agent.snapshot(at: now), traffic: performer.traffic,
        trafficOfMonth: traffic.ledger.today?.month.traffic.all, lines: sources?.lines ?? [],
        storeBytes: performer.storeBytes, version: Release.version, settings: settingsReading,
        isLast: agent.lifecycle.isFinished))
  }

  private func writeMetrics(at now: Moment, isLast: Bool = false) {
    let trouble = selfReport.writeMetrics(
      at: now, isOnline: isOnline, isLast: isLast, text: metrics(at: now))
    if let trouble { write(trouble) }
  }

  // MARK: - The sources

  private func use(_ list: [SourceSet.Member]) {
    guard let sources else { return }
    sources.replace(by: list)
    feed(.sources(sources.candidates))
  }

  /// What a person should know of settings that are in force.
  private func warn() {
    for warning in inForce.file.warnings { write(.settingsWarning("\(warning)")) }
  }

  // MARK: - The settings in force

  private var settingsReading: SettingsReading {
    SettingsReading(hash: settingsHash, mistake: inForce.mistake, lastReload: lastReload)
  }

  private func statusLine(at now: Moment) -> String {
    agent.snapshot(at: now).publicStatusLine + settingsReading.statusSuffix
  }

  /// An update was accepted with them: a start that finds mistakes in the files can use them.
  private func keepSettings() {
    guard inForce.mistake == nil, let trouble = loader.keep(inForce.file) else { return }
    write(.settingsWarning(trouble))
  }

  // MARK: - Questions

  /// Answers `fleet-locationctl`. Without the socket the daemon does its work all the same.
  private func listen() {
    guard let path = ControlAnswers.socketPath else { return }
    do {
      control = try ControlServer(loop: loop, path: path) { [weak self] question in
        guard let self else { return [] }
        return ControlAnswers.answer(
          question,
          report: { report(at: loop.now) }, reload: { reload() }, steer: { steer($0) },
          metrics: { metrics(at: loop.now) })
      }
    } catch {
      write(.settingsWarning(error.message))
    }
  }

  /// - Returns: what the daemon has to say to it.
  private func steer(_ input: VehicleAgent.Input) -> ControlAnswers.Steered {
    guard agent.lifecycle.isRunning else { return .refused("the daemon is stopping") }
    feed(input)
    return .done(remark: performer.pauseTrouble)
  }

  private func report(at now: Moment) -> StatusReport {
    var report = StatusReport(agent.snapshot(at: now), storeBytes: performer.storeBytes)
    report.summary += settingsReading.statusSuffix
    report.settings = settingsReading.report(at: now.boot)
    report.version = Release.version
    report.uptime = (now.boot - startedAt).wholeSeconds
    report.heartbeat = settings.agent.reporting.heartbeat.wholeSeconds
    report.transport = performer.transport
    report.lines = sources?.lines.map { StatusReport.Line($0, at: now.boot) }
    readTraffic(at: now)
    report.traffic = traffic.ledger.today.map { StatusReport.Traffic($0) }
    report.events = performer.recentEvents.report(at: now.boot)
    return report
  }

  // MARK: - The service

  private func stop(_ signal: String) {
    sources?.stop()
    sources = nil
    feed(.stop(within: settings.stopTimeout, signal: signal))
  }

  private func finish(_ ending: Lifecycle.Ending) {
    readTraffic(at: loop.now, isLast: true)
    writeMetrics(at: loop.now, isLast: true)
    write(.stopped(undelivered: ending.undelivered, recording: ending.recording))
    loop.exit(ExitCode.of(ending.result))
  }

  /// - Returns: what is wrong with the new settings; nil when they are in force.
  private func reload() -> String? {
    guard agent.lifecycle.isRunning else { return "the daemon is stopping" }
    _ = notifier.reloading()
    defer { _ = notifier.ready() }
    do {
      try takeSettings(try loader.load())
      lastReload = SettingsReading.Reload(at: loop.now.boot, mistake: nil)
      write(.reloaded)
      warn()
      return nil
    } catch {
      lastReload = SettingsReading.Reload(at: loop.now.boot, mistake: error.message)
      write(.reloadRefused(error.message))
      return error.message
    }
  }

  /// Everything that can fail comes before anything that changes.
  private func takeSettings(_ file: SettingsFile) throws(DaemonError) {
    let configuration = try VehicleAgent.Configuration(file.settings)
    let newClients = try HTTPClients(file.settings, loop: loop, meters: performer.meters)
    let newSources = try sources?.prepare(file.settings.sources)
    // What has happened before belongs to the settings before.
    let now = loop.now
    for change in surroundings.changes(at: now) { step(change, at: now) }
    inForce = SettingsInForce(file: file)
    settingsHash = inForce.hash
    performer.configure(settings, clients: newClients)
    selfReport.configure(metricsFile: settings.metricsFile)
    feed(.configure(configuration))
    performer.resumeBacklog()
    performer.watchToken(configuration.tokenProvider)
    if let state = surroundings.networkState { feed(.network(state)) }
    if let newSources { use(newSources) }
  }
}

/// Lets a handler be made before the object that it calls.
private final class Relay {
  var action: (() -> Void)?
}
