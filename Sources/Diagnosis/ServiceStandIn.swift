// SPDX-License-Identifier: Apache-2.0
import Glibc
import MessageBus
import SystemCalls
import Timekeeping

/// Runs this program once more as the installed service would run it: in a unit of its own with the service's user, sandbox,
/// environment and credentials. What it says of files, credentials, programs and servers is then what the service meets.
package enum ServiceStandIn {
  /// What became of it.
  package enum Outcome {
    /// It has run and said what there is to say; with its exit status.
    case ended(Int32)
    /// systemd could not start it, as it cannot start the service.
    case notStarted(Finding)
    /// This process has to judge by itself. With the reason, as a line with its line end; empty when it is the stand-in.
    case inPlace(String)
  }

  /// Names the service to the process that stands in for it.
  private static let variable = "FLEET_LOCATIOND_STANDS_IN_FOR"
  /// Between two questions whether it has ended.
  private static let pause = Duration.milliseconds(50)
  /// A search for the speed of a receiver, a token and an update, each with its own time limit, take less.
  private static let timeLimit = Duration.seconds(300)
  private static let signals = [SIGINT, SIGTERM, SIGHUP]
  /// Statuses of sysexits(3) with which this program answers.
  private static let answers: [Int32] = [1, 64, 65, 66, 69, 71, 74, 75, 77, 78]

  /// Whether this process runs as the service.
  package static var isThis: Bool { Environment.value(of: variable) != nil }

  /// - Parameters:
  ///   - settings: path of the main settings file.
  ///   - withRootView: whether the stand-in is to know what only root sees.
  package static func run(settings: String, withRootView: Bool = false) -> Outcome {
    if isThis { return .inPlace("") }
    guard let service = InstalledService(settings: settings) else {
      return .inPlace(remark("no installed service reads \(settings)"))
    }
    guard geteuid() == 0 else { return .inPlace(remark("only root can judge as \(service.unit)")) }
    guard let program = Environment.program else { return .inPlace(remark("/proc is not mounted")) }
    do {
      let bus = try MessageBus()
      let status = try ServiceStatus(of: service.unit, from: bus)
      guard status.load == "loaded" else {
        return .inPlace(remark("systemd has no \(service.unit) (\(status.load))"))
      }
      let view = withRootView ? RootView(status).environmentLine : nil
      let standIn = TransientService(
        unit: "\(name).service", original: service.unit, program: program, arguments: CommandLine.arguments,
        environment: ["\(variable)=\(service.unit)"] + (view.map { [$0] } ?? []), answers: answers,
        timeLimit: timeLimit)
      return try run(standIn, status, bus)
    } catch {
      return .inPlace(remark(error.message))
    }
  }

  private static func run(
    _ standIn: TransientService, _ service: ServiceStatus, _ bus: borrowing MessageBus
  ) throws(MessageBusError) -> Outcome {
    SignalMask.block(signals)
    defer { SignalMask.unblock(signals) }
    try bus.start(standIn)
    defer { bus.stop(standIn) }
    while try bus.isRunning(standIn) {
      if let signal = SignalMask.wait(for: signals, atMost: pause) { return .ended(128 + signal) }
    }
    let end = try ServiceStatus(of: standIn.unit, from: bus)
    guard end.load == "loaded" else { return .ended(128 + SIGTERM) }
    if end.result == "success", case .exited(let status) = end.end { return .ended(Int32(clamping: status)) }
    return .notStarted(finding(end, service))
  }

  private static var name: String {
    let program = CommandLine.arguments.first?.split(separator: "/").last.map(String.init) ?? ""
    return "\(program.isEmpty ? "fleet-locationctl" : program)-\(getpid())"
  }

  private static func remark(_ why: String) -> String {
    "Judged as \(UserAccount.current.name), not as the service: \(why)\n"
  }

  /// Why systemd does not start what has the properties of this service.
  static func finding(_ end: ServiceStatus, _ service: ServiceStatus) -> Finding {
    var cause = end
    (cause.unit, cause.credentialFiles) = (service.unit, service.credentialFiles)
    let words = ServiceEnd(cause, missing: ServiceCredentials.missing(service))
    return .fail("\(service.unit) cannot start: it would end with \(words.words)", words.advice)
  }
}
