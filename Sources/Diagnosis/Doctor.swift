// SPDX-License-Identifier: Apache-2.0
package import Configuration
package import EventLoop
package import SystemCalls
package import Timekeeping

/// Runs the checks one after another, prints their findings, and counts them.
@MainActor package struct Doctor {
  /// What the checks need to know about the machine and the service.
  package struct Environment {
    /// The checks run it while they wait.
    package var loop: EventLoop
    /// The user of the service; nil if it does not exist on this machine.
    package var serviceUser: UserAccount?
    /// The user of this process.
    package var currentUser: UserAccount
    /// A clock that shows an earlier time is wrong.
    package var buildDate: Timestamp
    /// Whether a daemon runs with these settings. If so, the checks do not open the receiver: the daemon opens it again
    /// repeatedly while it is silent or unplugged, and would find it in use.
    package var isDaemonRunning: Bool
    /// What only root can see, passed to this process when it runs as the service.
    package var rootView: RootView?

    package init(
      loop: EventLoop, serviceUser: UserAccount?, currentUser: UserAccount, buildDate: Timestamp,
      isDaemonRunning: Bool, rootView: RootView? = nil
    ) {
      self.loop = loop
      self.serviceUser = serviceUser
      self.currentUser = currentUser
      self.buildDate = buildDate
      self.isDaemonRunning = isDaemonRunning
      self.rootView = rootView
    }
  }

  private let print: (String) -> Void
  private var counts: [Finding.Severity: Int] = [:]

  /// - Parameter print: receives each line, with its line end, as soon as it is known.
  package init(print: @escaping (String) -> Void) {
    self.print = print
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
    var found: [Finding.Severity] = []
    print("\(check.title)\n")
    check.run { finding in
      found.append(finding.severity)
      print("\(finding.text)\n")
    }
    for severity in found { counts[severity, default: 0] += 1 }
  }

  /// Whether no check failed.
  package var hasNoFailure: Bool { counts[.fail, default: 0] == 0 }

  /// The last line, with its line end.
  package var summary: String {
    let words = [(Finding.Severity.pass, "passed"), (.warn, "warnings"), (.fail, "failed")]
    return words.map { "\(counts[$0.0, default: 0]) \($0.1)" }.joined(separator: ", ") + "\n"
  }
}
