// SPDX-License-Identifier: Apache-2.0
import Expectations
import MessageBus
import Testing

@testable import Diagnosis

/// The outcome of the process that ran as the service, and what is checked if none can be started.
struct ServiceImpersonationTests {
  private static let service = ServiceStatus(unit: "fleet-locationd.service")
  private static let program = "/root/fleet-locationctl"

  private static func outcome(
    _ result: String, _ end: ServiceStatus.End, runs servicePrograms: [String] = ["/usr/bin/fleet-locationd"]
  ) -> ServiceImpersonation.Outcome {
    var status = ServiceStatus(unit: "fleet-locationctl-1-0000000000000001.service")
    (status.result, status.end) = (result, end)
    return ServiceImpersonation.outcome(status, service, program: program, servicePrograms: servicePrograms)
  }

  @Test(
    "without a transient unit, root runs no check if that would run token.command; otherwise it runs all, with a note")
  func withoutTransientUnit() {
    guard
      case .unknown(let finding) = ServiceImpersonation.withoutTransientUnit(
        "no response", "a.service", runsCommand: true)
    else {
      return expect(Bool(false))
    }
    expectEqual(finding.sentence, "this cannot run as a.service: no response")
    expectEqual(finding.advice?.contains("token.command is not run as root"), true)
    guard
      case .inPlace(let remark) = ServiceImpersonation.withoutTransientUnit(
        "no response", "a.service", runsCommand: false)
    else {
      return expect(Bool(false))
    }
    expect(remark.hasSuffix("not as the service: no response\n"))
  }

  @Test("the tool's exit status is passed on")
  func ended() {
    expectEqual(Self.outcome("success", .exited(78)), .ended(78))
  }

  @Test("a transient unit that systemd cannot start is reported as a fault of the service")
  func notStarted() {
    guard case .notStarted(let finding) = Self.outcome("exit-code", .exited(226)) else { return expect(Bool(false)) }
    expect(finding.sentence.hasPrefix("fleet-locationd.service cannot start: it would end with exit status 226"))
  }

  @Test(
    "a tool that the service may not execute is reported as the service's fault only if it is the service's own program"
  )
  func outOfReach() {
    guard case .unknown(let finding) = Self.outcome("exit-code", .exited(203)) else { return expect(Bool(false)) }
    expect(finding.sentence.hasPrefix("\(Self.program) cannot be executed as fleet-locationd.service"))
    guard case .notStarted = Self.outcome("exit-code", .exited(203), runs: [Self.program]) else {
      return expect(Bool(false))
    }
  }

  @Test(
    "a signal or a timeout is attributed to the tool, not to the service",
    arguments: [
      ("timeout", ServiceStatus.End.killed(signal: 15), "did not end within 300 s"),
      ("signal", .killed(signal: 9), "ended with signal 9"),
      ("oom-kill", .killed(signal: 9), "ended with a kill by the kernel"),
    ] as [(String, ServiceStatus.End, String)])
  func killed(result: String, end: ServiceStatus.End, words: String) {
    guard case .unknown(let finding) = Self.outcome(result, end) else { return expect(Bool(false)) }
    expect(finding.sentence.contains(words))
    expectEqual(finding.advice?.hasPrefix("journalctl -u fleet-locationctl-1-"), true)
  }

  @Test("the transient unit, which runs in another directory, gets the absolute path of the settings")
  func absolute() {
    let settings = "/etc/fleet-locationd/van.toml"
    let rows = [
      (["-c", "van.toml"], ["-c", settings]), (["-cvan.toml"], ["-c\(settings)"]),
      (["--config", "../etc/van.toml"], ["--config", settings]), (["--config=van.toml"], ["--config=\(settings)"]),
    ]
    for (given, expected) in rows {
      expectEqual(
        ServiceImpersonation.arguments(["x", "doctor"] + given + ["--offline"], settings: settings),
        ["x", "doctor"] + expected + ["--offline"])
    }
    let others = ["fleet-locationctl", "check", "--instance", "van", "-c"]
    expectEqual(ServiceImpersonation.arguments(others, settings: settings), others)
  }

  @Test("the transient unit's description contains the subcommand, but no other arguments")
  func description() {
    expectEqual(
      ServiceImpersonation.description(
        ["/usr/bin/fleet-locationctl", "token", "--tracking-id", "parcel-1"], "a.service"),
      "fleet-locationctl token, as a.service")
    expectEqual(
      ServiceImpersonation.description(["fleet-locationd", "--check", "--config", "x"], "a.service"),
      "fleet-locationd, as a.service")
  }

  @Test("--check with a relative path checks the installed service that reads the file")
  @MainActor func relativePath() {
    let result = SettingsCheckResult(of: "none-such.toml") {
      [".": "/data/fleet", "/etc/fleet-locationd": "/data/fleet"][$0]
    }
    expectEqual(result.exitCode, 78)
    expect(result.errors.hasPrefix("/etc/fleet-locationd/none-such.toml: does not exist"), "\(result.errors)")
  }
}
