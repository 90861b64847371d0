// SPDX-License-Identifier: Apache-2.0
import Authorization
import Configuration
import Vehicle
import Glibc
import MessageBus
import SystemCalls
import Timekeeping

/// Runs this program again in a transient unit with the installed service's user, sandbox, environment and credentials,
/// so that its checks of files, credentials, programs and servers see what the service sees.
package enum ServiceImpersonation {
  /// The result.
  package enum Outcome: Equatable {
    /// The unit has run and printed its results. The value is its exit status.
    case ended(Int32)
    /// systemd could not start the unit, for a reason that also applies to the service. The value says which.
    case notStarted(Finding)
    /// The result is not known: the unit did not finish, systemd does not report how it ended, or no unit could be
    /// started and this process must not run the checks as root instead.
    case unknown(Finding)
    /// This process must run the checks itself. The value is the reason, with its line end; it is empty if this process
    /// already runs as the service.
    case inPlace(String)
  }

  /// The environment variable that is set for a process that runs as the service; its value is the service's unit.
  private static let variable = "FLEET_LOCATIOND_RUNS_CHECKS_AS"
  /// The programs that run as the service.
  static let programs = ["fleet-locationctl", "fleet-locationd"]
  /// Interval at which it is checked whether the unit has ended.
  private static let pollInterval = Duration.milliseconds(50)
  /// Longer than the sum of the checks' own time limits: baud detection, a token and an update.
  private static let timeLimit = Duration.seconds(300)
  private static let signals = [SIGINT, SIGTERM, SIGHUP, SIGQUIT]
  /// The exit statuses (sysexits.h) of this program. For other statuses, systemd has ended the unit or could not start
  /// it.
  private static let ownExitStatuses: [Int32] = [1, 64, 65, 66, 69, 71, 74, 75, 77, 78]

  /// Whether this process runs as the service.
  package static var isActive: Bool { Environment.value(of: variable) != nil }

  /// - Parameters:
  ///   - settings: path of the main settings file.
  ///   - requestsToken: whether the checks request a token. If they would run the program of `token.command`, root does
  ///     not run them outside the unit.
  ///   - withRootObservations: whether to pass what only root can see (`RootObservations`).
  package static func run(settings: String, requestsToken: Bool, withRootObservations: Bool = false) -> Outcome {
    if isActive { return .inPlace("") }
    guard let service = InstalledService(settings: settings) else {
      return .inPlace(remark("no installed service reads \(settings)"))
    }
    // The unit would create the directories of a service that does not exist.
    guard FileAccess.error(settings, F_OK)?.code != ENOENT else { return .inPlace("") }
    guard geteuid() == 0 else { return .inPlace(remark("only root can run checks as \(service.unit)")) }
    let runsCommand = requestsToken && hasCommand(settings)
    guard let program = Environment.executablePath else {
      return withoutTransientUnit("/proc is not mounted", service.unit, runsCommand: runsCommand)
    }
    do throws(MessageBusError) {
      let bus = try MessageBus()
      let status = try ServiceStatus(of: service.unit, from: bus)
      guard status.load != "not-found" else { return .inPlace(remark("systemd has no \(service.unit)")) }
      guard status.load == "loaded" else {
        return withoutTransientUnit(
          "systemd has no \(service.unit) (\(status.load))", service.unit, runsCommand: runsCommand)
      }
      bus.stopAbandoned(programs)
      var transient = TransientService(
        unit: TransientService.name(of: programName, process: getpid(), key: .random(in: .min ... .max)),
        description: description(CommandLine.arguments, service.unit), original: service.unit, program: program,
        arguments: arguments(CommandLine.arguments, settings: settings), environment: ["\(variable)=\(service.unit)"],
        successExitStatuses: ownExitStatuses,
        timeLimit: timeLimit)
      guard withRootObservations, let pipe = RootObservations(status).makePipe() else {
        return try run(transient, status, bus)
      }
      // The pipe must stay open until systemd has duplicated it.
      defer { withExtendedLifetime(pipe) {} }
      transient.input = pipe.rawValue
      return try run(transient, status, bus)
    } catch {
      // Nothing was started: `run` throws only before that.
      let isBooted = FileAccess.error("/run/systemd/system", F_OK) == nil
      return withoutTransientUnit(error.message, service.unit, runsCommand: runsCommand && isBooted)
    }
  }

  /// The arguments for a process in another directory, where a relative path of the settings means nothing.
  ///
  /// - Parameter settings: the absolute path.
  static func arguments(_ arguments: [String], settings: String) -> [String] {
    var result = arguments
    for (index, argument) in arguments.enumerated() {
      if ["-c", "--config"].contains(argument), index + 1 < arguments.count {
        result[index + 1] = settings
      } else if argument.hasPrefix("--config=") {
        result[index] = "--config=\(settings)"
      } else if argument.hasPrefix("-c"), argument != "-c" {
        result[index] = "-c\(settings)"
      }
    }
    return result
  }

  /// - Throws: only if the unit was not started.
  private static func run(
    _ transient: TransientService, _ service: ServiceStatus, _ bus: borrowing MessageBus
  ) throws(MessageBusError) -> Outcome {
    SignalMask.block(signals)
    defer { SignalMask.unblock(signals) }
    do throws(MessageBusError) {
      try bus.start(transient)
    } catch  where error.code == .silent {
      // The unit may have been started nevertheless.
      stopOnNewConnection(transient.unit)
      return unknown(error, service.unit)
    }
    do throws(MessageBusError) {
      defer { bus.stop(transient.unit) }
      while try bus.isRunning(transient) {
        if let signal = SignalMask.wait(for: signals, atMost: pollInterval) { return .ended(128 + signal) }
      }
      let finalStatus = try ServiceStatus(of: transient.unit, from: bus)
      guard finalStatus.load == "loaded" else { return .ended(128 + SIGTERM) }
      return outcome(
        finalStatus, service, program: transient.program, servicePrograms: (try? bus.programs(of: service.unit)) ?? [])
    } catch {
      stopOnNewConnection(transient.unit)
      return unknown(error, service.unit)
    }
  }

  /// Stops the unit over a new connection, because the previous one may be broken.
  private static func stopOnNewConnection(_ unit: String) {
    if let bus = try? MessageBus() { bus.stop(unit) }
  }

  // MARK: - Names

  private static var programName: String {
    let program = CommandLine.arguments.first?.split(separator: "/").last.map(String.init) ?? ""
    return programs.first { $0 == program } ?? programs[0]
  }

  /// The unit's description: the program and its subcommand, without other arguments.
  static func description(_ arguments: [String], _ unit: String) -> String {
    let program = arguments.first?.split(separator: "/").last.map(String.init) ?? programs[0]
    let command = arguments.dropFirst().first.flatMap { $0.hasPrefix("-") ? nil : " \($0)" } ?? ""
    return "\(program)\(command), as \(unit)"
  }

  // MARK: - Outcomes

  private static func hasCommand(_ settings: String) -> Bool {
    guard let file = try? SettingsFile.load(path: settings, environment: .system, needsVehicleID: false),
      case .command = file.settings.agent.tokenProvider
    else { return false }
    return true
  }

  /// The result if no transient unit can be started.
  static func withoutTransientUnit(_ why: String, _ unit: String, runsCommand: Bool) -> Outcome {
    guard runsCommand else { return .inPlace(remark(why)) }
    return .unknown(
      .fail(
        .checkFailed, "this cannot run as \(unit): \(why)",
        "token.command is not run as root, outside the service's sandbox. Check systemd: systemctl status \(unit)")
    )
  }

  private static func unknown(_ error: MessageBusError, _ unit: String) -> Outcome {
    .unknown(
      .fail(
        .checkFailed, "the check that runs as \(unit) can no longer be observed: \(error.message)",
        "Check systemd: systemctl status \(unit); then run this again"))
  }

  private static func remark(_ why: String) -> String {
    "Checked as user \(UserAccount.current.name), not as the service: \(why)\n"
  }

  /// The outcome of a transient unit that has ended.
  ///
  /// - Parameters:
  ///   - program: the program that has run.
  ///   - servicePrograms: the programs of the service.
  static func outcome(
    _ finalStatus: ServiceStatus, _ service: ServiceStatus, program: String, servicePrograms: [String]
  ) -> Outcome {
    let journal = "\(finalStatus.journalCommand) -n 20 has the reason"
    switch (finalStatus.result, finalStatus.end) {
    case ("success", .exited(let status)):
      return .ended(Int32(clamping: status))
    case ("timeout", _):
      return .unknown(
        .fail(
          .checkFailed, "the check that runs as \(service.unit) did not end within \(timeLimit.wholeSeconds) s", journal
        ))
    case ("exit-code", .exited(203)) where !servicePrograms.contains(program):
      return .unknown(
        .fail(
          .checkFailed, "\(program) cannot be executed as \(service.unit) (203/EXEC): the service's sandbox hides it",
          "Run the program of the package, or put it where the service may execute it, as in /usr/local/bin"))
    case ("oom-kill", _), (_, .killed):
      return .unknown(
        .fail(
          .checkFailed, "the check that runs as \(service.unit) ended with \(ServiceEnd(finalStatus).cause)", journal))
    default:
      return .notStarted(finding(finalStatus, service))
    }
  }

  /// Why systemd cannot start a unit with the properties of this service.
  static func finding(_ finalStatus: ServiceStatus, _ service: ServiceStatus) -> Finding {
    var cause = finalStatus
    cause.unit = service.unit
    let explained = ServiceEnd(cause, faults: CredentialFault.all(service))
    return .fail(
      .unitCannotStart, "\(service.unit) cannot start: it would end with \(explained.cause)", explained.advice)
  }
}
