// SPDX-License-Identifier: Apache-2.0
package import Delivery
package import Timekeeping

/// The daemon before it has settings: it reads them, waits for a file or credential that they name (a disk that is
/// mounted late, a credential that systemd provides with the next start), falls back to kept settings, or ends.
///
/// Meanwhile it answers on the control socket. A pause is stored, and holds when the settings are there.
package struct Startup: Sendable {
  /// What came of reading the settings files.
  package enum Outcome: Equatable, Sendable {
    case valid
    /// They are valid, but for files or credentials that they name and that are not there yet; which, and what to do.
    case missing(String)
    /// Their mistakes, one a line, with what to do.
    case invalid(String)
  }

  /// What came of reading the last settings that worked.
  package enum KeptOutcome: Equatable, Sendable {
    case usable
    /// There are none.
    case none
    /// Only a file or credential that they name is not there yet; a sentence that says which.
    case missing(String)
    /// Why they are not used, as a sentence.
    case unusable(String)
  }

  /// Everything that can happen before there are settings.
  package enum Input: Equatable, Sendable {
    /// The process has started.
    case launched
    /// What came of `readSettings`.
    case settingsRead(Outcome)
    /// What came of `readKeptSettings`.
    case keptSettingsRead(KeptOutcome)
    /// `nextDeadline` has passed.
    case deadline
    /// Look again at once (SIGHUP).
    case reload
    /// A request on the control socket; `respond` follows.
    case request(id: UInt64, Daemon.Request)
    /// `storePause` was performed; why it failed, nil on success.
    case pauseStored(String?)
    /// A stop was requested.
    case stop
  }

  /// What the shell has to do.
  package enum Effect: Equatable, Sendable {
    /// Read the settings; `settingsRead` follows.
    case readSettings
    /// Read the last settings that worked; `keptSettingsRead` follows.
    case readKeptSettings
    /// Run with the settings that were read last. `mistake`: those of the files, if these are kept settings.
    case use(mistake: String?)
    case event(Event)
    /// Send systemd this status line.
    case showStatus(String)
    /// The unit counts as started.
    case ready
    /// Store this for the daemon; nil: no pause. `pauseStored` follows.
    case storePause(PauseRecord?)
    /// Answer the request with this ID.
    case respond(id: UInt64, Daemon.Response)
    case exit(Exit)
  }

  /// Why the process ends without having run.
  package enum Exit: Equatable, Sendable {
    /// A stop was requested.
    case stopped
    /// What is missing was missing for too long; a new start may find it.
    case unavailable
    /// The settings cannot be used: the mistakes, one a line.
    case configuration(String)
  }

  /// Prefix of the status text of systemd, and of the responses, while something is missing.
  package static let waitingPrefix = "Waiting for a file or credential that the settings name: "
  /// Interval between two readings: the first, and the maximum.
  private static let (firstInterval, maxInterval) = (Duration.seconds(5), Duration.seconds(60))
  /// systemd provides credentials only at a start, so the process ends after this time to be started again.
  private static let limit = Duration.seconds(15 * 60)

  private enum State {
    case starting
    /// Since the first reading, until when at the latest, and what is missing.
    case waiting(until: BootInstant, for: String)
    case over
  }

  private let waits: Bool
  private let buildDate: Timestamp
  private var state = State.starting
  private var interval = firstInterval
  /// The mistakes of the files, while the kept settings are read.
  private var mistakes = ""
  /// Whether a reload asked for the reading that is under way, which leaves the intervals as they are.
  private var isReload = false
  /// Requests that the reading under way answers.
  private var reloads: [UInt64] = []
  private var pause: PauseRecord?
  /// For each change of the pause that is not on disk yet, the request for it.
  private var pauses: [UInt64] = []

  /// When to handle `deadline`; nil while nothing is waited for.
  package private(set) var nextDeadline: BootInstant?

  /// - Parameters:
  ///   - waits: whether a missing file or credential is waited for. On a terminal it is reported instead.
  ///   - pause: the pause of an earlier run; nil if there is none.
  ///   - buildDate: an earlier time is no time.
  package init(waits: Bool, pause: PauseRecord?, buildDate: Timestamp) {
    self.waits = waits
    self.pause = pause
    self.buildDate = buildDate
  }

  /// Handles an input, and returns the effects in order.
  package mutating func handle(_ input: Input, at now: Moment) -> [Effect] {
    if case .over = state { return [] }
    switch input {
    case .launched: return [.readSettings]
    case .settingsRead(.valid): return use(mistake: nil)
    case .settingsRead(.missing(let what)): return wait(for: what, at: now.boot)
    case .settingsRead(.invalid(let mistakes)):
      self.mistakes = mistakes
      return [.readKeptSettings]
    case .keptSettingsRead(.usable): return use(mistake: mistakes)
    case .keptSettingsRead(.none): return fail(mistakes)
    case .keptSettingsRead(.missing(let why)): return wait(for: "\(mistakes)\n\(why)", at: now.boot)
    case .keptSettingsRead(.unusable(let why)): return fail("\(mistakes)\n\(why)")
    case .deadline:
      guard let time = nextDeadline, now.boot >= time else { return [] }
      nextDeadline = nil
      return [.readSettings]
    case .reload: return reload()
    case .request(let id, let request): return answer(request, id, at: now)
    case .pauseStored(let trouble):
      return pauses.isEmpty ? [] : [.respond(id: pauses.removeFirst(), .done(remark: trouble))]
    case .stop: return end(.exit(.stopped))
    }
  }

  // MARK: - What comes of reading

  private mutating func use(mistake: String?) -> [Effect] {
    let responses = reloads.map { Effect.respond(id: $0, .done(remark: nil)) }
    return responses + end(.use(mistake: mistake))
  }

  private mutating func fail(_ mistakes: String) -> [Effect] {
    let responses = reloads.map { Effect.respond(id: $0, .refused(mistakes)) }
    return responses + end(.exit(.configuration(mistakes)))
  }

  private mutating func end(_ effect: Effect) -> [Effect] {
    (state, nextDeadline, reloads) = (.over, nil, [])
    return [effect]
  }

  private mutating func wait(for what: String, at now: BootInstant) -> [Effect] {
    guard waits else { return fail(what) }
    let text = Startup.waitingPrefix + what
    var effects = [Effect.showStatus(text)]
    switch state {
    case .waiting(let end, _):
      effects += reloads.map { .respond(id: $0, .refused(text)) }
      reloads = []
      guard now < end else { return effects + [.event(.settingsAwaited(what))] + self.end(.exit(.unavailable)) }
      state = .waiting(until: end, for: what)
      if !isReload { interval = min(interval + interval, Startup.maxInterval) }
    default:
      state = .waiting(until: now + Startup.limit, for: what)
      effects = [.event(.settingsAwaited(what))] + effects + [.ready]
    }
    isReload = false
    nextDeadline = now + interval
    return effects
  }

  // MARK: - Requests

  private mutating func reload() -> [Effect] {
    guard nextDeadline != nil else { return [] }
    (nextDeadline, isReload) = (nil, true)
    return [.readSettings]
  }

  private mutating func answer(_ request: Daemon.Request, _ id: UInt64, at now: Moment) -> [Effect] {
    switch request {
    case .reload:
      reloads.append(id)
      return reload()
    case .drive(.pause):
      // A pause that began before stays as it is.
      guard pause == nil else { return [.respond(id: id, .done(remark: nil))] }
      return store(PauseRecord(since: now.wall < buildDate ? nil : now.wall), for: id)
    case .drive(.resume): return store(nil, for: id)
    case .status, .metrics, .drive(.offline), .drive(.online): return [.respond(id: id, .refused(reason))]
    }
  }

  private mutating func store(_ record: PauseRecord?, for id: UInt64) -> [Effect] {
    pause = record
    pauses.append(id)
    return [.storePause(record)]
  }

  /// Why there is no status yet.
  private var reason: String {
    if case .waiting(_, let what) = state { Startup.waitingPrefix + what } else { "The daemon is starting" }
  }
}
