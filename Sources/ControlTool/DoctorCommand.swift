// SPDX-License-Identifier: Apache-2.0
import CommandLineOptions
import Configuration
import Diagnosis
import EventLoop
import Observability
import Release
import SystemCalls
import Terminal

/// `fleet-locationctl doctor`: diagnoses the settings, the machine and the running service.
enum DoctorCommand: Command {
  static let name = "doctor"
  static let summary =
    "check the settings, receiver, token, network and running service, and say how to fix what is wrong"
  static let options =
    SettingsChoice.options + [
      CommandLineOptions.Option("user", takesValue: true), CommandLineOptions.Option("token"),
      CommandLineOptions.Option("socket", takesValue: true), CommandLineOptions.Option("json"),
    ]
  static let usage = """
    Usage: fleet-locationctl doctor [--token] [--json] [--config FILE | --instance NAME] [--socket PATH] [--user NAME]
    Checks the settings, each source that they name, the token provider, the connection to Fleet Engine, and the running
    service, and says how to fix what is wrong. A receiver that no other program has open is read for some seconds; one
    token is requested, as the service would. If the daemon has just started, doctor waits up to half a minute for its
    first update. Run it as root: only root sees which program has a device open, what the service may access, and its
    credentials. It prints no positions and no secrets, and changes nothing.

          --token            check only the token provider, in detail: it requests two tokens, and one more with wrong
                             credentials
          --json             print one line of JSON at the end, with a code for each finding: docs/doctor.md
    \(SettingsChoice.usage)
          --socket PATH      the daemon's control socket (default: that of the installed service)
          --user NAME        the user of the service (default \(serviceUser))

    Exit status: 0 if no check failed, and Fleet Engine has accepted an update within the last two heartbeats or the
    vehicle is paused by command, which --token does not check; 1 otherwise; 69 if root cannot run the checks as the
    service; 74 if the result cannot be written; 77 if this user may not read the main settings file; 78 if there is no
    such instance, or only instances.

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
    // For the token command, which is run as a child process.
    EventLoop.blockChildSignal()
    let path = try SettingsChoice.path(options)
    let service = InstalledService(settings: path)
    var startFailure: Finding?
    var remark = ""
    switch ServiceImpersonation.run(settings: path, requestsToken: true, withRootObservations: true) {
    case .ended(let status): return status
    case .notStarted(let finding): startFailure = finding
    case .unknown(let finding):
      throw CommandError(.unavailable, finding.message)
    case .inPlace(let why): remark = why
    }
    ServiceCredentials.adopt(for: path)
    let socket = options.value("socket") ?? service?.socket
    let answer = ask(socket, path, service?.unit)
    let status: StatusReport? = if case .status(let report) = answer { report } else { nil }
    var environment: Doctor.Environment
    do {
      environment = Doctor.Environment(
        loop: try EventLoop(), serviceUser: user, currentUser: .current, buildDate: Release.buildDate,
        unit: service?.unit, isDaemonRunning: mayRead(answer, at: socket),
        clockError: status?.clockOffset.map { .seconds($0) },
        rootObservations: RootObservations.readStandardInput())
    } catch {
      throw CommandError(.io, error.message)
    }
    if options.has("config") { environment.settingsOption = " --config \(absolute(path))" }
    var jsonReport = options.has("json") ? DoctorReport(remark: remark, isDaemonRunning: status != nil) : nil
    if jsonReport == nil { _ = try StandardOutput.write(remark) }
    let screen = DoctorScreen(
      width: Terminal.isStandardOutput ? Terminal.size?.columns ?? 80 : nil, capabilities: .ofStandardOutput)
    // If standard output is closed, the remaining checks still run, for the exit status.
    var written = Result<Void, CommandError>.success(())
    var doctor = Doctor { part in
      let part = part.rewording { Instance.addressed($0, service) }
      jsonReport?.add(part)
      guard jsonReport == nil, case .success = written else { return }
      written = Result { () throws(CommandError) in _ = try StandardOutput.write(screen.text(of: part)) }
    }
    var checks: [any Check] = []
    if let startFailure {
      // No check can run as the service, so only the state that systemd reports is checked.
      checks.append(StartFailureCheck(finding: startFailure))
      checks.append(ServiceCheck(service, settings: nil, in: environment) { ask(socket, path, service?.unit) })
    } else {
      let settings = SettingsCheck(path: path, environment: .system)
      checks.append(settings)
      if options.has("token") {
        checks += settings.settings.map { [TokenConformanceCheck($0, in: environment)] } ?? []
      } else {
        checks += settings.settings.map { Doctor.checks(for: $0, in: environment) } ?? []
        checks.append(
          ServiceCheck(service, settings: settings.file, in: environment) { ask(socket, path, service?.unit) })
      }
    }
    for check in checks { doctor.run(check) }
    doctor.finish()
    try written.get()
    if let jsonReport { _ = try StandardOutput.write(jsonReport.line) }
    return doctor.hasNoFailure ? 0 : 1
  }

  /// The path for a command that is run in another directory. A link is kept, because it may name an installed service.
  private static func absolute(_ path: String) -> String {
    guard !path.hasPrefix("/"), let directory = SystemFile.resolved(AtomicFile.directory(of: path)) else { return path }
    return "\(directory)/\(path.split(separator: "/").last ?? "")"
  }

  /// Whether a daemon may read the receiver. One that does not answer, or that this user may not ask, may do so, too.
  ///
  /// - Parameter socket: the daemon's control socket; nil if none is known.
  static func mayRead(_ answer: ServiceFindings.DaemonResponse, at socket: String?) -> Bool {
    switch answer {
    // A daemon that waits for something that its settings name does not read a receiver.
    case .status(let report): !report.lacksSettings
    case .noResponse(_, _, let absentSocket): socket != nil && absentSocket == nil
    }
  }

  /// - Parameters:
  ///   - socket: the daemon's control socket; nil without `--socket` if no installed service reads the settings.
  ///   - unit: the daemon's unit; nil if none is known.
  private static func ask(_ socket: String?, _ settings: String, _ unit: String?) -> ServiceFindings.DaemonResponse {
    guard let socket else {
      return .noResponse(
        "no installed service reads \(settings)",
        advice: "Give the control socket of the daemon that reads it, with --socket PATH")
    }
    do throws(CommandError) {
      return .status(try DaemonClient.status(at: socket).status)
    } catch {
      // A process that does not answer has the socket open; starting its unit has no effect.
      let command = error.absentSocket == nil ? "restart" : "start"
      return .noResponse(
        error.message,
        advice: error.code == .permission
          ? "Run this as root"
          : "Read its journal: journalctl -u \(unit ?? "fleet-locationd") -n 20; then: sudo systemctl \(command) "
            + "\(unit ?? "fleet-locationd")",
        socket: error.absentSocket)
    }
  }
}

/// Reports why systemd cannot start a process with the properties of the service.
private struct StartFailureCheck: Check {
  let subject = Doctor.Subject.start
  let title = "Start"
  let finding: Finding

  func run(_ report: (Finding) -> Void) { report(finding) }
}
