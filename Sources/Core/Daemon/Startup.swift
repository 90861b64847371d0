// SPDX-License-Identifier: Apache-2.0
import Vehicle
import Observability
import Timekeeping

/// The daemon before it has settings: it reads them, waits for a file or credential that they name (a disk that is
/// mounted late, a credential that systemd provides at the next start), falls back to the kept settings, or ends.
///
/// During this time it answers on the control socket, and writes its metrics if the settings say where. A pause is
/// stored, and takes effect once there are settings.
struct Startup: Sendable {
  /// Interval between two readings of the settings: the first, and the maximum.
  private static let (firstInterval, maxInterval) = (Duration.seconds(5), Duration.seconds(60))
  /// systemd provides credentials only at a start, so the process ends after this time to be started again.
  private static let maximumWait = Duration.seconds(15 * 60)

  private enum State {
    case starting
    /// The settings were read; the daemon waits for `MissingSettings`, until this time at the latest.
    case waiting(until: BootInstant, for: MissingSettings)
    case over
  }

  private let waitsForSettings: Bool
  private let version: String
  private let buildDate: Timestamp
  private let startedAt: BootInstant
  private var state = State.starting
  private var interval = firstInterval
  /// What an earlier run has stored about a confirmation.
  private let confirmation: ConfirmationRecord?
  /// Why the settings of the files were reverted, while the kept ones are read in their place.
  private var revertReason: String?
  /// The kept settings cannot be used in place of those that were reverted.
  private var cannotRevert = false
  /// What is known about the settings that were read last.
  private var known = KnownSettings()
  /// The mistakes in the files, while the kept settings are read.
  private var mistakes = ""
  /// Whether a reload asked for the reading that is under way; such a reading leaves the intervals unchanged.
  private var isReload = false
  /// Requests that the reading under way answers.
  private var reloadRequests: [UInt64] = []
  /// The time for a confirmation that these requests ask for.
  private var confirmationLimit: Duration?
  /// Requests that `measured` answers.
  private var statusRequests: [UInt64] = []
  private(set) var pause: PauseRecord?
  /// Why the last change of the pause could not be stored; nil if it could.
  private(set) var pauseTrouble: String?
  /// For each change of the pause that is not on disk yet, the request for it.
  private var pauseRequests: [UInt64] = []

  /// Whether a client monitors.
  private(set) var isMonitored = false

  /// When to handle `deadline`; nil while nothing is waited for.
  private(set) var nextDeadline: BootInstant?

  /// The parameters are those of `Daemon`.
  init(
    waitsForSettings: Bool, version: String, buildDate: Timestamp, pause: PauseRecord?,
    confirmation: ConfirmationRecord?,
    at now: BootInstant
  ) {
    self.waitsForSettings = waitsForSettings
    self.confirmation = confirmation
    self.version = version
    self.buildDate = buildDate
    self.pause = pause
    startedAt = now
  }

  /// Handles an input, and appends the effects in order.
  ///
  /// - Returns: the settings with which the daemon runs from now on; nil if it does not run yet.
  mutating func handle(
    _ input: Daemon.Input, at now: Moment, _ effects: inout [Daemon.Effect]
  ) -> SettingsLifecycle.Prepared? {
    if case .over = state { return nil }
    switch input {
    case .launched: effects.append(.readSettings)
    case .settingsRead(.valid(let configuration, let holder)):
      guard let why = rejection(of: configuration) else { return use(configuration, holder) }
      revertReason = why
      effects.append(.readKeptSettings(isReverting: true))
    case .keptSettingsRead(let outcome) where revertReason != nil: return revert(outcome, &effects)
    case .settingsRead(.missing(let what, let known)): wait(for: what, known, at: now, &effects)
    case .settingsRead(.invalid(let mistakes)):
      self.mistakes = mistakes
      effects.append(.readKeptSettings(isReverting: false))
    case .settingsRead(.unusable(let why, let isMissing)): fail(why, isMissing: isMissing, &effects)
    case .keptSettingsRead(.read(.valid(var configuration, let holder))):
      // The kept settings are stored already.
      (configuration.settings.mistake, configuration.settingsText) = (mistakes, nil)
      return use(configuration, holder)
    case .keptSettingsRead(.none): fail(mistakes, &effects)
    case .keptSettingsRead(.read(.missing(let why, let known))):
      wait(for: "\(mistakes)\n\(why)", known, at: now, &effects)
    case .keptSettingsRead(.read(.invalid(let why))): fail("\(mistakes)\n\(why)", &effects)
    case .keptSettingsRead(.read(.unusable(let why, let isMissing))): fail(why, isMissing: isMissing, &effects)
    case .deadline:
      guard let time = nextDeadline, now.boot >= time else { break }
      nextDeadline = nil
      effects.append(.readSettings)
    case .reload: reload(&effects)
    case .request(let id, let request): answer(request, id, at: now, &effects)
    case .measured(let measurement): measured(measurement, at: now, &effects)
    case .unmonitored: isMonitored = false
    case .pauseStored(let trouble):
      pauseTrouble = trouble
      if let trouble { effects.append(.event(.pauseNotKept(trouble))) }
      if !pauseRequests.isEmpty { effects.append(.respond(id: pauseRequests.removeFirst(), .done(remark: trouble))) }
    case .vehicle(.stop): end(.stopped, &effects)
    case .vehicle(.directoryDeleted(let path, _)):
      effects.append(.event(.stopping(.directoryDeleted(path))))
      end(.restarting, &effects)
    // The other inputs need settings.
    case .vehicle, .start, .storeEnded, .driverRecordsFound, .dutyStored, .positionsUnmonitored, .watchdog, .sources,
      .line:
      break
    }
    return nil
  }

  // MARK: - The result of reading

  /// Why these settings may not be used; see `SettingsLifecycle.rejection`.
  func rejection(of configuration: Daemon.Configuration) -> String? {
    cannotRevert ? nil : SettingsLifecycle.rejection(of: configuration, by: confirmation)
  }

  private mutating func use(
    _ configuration: Daemon.Configuration, _ holder: VehicleHolder?
  ) -> SettingsLifecycle.Prepared {
    defer { (state, nextDeadline, reloadRequests) = (.over, nil, []) }
    return SettingsLifecycle.Prepared(
      configuration: configuration, holder: holder, requests: reloadRequests, confirmationLimit: confirmationLimit)
  }

  /// Uses the kept settings in place of those that were reverted; if they cannot be used, reads the files again, to use
  /// those.
  private mutating func revert(
    _ outcome: KeptSettingsOutcome, _ effects: inout [Daemon.Effect]
  ) -> SettingsLifecycle.Prepared? {
    defer { revertReason = nil }
    if case .read(.valid(var configuration, let holder)) = outcome {
      (configuration.settings.revertReason, configuration.settingsText) = (revertReason, nil)
      return use(configuration, holder)
    }
    let obstacle =
      if case .read(let other) = outcome { other.refusal ?? "" } else { "the previous ones are not stored" }
    cannotRevert = true
    effects += [.event(.settingsUnconfirmed(revertReason ?? "", obstacle: obstacle)), .readSettings]
    return nil
  }

  private mutating func fail(_ mistakes: String, isMissing: Bool = false, _ effects: inout [Daemon.Effect]) {
    effects += reloadRequests.map { .respond(id: $0, .refused(.settingsRefused, mistakes)) }
    end(.failed(mistakes, isMissing: isMissing), &effects)
  }

  private mutating func end(_ exit: Daemon.Exit, _ effects: inout [Daemon.Effect]) {
    (state, nextDeadline, reloadRequests) = (.over, nil, [])
    effects.append(.exit(exit))
  }

  private mutating func wait(
    for what: String, _ known: KnownSettings, at now: Moment, _ effects: inout [Daemon.Effect]
  ) {
    guard waitsForSettings else { return fail(what, &effects) }
    self.known = known
    let missing = MissingSettings(what)
    let isNew = missing != self.missing
    var end = now.boot + Startup.maximumWait
    if case .waiting(let before, _) = state { end = before } else { effects.append(.event(.settingsAwaited(what))) }
    effects.append(.showStatus(missing.sentence))
    if let path = known.metricsFile { effects.append(.writeMetrics(metrics, path: path)) }
    if case .waiting = state {
      effects += reloadRequests.map { .respond(id: $0, .refused(.settingsMissing, missing.sentence)) }
      (reloadRequests, confirmationLimit) = ([], nil)
      guard now.boot < end else {
        effects.append(.event(.settingsAwaited(what)))
        return self.end(.unavailable, &effects)
      }
      if !isReload { interval = min(interval + interval, Startup.maxInterval) }
    } else {
      effects.append(.ready)
    }
    state = .waiting(until: end, for: missing)
    if isNew { publishState(&effects) }
    isReload = false
    nextDeadline = now.boot + interval
  }

  // MARK: - Requests

  private mutating func reload(_ effects: inout [Daemon.Effect]) {
    guard nextDeadline != nil else { return }
    (nextDeadline, isReload) = (nil, true)
    effects.append(.readSettings)
  }

  private mutating func answer(
    _ request: Daemon.Request, _ id: UInt64, at now: Moment, _ effects: inout [Daemon.Effect]
  ) {
    switch request {
    case .reload, .confirmedReload:
      if case .confirmedReload(let time) = request { confirmationLimit = time }
      reloadRequests.append(id)
      reload(&effects)
    case .driverCommand(.pause):
      // A pause that has already begun is unchanged; storing it may have failed the first time.
      guard pause == nil || pauseTrouble != nil else { return effects.append(.respond(id: id, .done(remark: nil))) }
      store(pause ?? PauseRecord(since: now.wall < buildDate ? nil : now.wall), for: id, &effects)
    case .driverCommand(.resume): store(nil, for: id, &effects)
    case .driverCommand(.offline), .driverCommand(.online), .sendNow, .monitorPositions:
      effects.append(.respond(id: id, .refused(.settingsMissing, missing.sentence)))
    case .metrics: effects.append(.respond(id: id, .metrics(metrics)))
    case .monitor:
      isMonitored = true
      effects.append(.respond(id: id, .monitoring(MonitorItem.State(missing, pause: pause))))
    case .status:
      statusRequests.append(id)
      if statusRequests.count == 1 { effects.append(.measure) }
    }
  }

  private mutating func measured(_ measurement: Measurement, at now: Moment, _ effects: inout [Daemon.Effect]) {
    var report = StatusReport(missing, pause: pause)
    report.vehicle = known.vehicle
    report.version = version
    report.uptime = (now.boot - startedAt).wholeSeconds
    report.events = measurement.events
    report.monitors = measurement.monitors
    effects += statusRequests.map { .respond(id: $0, .status(report)) }
    statusRequests = []
  }

  private mutating func store(_ record: PauseRecord?, for id: UInt64, _ effects: inout [Daemon.Effect]) {
    let isNew = record != pause
    pause = record
    if isNew { publishState(&effects) }
    pauseRequests.append(id)
    effects.append(.storePause(record))
  }

  // MARK: - What is published

  private func publishState(_ effects: inout [Daemon.Effect]) {
    if isMonitored { effects.append(.monitor(.state(MonitorItem.State(missing, pause: pause)))) }
  }

  private var metrics: String {
    MetricsText.withoutSettings(
      provider: known.provider, vehicle: known.vehicle, version: version, isPaused: pause != nil)
  }

  /// What is missing.
  private var missing: MissingSettings {
    if case .waiting(_, let missing) = state { missing } else { MissingSettings("the settings are not read yet") }
  }
}
