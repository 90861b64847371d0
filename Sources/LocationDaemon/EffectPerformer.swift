// SPDX-License-Identifier: Apache-2.0
import Authorization
import Configuration
import EventLoop
import HTTPMessages
import Release
import Delivery
import Observability
import ServiceManager
import Timekeeping
import TokenStore
import SystemCalls

/// Does what `VehicleAgent` decides, and tells it how that went: requests, tokens, the backlog's file, the pause, the journal.
final class EffectPerformer {
  /// Whom it tells and asks. They are set once the agent can be reached, before anything is performed.
  struct Handlers {
    /// What the vehicle's agent should know.
    var tell: (VehicleAgent.Input) -> Void
    /// The source of this ID may give its next fix.
    var readyForNextFix: (Int) -> Void
    /// The run comes to its end.
    var stopping: () -> Void
    /// The agent is done, and no program or file is open any more.
    var finished: (Lifecycle.Ending) -> Void
  }

  private let loop: EventLoop
  private var journal: Journal
  let meters = ConnectionMeters()
  private let clients: HTTPClients
  private let tokens: TokenFetcher
  private let tokenKeeper = TokenKeeper()
  private let limits = RuntimeDirectory.path.map { RuntimeNote(directory: $0, name: "limits") }
  private var hasLimitsFailed = false
  private let pauseFile = PauseFile.ofService
  private var keeper: BacklogKeeper?
  private var handlers: Handlers?
  /// Why the pause, or its end, could not be kept.
  private(set) var pauseTrouble: String?
  /// The last that was written, also what the journal's level leaves out.
  private(set) var recentEvents = RecentEvents()

  /// - Throws: `DaemonError` with the exit code, when a certificate file cannot be used.
  init(_ settings: Settings, loop: EventLoop, journal: Journal) throws(DaemonError) {
    self.loop = loop
    self.journal = journal
    self.journal.level = settings.logLevel
    clients = try HTTPClients(settings, loop: loop, meters: meters)
    tokens = TokenFetcher(loop: loop, exchanges: clients.tokens)
    tokens.configure(settings.token, settings.agent.tokenProvider)
  }

  func use(_ handlers: Handlers) {
    self.handlers = handlers
  }

  func perform(_ effect: VehicleAgent.Effect) {
    switch effect {
    case .sendUpdate(let id, let request):
      clients.updates.start(id, request) { [weak self] in self?.tell(.updateEnded(id: id, $0)) }
    case .connect(let url, let time): clients.updates.connect(to: url, certificateTime: time)
    case .cancelUpdate(let id): clients.updates.cancel(id)
    case .fetchToken(let id, let request):
      tokens.start(id, request) { [weak self] in self?.tell(.tokenEnded(id: id, $0)) }
    case .cancelToken(let id): tokens.cancel(id)
    case .keepToken(let text): keepToken(text)
    case .forgetToken: tokenKeeper.forget()
    case .keepLimits(let text): keepLimits(text)
    case .dropConnections:
      clients.updates.dropConnections()
      clients.tokens.dropConnections()
    case .readStore: keeper?.handle(.start)
    case .backlog(let change): keeper?.handle(.changed(change))
    case .backlogSnapshot(let records): keeper?.handle(.snapshot(records))
    case .forgetOthers(let time): keeper?.handle(.forgetOthers(before: time))
    case .event(let event): write(event)
    case .keepPause(let note):
      pauseTrouble = pauseFile.keep(note)
      if let pauseTrouble { write(.pauseNotKept(pauseTrouble)) }
    case .readyForNextFix(let id): handlers?.readyForNextFix(id)
    // The daemon does it, for it has the settings.
    case .settingsProven: break
    case .stopping: handlers?.stopping()
    case .finished(let ending):
      tokens.endPrograms()
      keeper?.close()
      handlers?.finished(ending)
    }
  }

  func write(_ event: Event) {
    recentEvents.note(event, at: loop.now.boot)
    guard journal.takes(event.kind.priority) else { return }
    journal.log(JournalEntry(event))
  }

  private func tell(_ input: VehicleAgent.Input) {
    handlers?.tell(input)
  }

  private func keepToken(_ text: Secret) {
    do {
      try tokenKeeper.keep(text)
    } catch {
      write(.tokenNotKept(error.message))
    }
  }

  private func keepLimits(_ text: String) {
    do {
      try limits?.write(text)
    } catch {
      // Once: it would be the same at each update.
      if !hasLimitsFailed { write(.settingsWarning(error.message)) }
      hasLimitsFailed = true
    }
  }

  // MARK: - What an earlier run has left

  /// Before the first request: what is promised to Fleet Engine does not end with a run.
  func restoreLimits() {
    do {
      if let text = try limits?.read() { tell(.limitsFound(text)) }
    } catch {
      write(.settingsWarning(error.message))
    }
  }

  /// Before the first position: what was asked for before a restart is still meant.
  func restorePause() {
    let (note, trouble) = pauseFile.read()
    if let note { tell(.pause(note)) }
    if let trouble { write(.pauseNotKept(trouble)) }
  }

  /// Gets ready for the backlog's file, which is read when the agent asks for it.
  ///
  /// - Throws: the system denies a timer.
  func prepareBacklog(_ settings: Settings) throws(EventLoopError) {
    keeper = try BacklogKeeper(settings.store, vehicle: settings.vehicle, loop: loop) { [weak self] in self?.tell($0) }
    tell(.store(.unread))
  }

  func restoreToken(_ settings: Settings.Token) {
    if settings.isCached, RuntimeDirectory.path != nil, KeptToken.Key.currentBoot == nil {
      write(
        .tokenNotKept(
          "the name of this boot is not known; the unit has to tell it, as the one that comes with the program does: Environment=FLEET_BOOT_ID=%b"
        ))
    }
    do {
      if let text = try tokenKeeper.find() { tell(.tokenFound(text)) }
    } catch {
      write(.tokenNotRestored(error.message, reason: "file"))
    }
  }

  /// Watches the file of the provider, if it is one.
  func watchToken(_ provider: TokenProvider) {
    tokens.watch(provider) { [weak self] in self?.tell(.tokenRenewed) }
  }

  // MARK: - New settings, and what is counted

  /// Takes new settings, before the agent does; `resumeBacklog` is to follow after that.
  ///
  /// - Parameter newClients: made of the same settings.
  func configure(_ settings: Settings, clients newClients: HTTPClients) {
    journal.level = settings.logLevel
    clients.updates.replaceClient(by: newClients.updates)
    clients.tokens.replaceClient(by: newClients.tokens)
    tokens.configure(settings.token, settings.agent.tokenProvider)
    keeper?.configure(settings.store, vehicle: settings.vehicle)
  }

  func resumeBacklog() {
    keeper?.start()
  }

  /// Bytes of the backlog on disk; nil without a file.
  var storeBytes: Int64? { keeper?.bytes }

  /// What brought Fleet Engine's last answer, `HTTP/2` or `HTTP/1.1`; nil before the first.
  var transport: String? { clients.updates.version }

  /// What has gone over each connection since the start.
  var traffic: [MetricReading.Traffic] {
    [
      MetricReading.Traffic(peer: "fleet_engine", clients.updates.traffic, meters.updates),
      MetricReading.Traffic(peer: "token_provider", clients.tokens.traffic, meters.tokens),
    ]
  }
}
