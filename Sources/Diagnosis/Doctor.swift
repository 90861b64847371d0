// SPDX-License-Identifier: Apache-2.0
package import Configuration
package import EventLoop
package import SystemCalls
package import Timekeeping

/// Looks at everything that the settings name, one thing after another, and counts what it found.
@MainActor package struct Doctor {
  /// What the checks need to know of the machine and the service.
  package struct Surroundings {
    /// The checks turn it while they wait.
    package var loop: EventLoop
    /// Whom the service runs as; nil when there is no such user here.
    package var serviceUser: UserAccount?
    /// Whom this program runs as.
    package var currentUser: UserAccount
    /// No clock can be right that shows less.
    package var buildDate: Timestamp
    /// Whether a daemon runs with these settings. It opens a receiver that is silent or vanished again and again, and
    /// nothing else may hold it at that moment.
    package var isDaemonRunning: Bool
    /// What this process was given to know because it cannot see it: as the service's stand-in.
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
  private var counts: [Finding.Verdict: Int] = [:]

  /// - Parameter print: receives what is to be read, with its line end, as it comes about.
  package init(print: @escaping (String) -> Void) {
    self.print = print
  }

  /// Everything that the settings give a reason to look at. A new check is one more here.
  package static func checks(for settings: Settings, in surroundings: Surroundings) -> [any Check] {
    let count = settings.sources.count
    let sources = settings.sources.enumerated().map { index, source in
      check(source.kind, name: count > 1 ? "Source \(index + 1) of \(count)" : "Source", in: surroundings)
    }
    let token = TokenInHand()
    return sources + [
      TokenCheck(settings: settings, surroundings: surroundings, token: token),
      FleetEngineCheck(settings: settings, surroundings: surroundings, token: token),
    ]
  }

  /// For each kind of source what examines one.
  ///
  /// - Parameter name: begins the title.
  private static func check(_ kind: SourceKind, name: String, in surroundings: Surroundings) -> any Check {
    switch kind {
    case .serial(let serial): SerialCheck(name: name, settings: serial, surroundings: surroundings)
    case .gpsd(let gpsd): GPSDCheck(name: name, settings: gpsd, surroundings: surroundings)
    case .nmeaTCP(let tcp):
      NMEANetworkCheck(name: name, kind: kind, endpoint: NMEANetworkCheck.Endpoint(tcp), surroundings: surroundings)
    case .nmeaUDP(let udp):
      NMEANetworkCheck(name: name, kind: kind, endpoint: NMEANetworkCheck.Endpoint(udp), surroundings: surroundings)
    case .modemManager(let modem): ModemManagerCheck(name: name, settings: modem, surroundings: surroundings)
    case .simulated(let simulated): RouteCheck(name: name, settings: simulated)
    case .replay(let replay): RecordingCheck(name: name, file: replay.file)
    }
  }

  /// Runs one check under its title.
  package mutating func run(_ check: any Check) {
    var found: [Finding.Verdict] = []
    print("\(check.title)\n")
    check.run { finding in
      found.append(finding.verdict)
      print("\(finding.text)\n")
    }
    for verdict in found { counts[verdict, default: 0] += 1 }
  }

  /// Whether nothing failed.
  package var isContent: Bool { counts[.fail, default: 0] == 0 }

  /// The last line, with its line end.
  package var summary: String {
    let words = [(Finding.Verdict.pass, "passed"), (.warn, "to look at"), (.fail, "failed")]
    return words.map { "\(counts[$0.0, default: 0]) \($0.1)" }.joined(separator: ", ") + "\n"
  }
}
