// SPDX-License-Identifier: Apache-2.0
import CommandLineOptions
import Configuration
import Diagnosis
import EventLoop
import Glibc
import Release
import SystemCalls

/// `fleet-locationctl doctor`: what is wrong with this machine, and what to do about it.
enum DoctorCommand: Command {
  static let name = "doctor"
  static let summary = "look at what the settings name, the network and the running service, and say what is wrong"
  static let options =
    SettingsChoice.options + [
      CommandLineOptions.Option("user", takesValue: true), CommandLineOptions.Option("token"),
      CommandLineOptions.Option("socket", takesValue: true),
    ]
  static let usage = """
    Usage: fleet-locationctl doctor [--token] [--config FILE | --instance NAME] [--socket PATH] [--user NAME]
    Looks at the settings, at each source that they name, at a token, at the way to Fleet Engine, and at the service as
    it runs, and says how it stands and what to do. A receiver that nobody reads is listened to for some seconds; one
    token is asked for, as the service would. systemd is asked for the unit, and the daemon for its status; one that has
    just started is given half a minute to its first update. As root it sees most: who has a device open, what the
    service may do, and its credentials. It prints no positions and no secrets, and changes nothing.

          --token            only the token provider, against all that is asked of one; it is asked for two tokens, and a
                             third time with wrong credentials
    \(SettingsChoice.usage)
          --socket PATH      where the daemon answers, when it is not the installed service
          --user NAME        whom the service runs as (default \(serviceUser))

    Exit status: 0 when nothing failed, and Fleet Engine has accepted an update within the last two heartbeats or the
    vehicle is paused by command; 1 when not; 69 when root cannot look as the service; 77 when this user may not read
    the settings.

    """

  static let serviceUser = "fleet-locationd"
  static func run(_ options: CommandLineOptions) throws(CommandError) -> Int32 {
    if let operand = options.operands.first {
      throw CommandError(.usage, "doctor: unexpected \"\(operand)\": settings are named with --config")
    }
    let user = UserAccount.named(options.value("user") ?? serviceUser)
    if let name = options.value("user"), user == nil {
      throw CommandError(.usage, "doctor: there is no user \"\(name)\"; getent passwd lists them")
    }
    signal(SIGPIPE, SIG_IGN)
    // Of a program that gives tokens.
    EventLoop.blockChildSignal()
    let path = try SettingsChoice.path(options)
    let service = InstalledService(settings: path)
    var hindrance: Finding?
    switch ServiceStandIn.run(settings: path, asksForToken: true, withRootView: true) {
    case .ended(let status): return status
    case .notStarted(let finding): hindrance = finding
    case .unknown(let finding):
      throw CommandError(.unavailable, finding.message)
    case .inPlace(let remark): _ = try StandardOutput.write(remark)
    }
    ServiceCredentials.adopt(for: path)
    let socket = options.value("socket") ?? service?.socket
    let isDaemonRunning = if case .status = ask(socket, path) { true } else { false }
    let surroundings: Doctor.Surroundings
    do {
      surroundings = Doctor.Surroundings(
        loop: try EventLoop(), serviceUser: user, currentUser: .current, buildDate: Release.buildDate,
        isDaemonRunning: isDaemonRunning, rootView: .handedOver)
    } catch {
      throw CommandError(.io, error.message)
    }
    // Nobody may read any more; what is left to look at is looked at for the exit status.
    var doctor = Doctor { text in _ = try? StandardOutput.write(text) }
    if let hindrance {
      // Nothing can be looked at as the service; what systemd knows of it can.
      doctor.run(HindranceCheck(finding: hindrance))
      doctor.run(ServiceCheck(service, settings: nil, in: surroundings) { ask(socket, path) })
      _ = try StandardOutput.write(doctor.summary)
      return 1
    }
    let settings = SettingsCheck(path: path, environment: .system)
    doctor.run(settings)
    var checks: [any Check] = []
    if options.has("token") {
      checks += settings.settings.map { [TokenConformanceCheck($0, in: surroundings)] } ?? []
    } else {
      checks += settings.settings.map { Doctor.checks(for: $0, in: surroundings) } ?? []
      checks.append(ServiceCheck(service, settings: settings.settings, in: surroundings) { ask(socket, path) })
    }
    for check in checks { doctor.run(check) }
    _ = try StandardOutput.write(doctor.summary)
    return doctor.isContent ? 0 : 1
  }

  /// - Parameter socket: of the daemon; nil without the option.
  private static func ask(_ socket: String?, _ settings: String) -> ServiceFindings.Daemon {
    guard let socket else {
      return .none(
        "no installed service reads \(settings)",
        advice: "Name the socket of the daemon that does with --socket PATH")
    }
    do throws(CommandError) {
      return .status(try DaemonQuestion.status(at: socket).status)
    } catch {
      return .none(
        error.message,
        advice: error.code == .permission
          ? "Run this as root" : "Start it, and look at its journal: journalctl -u fleet-locationd -n 20")
    }
  }
}

/// What keeps systemd from starting anything with the properties of the service.
private struct HindranceCheck: Check {
  let title = "Start"
  let finding: Finding

  func run(_ report: (Finding) -> Void) { report(finding) }
}
