// SPDX-License-Identifier: Apache-2.0
import Daemon
import Vehicle
import Observability
import Timekeeping

/// The installation on the machine: settings, credentials and directories; and requests to the daemon.
struct Installation {
  /// One of the successive contents of the settings files.
  struct Edition: Equatable {
    var number = 0
    /// Whether the token provider does not know the vehicle.
    var isTokenWrong = false

    /// The part of the token provider's URL that differs between editions.
    var path: String { (isTokenWrong ? "wrong" : "token") + (number == 0 ? "" : "\(number)") }

    func parts(of vehicle: String) -> SettingsParts {
      SettingsParts(all: "\(vehicle)/\(number)", destination: vehicle, token: path)
    }
  }

  /// The vehicle and the edition of the last working settings; nil if none are stored.
  var keptVehicle: String?
  var keptEdition = Edition()
  /// The edition of the settings files, and the edition of the settings that are in force or about to be.
  var edition = Edition()
  var inForce = Edition()
  /// The editions in the order of their numbers.
  var editions = [Edition()]
  /// The stored state of a confirmation.
  var confirmation: String?
  /// When the settings came into force, and the number of restarts since.
  var forceSince = BootInstant.boot
  var forceRestarts = 0
  /// The number of times that each edition came into force, by its number; others may have been in force in between.
  var activations: [Int: Int] = [:]
  /// The previous settings, when they came into force, and the number of restarts while they were in force.
  var previous: (edition: Edition, since: BootInstant, restarts: Int)?
  var confirmationLimit: Duration?
  /// The settings that were rolled back last, with their vehicle.
  var rejected: String?
  /// Why nothing can be stored in the daemon's directory; nil if it exists.
  var directoryTrouble: String?
  /// Whether the unit has failed: it starts again when the settings change.
  var hasFailed = false
  /// When the daemon got its first settings after its last start.
  var ranAt = BootInstant.boot
  /// The time since which the daemon could have settings; nil if it cannot, or has them.
  var usableSince: BootInstant?
  var lastRequest: UInt64 = 0
  /// Requests without a response.
  var requests: [UInt64: Daemon.Request] = [:]
}

extension World {
  // MARK: - Settings

  private func isActive(_ matches: (Fault.Kind) -> Bool) -> Bool { scenario.isActive(at: second, matches) }

  /// The fault of the settings files, or of a credential that they name; nil: none.
  var settingsFault: SettingsOutcome? {
    guard scenario.hasInstallationFaults else { return nil }
    for fault in scenario.faults where fault.place == .settings && fault.isActive(at: second) {
      switch fault.kind {
      case .settingsWrong: return .invalid("x.toml:3:1: reporting.intervall: is not a setting")
      case .settingsUnreadable: return .invalid("x.toml: may not be read")
      case .settingsDeleted: return .invalid("x.toml: there is no such file")
      case .settingsUnusable: return .unusable("token.client_certificate: is not a certificate", isMissing: false)
      default: break
      }
    }
    let known = KnownSettings(provider: "provider", vehicle: settingsVehicle, metricsFile: "fleet_locationd.prom")
    return isActive { if case .credentialMissing = $0 { true } else { false } }
      ? .missing("token.headers.Authorization: the credential is missing", known: known) : nil
  }

  func readKeptSettings(isReverting: Bool) {
    guard !isReverting else {
      let isMissing = isActive { if case .credentialMissing = $0 { true } else { false } }
      let kept = installation.keptVehicle.map {
        isMissing
          ? SettingsOutcome.missing("the credential is missing") : validSettings(of: $0, installation.keptEdition)
      }
      return pass(.keptSettingsRead(kept.map { .read($0) } ?? .none))
    }
    let concernsVehicle = isActive {
      if case .settingsWrong(mayConcernVehicle: true) = $0 { return true }
      if case .settingsDeleted = $0 { return true }
      return false
    }
    if settingsFault == nil { violate("kept settings are read, and the files have no mistake") }
    let outcome: KeptSettingsOutcome
    if let kept = installation.keptVehicle {
      if concernsVehicle || kept != settingsVehicle {
        outcome = .read(.invalid("The kept settings are not used: they differ"))
      } else if isActive({ if case .credentialMissing = $0 { true } else { false } }) {
        outcome = .read(.missing("the credential is missing"))
      } else {
        outcome = .read(validSettings(of: kept, installation.keptEdition))
      }
    } else {
      outcome = .none
    }
    pass(.keptSettingsRead(outcome))
  }

  func storeSettings(_ text: String) {
    if text != installation.inForce.parts(of: vehicle).all {
      violate("the settings \(text) are stored, and others are in force")
    }
    if installation.directoryTrouble == nil {
      (installation.keptVehicle, installation.keptEdition) = (vehicle, installation.inForce)
    }
  }

  // MARK: - The confirmation

  func edit(isTokenWrong: Bool) {
    installation.edition = Installation.Edition(number: installation.editions.count, isTokenWrong: isTokenWrong)
    installation.editions.append(installation.edition)
  }

  func storeConfirmation(_ text: String?) {
    if installation.directoryTrouble == nil { installation.confirmation = text }
    guard let words = text?.split(separator: "\n")[1].split(separator: " "), words[0] == "taken-back" else { return }
    installation.rejected = String(words[1])
    // `begin` was already called for the previous settings, so `installation.previous` has the reverted ones.
    guard let before = installation.previous, let limit = installation.confirmationLimit else {
      return violate("settings that need no confirmation are reverted")
    }
    if !before.edition.isTokenWrong, !hasOtherFaults { violate("settings that work are reverted") }
    // Each restart may cost one of the ten-second steps in which the elapsed time is stored.
    let (since, restarts) = (before.since, before.restarts)
    if installation.activations[before.edition.number] ?? 1 < 2, now - since < limit - .seconds(10) * (restarts + 1) {
      violate("settings are reverted after \((now - since).inSeconds) s")
    }
  }

  /// Whether anything but the settings may have prevented updates.
  private var hasOtherFaults: Bool { scenario.faults.contains { $0.place != .settings } }

  /// Settings are about to be used.
  func begin(_ parts: SettingsParts) {
    guard let number = parts.all.split(separator: "/").last.flatMap({ Int($0) }),
      installation.editions.indices.contains(number)
    else { return }
    guard installation.inForce != installation.editions[number] else { return }
    installation.previous = (installation.inForce, installation.forceSince, installation.forceRestarts)
    installation.activations[number, default: 0] += 1
    installation.inForce = installation.editions[number]
    (installation.forceSince, installation.forceRestarts) = (now, 0)
  }

  /// Whether the daemon refuses these settings, because they were rolled back.
  func areRejected(_ new: Daemon.Configuration, _ input: Daemon.Input) -> Bool {
    guard case .settingsRead = input, new.parts.all == installation.rejected, let text = installation.confirmation
    else { return false }
    return text.contains("taken-back \(new.parts.all) ") && installation.keptVehicle != nil
  }

  func checkConfirmation(_ event: Event) {
    switch event {
    case .confirmationAwaited(let limit, _): installation.confirmationLimit = limit
    case .settingsConfirmed:
      if installation.inForce.isTokenWrong { violate("settings without a token are confirmed") }
    default: break
    }
  }

  // MARK: - The unit

  /// The process has ended without having had settings.
  func end(_ exit: Daemon.Exit) {
    switch exit {
    case .stopped:
      finishedAt = now
    case .restarting, .unavailable: cutPower(for: 2, isOfPower: false)
    case .failed:
      guard settingsFault != nil else { return violate("the process ends with status 78, and the settings are valid") }
      installation.hasFailed = true
      cutPower(for: 2, isOfPower: false)
    }
  }

  /// Whether systemd starts the service now; otherwise it does when the settings change.
  var isStartable: Bool {
    guard scenario.hasInstallationFaults else { return true }
    let isDeleted = isActive { if case .settingsDeleted = $0 { true } else { false } }
    guard installation.hasFailed || isDeleted else { return true }
    // Each change of the settings files causes a new attempt to start the service.
    let next = scenario.faults.filter { $0.place == .settings && Double($0.until) > second }.map(\.until).min()
    installation.hasFailed = false
    if isDeleted || settingsFault != nil, let next {
      queue.schedule(.powerReturns, at: World.time(next) + .seconds(2))
      return false
    }
    return !isDeleted
  }

  // MARK: - The directory

  /// The store's directory is deleted with its contents.
  func deleteDirectory(noticedAfter time: Duration) {
    installation.directoryTrouble = "/var/lib/fleet-locationd: there is no such directory"
    (installation.keptVehicle, installation.confirmation) = (nil, nil)
    (storedUpdateForm, published.traffic) = (nil, nil)
    deleteStore()
    queue.schedule(.deletionNoticed(runNumber: runNumber), at: now + time)
  }

  func noticeDeletion() {
    handle(.directoryDeleted("/var/lib/fleet-locationd", within: .seconds(8)))
  }

  /// systemd creates the directory again for the next process, without its previous contents.
  func restoreDirectory() {
    guard installation.directoryTrouble != nil else { return }
    installation.directoryTrouble = nil
    // Until now, the pause and the duty were in force, but not stored.
    (pauseNote, dutyNote) = (nil, nil)
    if let began = pausedAt { inactiveSpans.append(began...now) }
    (pausedAt, offlineSince, offlineSettledAt) = (nil, nil, nil)
  }

  // MARK: - Requests

  func ask(_ request: Daemon.Request) {
    installation.lastRequest += 1
    installation.requests[installation.lastRequest] = request
    coverage.acts.cover(ActCase(.ask(request)))
    switch request {
    case .reload, .confirmedReload: mayReadSettings = true
    default: break
    }
    pass(.request(id: installation.lastRequest, request))
  }

  func answered(_ id: UInt64, _ response: Daemon.Response) {
    guard let request = installation.requests.removeValue(forKey: id) else {
      return violate("a response that was not asked for")
    }
    switch (request, response) {
    case (.status, .status(let report)):
      if report.lacksSettings == isRunning { violate("the status says \(report.summary)") }
      if isRunning, report.vehicle != vehicle { violate("the status is of \(report.vehicle ?? "no vehicle")") }
      if report.isPaused != (pausedAt != nil) { violate("the status says that the pause is \(report.isPaused)") }
    case (.metrics, .metrics), (.monitor, .monitoring): break
    case (.reload, .done), (.confirmedReload, .done):
      if vehicle != settingsVehicle { violate("a reload succeeds, and the vehicle is still \(vehicle)") }
      if installation.inForce != installation.edition { violate("a reload succeeds, and other settings are in force") }
    case (.reload, .refused(_, let why)), (.confirmedReload, .refused(_, let why)):
      let isStopping = daemon.run?.vehicle.lifecycle.isRunning == false
      let isRejected =
        installation.confirmation?.contains("taken-back \(installation.edition.parts(of: settingsVehicle).all) ")
        == true
      if settingsFault == nil, !isStopping, !isRejected {
        violate("a reload is refused, and the settings are valid: \(why)")
      }
    case (.driverCommand, .done), (.driverCommand(.offline), .refused), (.driverCommand(.online), .refused): break
    case (.sendNow, .done), (.sendNow, .refused): break
    case (.monitorPositions, .monitoringPositions), (.monitorPositions, .refused(.stopping, _)): break
    case (.driverCommand, .refused(_, let why)):
      if daemon.run?.vehicle.lifecycle.isRunning == true { violate("\(request) is refused: \(why)") }
    default: violate("\(request) is answered with \(response)")
    }
  }

  /// Checks that each request is answered at once: no response depends on a slow operation here.
  func checkAnswers() {
    guard !installation.requests.isEmpty else { return }
    if !isOff, finishedAt == nil { violate("\(installation.requests.values) is not answered") }
    installation.requests = [:]
  }

  /// Checks once a second that the daemon has settings soon after it can have them, and until then reports that it has
  /// none.
  func checkWaiting() {
    guard scenario.hasInstallationFaults, !isOff, finishedAt == nil, !isRunning else {
      return installation.usableSince = nil
    }
    if let statusAt = published.statusAt, now - statusAt > .seconds(61) {
      violate("the status line is \((now - statusAt).inSeconds) s old, and the daemon waits")
    }
    guard settingsFault == nil else { return installation.usableSince = nil }
    let since = max(installation.usableSince ?? now, resumedAt)
    installation.usableSince = since
    if now - since > .seconds(61) {
      violate("the settings have been valid for \((now - since).inSeconds) s, and the daemon waits")
    }
  }

  /// Checks at the end of a run that the daemon uses the vehicle of the settings, or has a reason to wait for settings.
  func checkSettings() {
    guard scenario.hasInstallationFaults, !isOff, finishedAt == nil else { return }
    guard isRunning else { return checkWaiting() }
    if daemon.run?.vehicle.snapshot(at: moment).vehicle != vehicle { violate("another vehicle runs than \(vehicle)") }
  }
}
