// SPDX-License-Identifier: Apache-2.0
package import Configuration
package import EventLoop
import ExternalInput
package import SystemCalls
package import Timekeeping

/// Runs the checks one after another, reports their findings, and counts them.
@MainActor package struct Doctor {
  /// What the checks need to know about the machine and the service.
  package struct Environment {
    /// The loop that the checks run while they wait.
    package var loop: EventLoop
    /// The user of the service; nil if it does not exist on this machine.
    package var serviceUser: UserAccount?
    /// The user of this process.
    package var currentUser: UserAccount
    /// The build date of this program: a clock that shows an earlier time is wrong.
    package var buildDate: Timestamp
    /// The service's unit; nil when no unit of the package reads the settings.
    package var unit: String?
    /// Whether a daemon runs with these settings, or may run without an answer. If so, the checks do not open the
    /// receiver: the daemon opens it again repeatedly while it is silent or unplugged, and would find it in use.
    package var isDaemonRunning: Bool
    /// The option that names the settings in a command, with a leading space; empty if the command needs none.
    package var settingsOption = ""
    /// How far this machine's clock is ahead according to the daemon; nil if it does not say.
    package var clockError: Duration?
    /// What only root can see, passed to this process when it runs as the service.
    package var rootObservations: RootObservations?

    package init(
      loop: EventLoop, serviceUser: UserAccount?, currentUser: UserAccount, buildDate: Timestamp,
      unit: String? = nil, isDaemonRunning: Bool, clockError: Duration? = nil, rootObservations: RootObservations? = nil
    ) {
      self.loop = loop
      self.serviceUser = serviceUser
      self.currentUser = currentUser
      self.buildDate = buildDate
      self.unit = unit
      self.isDaemonRunning = isDaemonRunning
      self.clockError = clockError
      self.rootObservations = rootObservations
    }
  }

  /// What a check is about. The raw values are part of `doctor --json` and do not change.
  package enum Subject: String, CaseIterable, Sendable {
    case settings, source, token, fleetEngine, service
    /// Whether systemd can start a process with the properties of the service.
    case start
  }

  /// A part of the report.
  package enum Part: Equatable, Sendable {
    /// The heading of a check.
    case title(String, Subject)
    case finding(Finding)
    /// The number of findings, and on a line of its own the cause: the first failure, because later checks depend on
    /// what the earlier ones check.
    case summary(String, cause: String?)

    /// The same part with other words.
    package func rewording(_ reword: (String) -> String) -> Part {
      switch self {
      case .title: self
      case .finding(let finding): .finding(finding.rewording(reword))
      case .summary(let counts, let cause): .summary(counts, cause: cause.map(reword))
      }
    }
  }

  private let report: (Part) -> Void
  private var counts: [Finding.Severity: Int] = [:]
  private var cause: String?

  /// - Parameter report: receives each part as soon as it is known.
  package init(report: @escaping (Part) -> Void) {
    self.report = report
  }

  /// The checks for these settings. A new check is added here.
  package static func checks(for settings: Settings, in environment: Environment) -> [any Check] {
    let count = settings.sources.count
    let sources = settings.sources.enumerated().map { index, source in
      check(source.kind, name: count > 1 ? "Source \(index + 1) of \(count)" : "Source", in: environment)
    }
    let token = FetchedToken()
    return sources + [
      TokenCheck(settings: settings, environment: environment, token: token),
      FleetEngineCheck(settings: settings, environment: environment, token: token),
    ]
  }

  /// The check for a kind of source.
  ///
  /// - Parameter name: begins the title.
  private static func check(_ kind: SourceKind, name: String, in environment: Environment) -> any Check {
    switch kind {
    case .serial(let serial): SerialCheck(name: name, settings: serial, environment: environment)
    case .gpsd(let gpsd): GPSDCheck(name: name, settings: gpsd, environment: environment)
    case .nmeaTCP(let tcp):
      NMEANetworkCheck(name: name, kind: kind, endpoint: NMEANetworkCheck.Endpoint(tcp), environment: environment)
    case .nmeaUDP(let udp):
      NMEANetworkCheck(name: name, kind: kind, endpoint: NMEANetworkCheck.Endpoint(udp), environment: environment)
    case .modemManager(let modem): ModemManagerCheck(name: name, settings: modem, environment: environment)
    case .simulated(let simulated): RouteCheck(name: name, settings: simulated)
    case .replay(let replay): RecordingCheck(name: name, file: replay.file)
    }
  }

  /// Runs one check under its title.
  package mutating func run(_ check: any Check) {
    var found: [Finding] = []
    report(.title(check.title, check.subject))
    check.run { finding in
      found.append(finding)
      report(.finding(finding))
    }
    for finding in found { counts[finding.severity, default: 0] += 1 }
    // The title says what "it" refers to.
    let first = found.first { $0.severity == .fail }?.sentence
    cause = cause ?? first.map { $0.split { !$0.isLetter }.contains("it") ? "\(check.title): \($0)" : $0 }
  }

  /// Whether no check failed.
  package var hasNoFailure: Bool { counts[.fail, default: 0] == 0 }

  /// Ends the report.
  package func finish() {
    func count(_ severity: Finding.Severity) -> Int { counts[severity, default: 0] }
    let warnings = count(.warn).counted("warning")
    report(.summary("\(count(.pass)) passed, \(warnings), \(count(.fail)) failed", cause: cause))
  }
}
