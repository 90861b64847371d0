// SPDX-License-Identifier: Apache-2.0
import ControlSocket
import Daemon
import Delivery
package import EventLoop
import Glibc
import Release
package import ServiceManager
import SystemCalls

/// The shell around `Startup`: it reads the settings of a start, and waits for what they name.
package final class SettingsStart {
  /// How a start ends.
  package enum Result {
    case run(ActiveSettings)
    /// The program must exit with this exit code.
    case end(Int32)
  }

  private let loop: EventLoop
  private let journal: Journal
  private let notifier: ServiceNotifier
  private var reader: SettingsStartReader
  private var startup: Startup
  private let pauseFile = PauseFile.ofService
  private var inputs: [Startup.Input] = []
  private var isStepping = false
  private var result: Swift.Result<Result, DaemonError>?
  private var control: ControlServer?
  private var isListening = false
  /// Where the responses go to requests on the control socket, by their IDs.
  private var replies: [UInt64: ([UInt8]) -> Void] = [:]
  private var lastRequest: UInt64 = 0
  private var timer: LoopTimer?

  package init(
    loop: EventLoop, journal: Journal, notifier: ServiceNotifier, loader: SettingsLoader
  ) {
    self.loop = loop
    self.journal = journal
    self.notifier = notifier
    reader = SettingsStartReader(loader)
    startup = Startup(waits: notifier.isActive, pause: pauseFile.read().record, buildDate: Release.buildDate)
  }

  /// Reads the settings. While something is missing, the unit counts as started, its watchdog is notified, and its
  /// status and the control socket say what.
  ///
  /// - Throws: exit code `configuration`: what is wrong with the files, and why the kept settings are not used.
  package func run() throws(DaemonError) -> Result {
    do {
      timer = try loop.makeTimer { [unowned self] in pass(.deadline) }
      pass(.launched)
      if let result { return try result.get() }
      let signals = [
        try loop.addSignal(SIGTERM) { [unowned self] in pass(.stop) },
        try loop.addSignal(SIGINT) { [unowned self] in pass(.stop) },
        try loop.addSignal(SIGHUP) { [unowned self] in pass(.reload) },
      ]
      let watchdog = try Watchdog(loop: loop, notifier: notifier) { true }
      defer { withExtendedLifetime((signals, watchdog)) {} }
      let code = try loop.run()
      return try result?.get() ?? .end(code)
    } catch {
      throw DaemonError(stoppedBy: error)
    }
  }

  private func pass(_ input: Startup.Input) {
    inputs.append(input)
    guard !isStepping else { return }
    isStepping = true
    defer { isStepping = false }
    while !inputs.isEmpty {
      for effect in startup.handle(inputs.removeFirst(), at: loop.now) { perform(effect) }
      if let deadline = startup.nextDeadline { timer?.arm(at: deadline) } else { timer?.disarm() }
    }
  }

  private func perform(_ effect: Startup.Effect) {
    switch effect {
    case .readSettings: pass(.settingsRead(reader.read()))
    case .readKeptSettings: pass(.keptSettingsRead(reader.readKept()))
    case .use(let mistake):
      guard var settings = reader.settings else { return }
      settings.mistake = mistake
      end(.success(.run(settings)))
    case .event(let event): journal.log(JournalEntry(event))
    case .showStatus(let line):
      // Whoever reads the line may ask at once.
      if !isListening { listen() }
      notifier.status(line)
    case .ready: notifier.ready()
    case .storePause(let record): pass(.pauseStored(pauseFile.store(record)))
    case .respond(let id, let response): replies.removeValue(forKey: id)?(ControlProtocol.encode(response))
    case .exit(.stopped): end(.success(.end(ExitCode.done)))
    case .exit(.unavailable): end(.success(.end(ExitCode.unavailable)))
    case .exit(.configuration(let mistakes)):
      end(.failure(DaemonError(ExitCode.configuration, mistakes, cause: reader.error)))
    }
  }

  private func end(_ result: Swift.Result<Result, DaemonError>) {
    self.result = result
    loop.exit(ExitCode.done)
  }

  private func listen() {
    isListening = true
    guard let path = ControlProtocol.socketPath else { return }
    do {
      control = try ControlServer(loop: loop, path: path) { [weak self] question, reply in
        guard let self else { return }
        do throws(ControlProtocol.Mistake) {
          let request = try ControlProtocol.request(question)
          lastRequest += 1
          replies[lastRequest] = reply
          pass(.request(id: lastRequest, request))
        } catch {
          reply(ControlProtocol.encode(error))
        }
      }
    } catch {
      journal.log(JournalEntry(.settingsWarning(error.message)))
    }
  }
}

/// Reads the settings of a start, or the last ones that worked.
struct SettingsStartReader {
  private let loader: SettingsLoader
  /// The settings that were read last and can be used; nil if there are none.
  private(set) var settings: ActiveSettings?
  /// Why the settings files were not usable when they were last read.
  private(set) var error: DaemonError?

  init(_ loader: SettingsLoader) {
    self.loader = loader
  }

  /// Reads the settings files, and the credentials that they name.
  mutating func read() -> Startup.Outcome {
    settings = nil
    do throws(DaemonError) {
      settings = ActiveSettings(file: try loader.load())
      return .valid
    } catch {
      self.error = error
      return error.mayAppearLater ? .missing(error.message) : .invalid(error.message)
    }
  }

  /// Reads the last settings that worked.
  mutating func readKept() -> Startup.KeptOutcome {
    settings = nil
    do throws(DaemonError) {
      settings = try loader.keptSettings().map { ActiveSettings(file: $0) }
      return settings == nil ? .none : .usable
    } catch {
      return error.mayAppearLater ? .missing(error.message) : .unusable(error.message)
    }
  }
}
