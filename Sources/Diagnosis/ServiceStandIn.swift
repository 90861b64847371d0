// SPDX-License-Identifier: Apache-2.0
import Authorization
import Configuration
import Delivery
import Glibc
import MessageBus
import SystemCalls
import Timekeeping

/// Runs this program once more as the installed service would run it: in a unit of its own with the service's user, sandbox,
/// environment and credentials. What it says of files, credentials, programs and servers is then what the service meets.
package enum ServiceStandIn {
  /// What became of it.
  package enum Outcome: Equatable {
    /// It has run and said what there is to say; with its exit status.
    case ended(Int32)
    /// systemd could not start it, as it cannot start the service.
    case notStarted(Finding)
    /// What the service meets is not known: it did not come to its end, or systemd does not say so, or this process must not
    /// do in its place what it would have done.
    case unknown(Finding)
    /// This process has to judge by itself. With the reason, as a line with its line end; empty when it is the stand-in.
    case inPlace(String)
  }

  /// Names the service to the process that stands in for it.
  private static let variable = "FLEET_LOCATIOND_STANDS_IN_FOR"
  /// The programs that have stand-ins.
  private static let programs = ["fleet-locationctl", "fleet-locationd"]
  /// Between two questions whether it has ended.
  private static let pause = Duration.milliseconds(50)
  /// A search for the speed of a receiver, a token and an update, each with its own time limit, take less.
  private static let timeLimit = Duration.seconds(300)
  private static let signals = [SIGINT, SIGTERM, SIGHUP, SIGQUIT]
  /// Statuses of sysexits(3) with which this program answers.
  private static let answers: [Int32] = [1, 64, 65, 66, 69, 71, 74, 75, 77, 78]

  /// Whether this process runs as the service.
  package static var isThis: Bool { Environment.value(of: variable) != nil }

  /// - Parameters:
  ///   - settings: path of the main settings file.
  ///   - asksForToken: whether this process would run the program of `token.command`. Root does not, for an installed unit.
  ///   - withRootView: whether the stand-in is to know what only root sees.
  package static func run(settings: String, asksForToken: Bool, withRootView: Bool = false) -> Outcome {
    if isThis { return .inPlace("") }
    guard let service = InstalledService(settings: settings) else {
      return .inPlace(remark("no installed service reads \(settings)"))
    }
    guard geteuid() == 0 else { return .inPlace(remark("only root can judge as \(service.unit)")) }
    let runsCommand = asksForToken && hasCommand(settings)
    guard let program = Environment.program else {
      return withoutStandIn("/proc is not mounted", service.unit, runsCommand: runsCommand)
    }
    do throws(MessageBusError) {
      let bus = try MessageBus()
      let status = try ServiceStatus(of: service.unit, from: bus)
      guard status.load != "not-found" else { return .inPlace(remark("systemd has no \(service.unit)")) }
      guard status.load == "loaded" else {
        return withoutStandIn("systemd has no \(service.unit) (\(status.load))", service.unit, runsCommand: runsCommand)
      }
      bus.stopAbandoned(programs)
      var standIn = TransientService(
        unit: TransientService.name(of: name, process: getpid(), key: .random(in: .min ... .max)),
        description: description(CommandLine.arguments, service.unit), original: service.unit, program: program,
        arguments: CommandLine.arguments, environment: ["\(variable)=\(service.unit)"], answers: answers,
        timeLimit: timeLimit)
      guard withRootView, let view = RootView(status).pipe else { return try run(standIn, status, bus) }
      // Open until systemd has it.
      defer { withExtendedLifetime(view) {} }
      standIn.input = view.rawValue
      return try run(standIn, status, bus)
    } catch {
      // What has begun is over by then: `run` reports it.
      let isBooted = FileAccess.refusal("/run/systemd/system", F_OK) == nil
      return withoutStandIn(error.message, service.unit, runsCommand: runsCommand && isBooted)
    }
  }

  /// - Throws: as long as nothing was started.
  private static func run(
    _ standIn: TransientService, _ service: ServiceStatus, _ bus: borrowing MessageBus
  ) throws(MessageBusError) -> Outcome {
    SignalMask.block(signals)
    defer { SignalMask.unblock(signals) }
    do throws(MessageBusError) {
      try bus.start(standIn)
    } catch  where error.code == .silent {
      // It may have been started all the same.
      stopAnew(standIn.unit)
      return unknown(error, service.unit)
    }
    do throws(MessageBusError) {
      defer { bus.stop(standIn.unit) }
      while try bus.isRunning(standIn) {
        if let signal = SignalMask.wait(for: signals, atMost: pause) { return .ended(128 + signal) }
      }
      let end = try ServiceStatus(of: standIn.unit, from: bus)
      guard end.load == "loaded" else { return .ended(128 + SIGTERM) }
      return outcome(
        end, service, program: standIn.program, servicePrograms: (try? bus.programs(of: service.unit)) ?? [])
    } catch {
      stopAnew(standIn.unit)
      return unknown(error, service.unit)
    }
  }

  /// Over another connection: the one that there was may have broken.
  private static func stopAnew(_ unit: String) {
    if let bus = try? MessageBus() { bus.stop(unit) }
  }

  // MARK: - Names

  private static var name: String {
    let program = CommandLine.arguments.first?.split(separator: "/").last.map(String.init) ?? ""
    return programs.first { $0 == program } ?? programs[0]
  }

  /// What the journal says of it: the program and its subcommand, without what they were asked about.
  static func description(_ arguments: [String], _ unit: String) -> String {
    let program = arguments.first?.split(separator: "/").last.map(String.init) ?? programs[0]
    let command = arguments.dropFirst().first.flatMap { $0.hasPrefix("-") ? nil : " \($0)" } ?? ""
    return "\(program)\(command), as \(unit)"
  }

  // MARK: - Outcomes

  private static func hasCommand(_ settings: String) -> Bool {
    guard let file = try? SettingsFile.load(path: settings, environment: .system),
      case .command = file.settings.agent.tokenProvider
    else { return false }
    return true
  }

  /// What is left to do when there is no stand-in.
  static func withoutStandIn(_ why: String, _ unit: String, runsCommand: Bool) -> Outcome {
    guard runsCommand else { return .inPlace(remark(why)) }
    return .unknown(
      .fail(
        "nothing can run as \(unit): \(why)",
        "token.command is not run as root, outside the service's sandbox. See how systemd is: systemctl status \(unit)")
    )
  }

  private static func unknown(_ error: MessageBusError, _ unit: String) -> Outcome {
    .unknown(
      .fail(
        "what was started as \(unit) was lost sight of: \(error.message)",
        "See how systemd is: systemctl status \(unit); then run this again"))
  }

  private static func remark(_ why: String) -> String {
    "Judged as \(UserAccount.current.name), not as the service: \(why)\n"
  }

  /// What its end says of the service.
  ///
  /// - Parameters:
  ///   - program: what has run.
  ///   - servicePrograms: what the service runs.
  static func outcome(
    _ end: ServiceStatus, _ service: ServiceStatus, program: String, servicePrograms: [String]
  ) -> Outcome {
    let journal = "journalctl -u \(end.unit) -n 20 has the reason"
    switch (end.result, end.end) {
    case ("success", .exited(let status)):
      return .ended(Int32(clamping: status))
    case ("timeout", _):
      return .unknown(
        .fail("what was started as \(service.unit) did not end within \(timeLimit.wholeSeconds) s", journal))
    case ("exit-code", .exited(203)) where !servicePrograms.contains(program):
      return .unknown(
        .fail(
          "\(program) cannot be executed as \(service.unit) (203/EXEC): it is out of the service's reach",
          "Run the one of the package, or put it where the service may execute it, as in /usr/local/bin"))
    case ("oom-kill", _), (_, .killed):
      return .unknown(
        .fail("what was started as \(service.unit) did not end by itself: \(ServiceEnd(end).words)", journal))
    default:
      return .notStarted(finding(end, service))
    }
  }

  /// Why systemd does not start what has the properties of this service.
  static func finding(_ end: ServiceStatus, _ service: ServiceStatus) -> Finding {
    var cause = end
    (cause.unit, cause.credentialFiles) = (service.unit, service.credentialFiles)
    let words = ServiceEnd(cause, missing: ServiceCredentials.missing(service))
    return .fail("\(service.unit) cannot start: it would end with \(words.words)", words.advice)
  }
}
