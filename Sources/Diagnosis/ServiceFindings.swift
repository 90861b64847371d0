// SPDX-License-Identifier: Apache-2.0
import Reporting
import ExternalInput
import LocationDaemon
package import MessageBus
package import Observability
import Release
import SystemCalls
import Timekeeping

/// Findings about the running service: the state of its unit, and the status that the daemon reports.
///
/// If none of them is a failure, an update has been accepted within the last two heartbeats, or the vehicle is paused
/// by command.
package enum ServiceFindings {
  /// What the daemon answered.
  package enum DaemonResponse: Equatable, Sendable {
    case status(StatusReport)
    /// No response: why, and what to do. `socket` is the control socket if nothing listens at it, otherwise nil.
    case noResponse(String, advice: String, socket: String? = nil)
  }

  /// - Parameters:
  ///   - unit: nil when no installed service reads these settings.
  ///   - outdated: the names of the credentials that have changed since the service was started.
  ///   - exposed: the files of credentials that every user can read.
  ///   - faults: of the files of credentials.
  ///   - vehicle: the vehicle's ID in the settings file; nil when that cannot be read.
  ///   - hash: of the settings in the files; nil when they cannot be read.
  ///   - heartbeat: of the settings file, for a daemon that does not report its own.
  package static func findings(
    unit: Result<ServiceStatus, MessageBusError>?, outdated: [String] = [], exposed: [String] = [],
    faults: [CredentialFault] = [],
    daemon: DaemonResponse, vehicle: String?, hash: String? = nil, heartbeat: Duration
  ) -> [Finding] {
    var findings: [Finding] = []
    var daemon = daemon
    switch (unit, daemon) {
    case (.success(let status), .noResponse(_, _, let socket)):
      findings += self.findings(status, outdated, exposed, faults)
      // After a failure of the unit, a daemon that does not answer is only a consequence.
      if findings.contains(where: { $0.severity == .fail }) { return findings }
      if let socket { daemon = .noResponse(unreachable(status.unit, socket), advice: unreachableAdvice(status.unit)) }
    case (.success(var status), .status):
      // The daemon itself reports what it waits for.
      if status.text.hasPrefix(MissingSettings.prefix) { status.text = "" }
      findings += self.findings(status, outdated, exposed, faults).map(\.downgradedToWarning)
    case (.failure(let error), _):
      findings.append(
        .warn(.systemdUnreachable, error.message, "Without systemd only the daemon's own response can be checked"))
    case (nil, _): break
    }
    switch daemon {
    case .noResponse(let why, let advice, _): findings.append(.fail(.daemonUnreachable, why, advice))
    case .status(let report): findings += self.findings(report, vehicle, hash, heartbeat)
    }
    return findings
  }

  /// Whether updates are accepted, from the daemon's response alone, for `status --healthy`.
  ///
  /// - Returns: whether an update has been accepted within the last two heartbeats or the vehicle is paused by command,
  ///   and the reason as one sentence without its full stop.
  package static func health(_ report: StatusReport) -> (isHealthy: Bool, sentence: String) {
    let findings = delivery(report, ReportingPolicy.Configuration().heartbeat)
    return (
      findings.allSatisfy { $0.severity != .fail }, findings.map(\.sentence).joined(separator: ", ")
    )
  }

  /// The unit runs, and nothing listens at its control socket.
  static func unreachable(_ unit: String, _ socket: String) -> String {
    "\(unit) runs, but nothing listens at \(socket): it is just starting or stopping, this file was deleted, or the unit "
      + "has another RuntimeDirectory="
  }

  static func unreachableAdvice(_ unit: String) -> String {
    "Ask again in half a minute: the daemon notices a deleted file or directory; if this persists: systemctl restart \(unit)"
  }

  /// Whether the daemon has just started, so that its first update may still follow.
  package static func isStarting(_ daemon: DaemonResponse) -> Bool {
    guard case .status(let report) = daemon else { return false }
    return !report.isPaused && report.lastUpdate == nil && report.state?.level != "bad"
      && report.uptime ?? .max < startTimeout.wholeSeconds
  }

  /// Maximum time from the start to the first update.
  package static let startTimeout = Duration.seconds(30)

  // MARK: - The unit

  private static func findings(
    _ status: ServiceStatus, _ outdated: [String], _ exposed: [String], _ faults: [CredentialFault]
  ) -> [Finding] {
    var findings = [state(status, faults)]
    if status.needsReload {
      findings.append(
        .warn(
          .unitChanged, "\(status.unit): its files have changed since systemd read them",
          "systemctl daemon-reload && systemctl restart \(status.unit)"))
    }
    for name in outdated {
      findings.append(
        .warn(
          .credentialChanged, "the credential \(name) \(ServiceCredentials.outdatedClause)",
          "systemctl restart \(status.unit)"))
    }
    for file in exposed {
      findings.append(.warn(.credentialExposed, "\(file) \(ServiceCredentials.exposedClause)", "chmod 600 \(file)"))
    }
    if status.load == "loaded", status.file == "disabled" {
      findings.append(
        .warn(.unitDisabled, "\(status.unit) is not started at boot (disabled)", "systemctl enable \(status.unit)"))
    }
    return findings
  }

  static func state(_ status: ServiceStatus, _ faults: [CredentialFault] = []) -> Finding {
    let unit = status.unit
    switch (status.load, status.active, status.sub) {
    case ("not-found", _, _):
      return .fail(
        .unitMissing, "systemd has no unit \(unit)", "Install the package fleet-locationd; systemctl daemon-reload")
    case ("masked", _, _): return .fail(.unitMasked, "\(unit) is masked", "systemctl unmask \(unit)")
    case ("loaded", "active", _), ("loaded", "reloading", _): return running(status)
    case ("loaded", "activating", "auto-restart"):
      let end = ServiceEnd(status, faults: faults)
      // systemd counts a restart when it begins.
      let restarts =
        status.restarts == 0
        ? "is about to be restarted" : "is in a restart loop, \(status.restarts.counted("restart")) so far"
      return .fail(
        .unitRestarts, "\(unit) \(restarts): its last run ended with \(end.cause)\(endMessage(status))", end.advice)
    case ("loaded", "activating", _):
      return .fail(.unitStarting, "\(unit) is starting (\(status.sub))", "Wait some seconds, and ask again")
    case ("loaded", "deactivating", _):
      return .fail(.unitStopping, "\(unit) is being stopped (\(status.sub))", "Start it again: systemctl start \(unit)")
    case ("loaded", "failed", _):
      let end = ServiceEnd(status, faults: faults)
      return .fail(.unitFailed, "\(unit) has failed: it ended with \(end.cause)\(endMessage(status))", end.advice)
    case ("loaded", _, _):
      guard status.isConditionMet, status.result != "exec-condition" else {
        return .fail(
          .noSettings,
          "\(unit) was not started: its settings file did not exist, or another condition of the unit was not met",
          "systemctl status \(unit) shows which. If there are no settings, write them, then: systemctl start \(unit)")
      }
      return .fail(.unitInactive, "\(unit) is not running (\(status.active))", "systemctl enable --now \(unit)")
    default:
      return .fail(
        .unitBroken, "\(unit) cannot be loaded (\(status.load))", "systemctl status \(unit) shows the mistake")
    }
  }

  private static func running(_ status: ServiceStatus) -> Finding {
    if status.text.hasPrefix(MissingSettings.prefix) {
      return .fail(
        .settingsIncomplete, "\(status.unit) sends nothing: \(status.text)",
        "The daemon checks again every 5 s to 60 s; a new credential needs systemctl restart \(status.unit)")
    }
    guard status.restarts > 0 else { return .pass("\(status.unit) runs") }
    // systemd counts restarts, but does not record why the previous run ended.
    let times = status.restarts == 1 ? "once" : "\(status.restarts) times"
    return .warn(
      .unitRestarted, "\(status.unit) runs, and systemd has restarted it \(times)",
      "\(status.journalCommand) -p warning has the reasons")
  }

  /// The error with which the daemon ended, from its last status text; empty if there is none.
  private static func endMessage(_ status: ServiceStatus) -> String {
    let prefix = DaemonError.statusPrefix
    return status.text.hasPrefix(prefix) ? ": \(status.text.dropFirst(prefix.count))" : ""
  }

  // MARK: - The daemon

  private static func findings(
    _ report: StatusReport, _ vehicle: String?, _ hash: String?, _ heartbeat: Duration
  ) -> [Finding] {
    var findings: [Finding] = []
    if let vehicle, let own = report.vehicle, own != vehicle {
      findings.append(
        .warn(
          .otherVehicle, "the daemon reports vehicle \(own), but the settings name \(vehicle)",
          "Reload the settings: fleet-locationctl reload"))
    }
    if let mistake = report.settings?.mistake {
      findings.append(
        .fail(
          .settingsMistake,
          "the settings files have a mistake, and the daemon uses the last settings that worked: "
            + SettingsStatus.summary(of: mistake), "Correct it, then: fleet-locationctl reload"))
    } else if let why = report.settings?.takenBack {
      findings.append(
        .fail(
          .settingsTakenBack,
          "the settings of the files were reverted, and the last settings that worked are in force: \(why)",
          "Correct them, then: fleet-locationctl reload --confirm 10min; without a change they are not tried again"))
    } else if let why = report.settings?.unconfirmed {
      findings.append(
        .fail(
          .settingsUnconfirmed, "the new settings are not confirmed: \(why)",
          "Correct them, then: fleet-locationctl reload --confirm 10min"))
    } else if let confirmation = report.settings?.confirmation {
      findings.append(
        .warn(
          .settingsUnconfirmed, confirmation.sentence,
          "Wait for it: fleet-locationctl status has the result"))
    } else if let mistake = report.settings?.lastReload?.mistake {
      findings.append(
        .warn(
          .reloadFailed,
          "the last reload failed, and the previous settings are in force: \(SettingsStatus.summary(of: mistake))",
          "Correct it, then: fleet-locationctl reload"))
    } else if findings.isEmpty, let hash, let settings = report.settings, !settings.isKept, settings.hash != hash {
      // Another vehicle is already reported.
      findings.append(
        .warn(
          .settingsNotLoaded,
          "the settings files were changed, and the daemon does not use them yet: the findings above are about the "
            + "files",
          "Load them: fleet-locationctl reload --confirm 10min"))
    }
    if let version = report.version, version != Release.version {
      findings.append(
        .warn(
          .releaseDiffers, "the daemon runs release \(version), and \(Release.version) is installed",
          "Restart the service"))
    }
    if let trouble = report.backlog.storeTrouble {
      findings.append(
        .warn(
          .memoryOnly, "queued positions are in memory only: \(trouble)",
          "Correct this; until then a power cut would lose them")
      )
    }
    findings += driver(report)
    for line in report.lines ?? [] {
      if let senders = line.senders {
        let names = senders.map { $0.isUsed ? "\($0.address), which is used" : $0.address }
        findings.append(.pass("\(line.source): senders \(names.joined(separator: "; "))"))
      }
      for warning in line.senderWarnings {
        findings.append(
          .warn(.senderRefused, "\(line.source): \(warning.sentence.text)", (warning.advice ?? "").sentenceCase))
      }
      guard let trouble = line.trouble else { continue }
      findings.append(
        .warn(
          .wrongChecksums, "\(line.source): \(trouble)",
          "Check the plugs, the cable's length and its shield: \(ManualPage.receivers)"))
    }
    if report.isOnline, let form = report.updateForm, let reason = form.reason, !form.isSet {
      findings.append(
        .warn(
          .plainUpdates,
          "updates need nearly half as much data again as necessary: they are \(form.form), because \(reason)",
          "Positions arrive. Check what is between the box and Fleet Engine: a gateway may refuse compressed requests"))
    }
    return findings + unusable(report) + delivery(report, heartbeat)
  }

  /// Findings about the driver's commands, which a restart does not undo.
  private static func driver(_ report: StatusReport) -> [Finding] {
    var findings: [Finding] = []
    if let trouble = report.pauseTrouble {
      findings.append(
        .fail(
          .pauseUnreadable, trouble,
          "Correct it, then: fleet-locationctl \(report.isPaused ? "pause or resume" : "resume")"))
    }
    if let trouble = report.dutyTrouble {
      findings.append(.fail(.dutyUnreadable, trouble, "Correct it, then: fleet-locationctl online, or offline"))
    }
    if report.duty == "OFFLINE", !report.isPaused {
      let since = report.offDutySince.map { " since \($0)" } ?? ""
      findings.append(
        report.isOfflinePending == true
          ? .warn(
            .offlinePending,
            "off duty by command\(since), but Fleet Engine has not accepted yet that the vehicle is OFFLINE",
            "OFFLINE is repeated until it is accepted; fleet-locationctl explain says what it waits for")
          : .pass("off duty by command\(since): the vehicle is OFFLINE until fleet-locationctl online"))
    }
    return findings
  }

  private static func delivery(_ report: StatusReport, _ heartbeat: Duration) -> [Finding] {
    // Earlier releases report no state.
    let (problem, advice) = (
      report.state.map { $0.label + $0.detail } ?? report.summary,
      report.state?.advice ?? "fleet-locationctl explain, and \(ManualPage.troubleshooting)"
    )
    if report.isPaused, report.state?.level != "bad" {
      let since = report.pausedSince.map { " since \($0)" } ?? ""
      // If a source is in use, `sourceTrouble` says why the source is not read.
      let unread = report.source == nil ? "" : report.sourceTrouble.map { "; the receiver is \($0)" } ?? ""
      // While OFFLINE is pending there is something to do.
      return report.state?.advice == nil
        ? [.pass("paused by command\(since): no position is sent until fleet-locationctl resume\(unread)")]
        : [.warn(.offlinePending, problem, advice)]
    }
    if report.lacksSettings { return [.fail(.settingsIncomplete, problem, advice)] }
    if report.state?.isVehicleInUse == true { return [.fail(.notSending, problem, advice)] }
    let limit = (report.heartbeat.map { Duration.seconds($0) } ?? heartbeat) * 2
    guard let age = report.lastUpdate.map({ Duration.seconds($0) }), age <= limit else {
      let time =
        report.lastUpdate.map { "for \(Duration.seconds($0).humanReadable)" }
        ?? report.uptime.map { "since the daemon started \(Duration.seconds($0).humanReadable) ago" } ?? "yet"
      return [.fail(.noUpdate, "Fleet Engine has accepted no update \(time): \(problem)", advice)]
    }
    let accepted = Finding.pass("Fleet Engine accepted an update \(age.humanReadable) ago")
    guard report.isOnline, report.state?.level != "bad" else {
      return [accepted, .warn(.notSending, "but now: \(problem)", advice)]
    }
    guard report.withoutFix != nil || report.state?.cause == "held" else { return [accepted] }
    return [accepted, .warn(.noFix, "but with an earlier position: \(problem)", advice)]
  }

  /// Sources that cannot be used now, while another one is. In the first minute they may still be starting.
  private static func unusable(_ report: StatusReport) -> [Finding] {
    guard !report.isPaused, report.uptime ?? .max >= 60, let sources = report.sources,
      let used = sources.firstIndex(where: \.isUsed)
    else { return [] }
    return sources.indices.filter { ["searching", "lost"].contains(sources[$0].condition) && $0 != used }.map { index in
      .warn(
        .sourceUnusable,
        "\(sources[used].name) is used, and "
          + (index < used ? "not one of higher priority: " : "one in reserve cannot be: ") + sources[index].explanation,
        "\(ManualPage.receivers) says what to do for each kind of receiver")
    }
  }
}

extension Finding {
  /// The finding about a unit whose daemon answers: a failure becomes a warning, because the daemon runs.
  fileprivate var downgradedToWarning: Finding {
    guard severity == .fail, let advice else { return self }
    return .warn(code, "\(sentence), although a daemon answers", advice)
  }
}
