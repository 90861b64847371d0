// SPDX-License-Identifier: Apache-2.0
import Expectations
import FileTesting
import Foundation
import Glibc
import Testing

/// The daemon with a vehicle for on-demand trips.
struct TripsTests {
  /// A test bench with a simulated vehicle for on-demand trips; its tokens are like those of Google's rides sample.
  private func taxi() throws -> (TestBench, Emulator) {
    let bench = try TestBench()
    let emulator = try #require(bench.emulator)
    bench.settings["vehicle.service"] = "\"trips\""
    bench.settings["token.url"] = "\"http://127.0.0.1:\(emulator.port)/token/driver/{vehicle_id}\""
    bench.settings["token.response"] = "\"rides-stub\""
    for key in ["expiration_key", "expiration_format"] { bench.settings["token.\(key)"] = nil }
    bench.settings.source("simulated", ["route": "\"\(ChildProcess.root)/config/examples/demo.gpx\""])
    return (bench, emulator)
  }

  private func run(_ bench: TestBench, _ command: String) throws {
    let process = try ChildProcess("fleet-locationctl", [command, "--socket", bench.directory("control.sock")])
    try expectEqual(process.finish(), 0)
  }

  @Test(
    "a pause sends only OFFLINE, even if the daemon is killed before that is accepted; resume sends ONLINE and a position"
  )
  func pause() throws {
    let (bench, emulator) = try taxi()
    let state = bench.directory("state")
    try FileManager.default.createDirectory(atPath: state, withIntermediateDirectories: true)
    let environment = ["RUNTIME_DIRECTORY": bench.directory.path, "STATE_DIRECTORY": state]
    // A request that was in flight when the daemon was killed may arrive until its deadline.
    bench.settings["fleet_engine.deadline"] = "\"1s\""
    bench.settings["reporting.interval"] = "\"1s\""
    var daemon = try bench.start(environment: environment)
    try bench.wait("an update") { daemon.shows("Online") }
    expect(emulator.accepted.allSatisfy { $0.query.hasPrefix("updateMask=vehicleState%2ClastLocation") })
    try emulator.fault(#"{"target": "update", "status": 503, "times": 1000}"#)
    try run(bench, "pause")
    try bench.wait("a refusal") { daemon.logs("OFFLINE was not accepted") }
    let before = emulator.updates.count
    daemon.process.signal(SIGKILL)
    try expectEqual(bench.exitCode(), 128 + SIGKILL)
    daemon = try bench.start(environment: environment)
    try bench.wait("it is paused again") { daemon.logs("Still paused since") }
    try emulator.clearFaults()
    try bench.wait("OFFLINE for good", within: .seconds(60)) { daemon.logs("Fleet Engine has accepted OFFLINE") }
    expect(
      try String(contentsOfFile: state + "/paused", encoding: .utf8).hasSuffix("\noffline trips/my-project/truck-17\n"))
    expect(emulator.updates.dropFirst(before).allSatisfy { $0.query == "updateMask=vehicleState" && $0.live == nil })
    let offline = emulator.accepted.count
    try run(bench, "resume")
    try bench.wait("an update") { emulator.accepted.count > offline }
    expectEqual(emulator.accepted.last?.query.hasPrefix("updateMask=vehicleState%2ClastLocation"), true)
    expectEqual(emulator.accepted.last?.state, "ONLINE")
  }

  @Test("offline sends OFFLINE at once and with each position, even after SIGKILL; online sends ONLINE")
  func offDuty() throws {
    let (bench, emulator) = try taxi()
    let state = bench.directory("state")
    try FileManager.default.createDirectory(atPath: state, withIntermediateDirectories: true)
    let environment = ["RUNTIME_DIRECTORY": bench.directory.path, "STATE_DIRECTORY": state]
    bench.settings["fleet_engine.deadline"] = "\"1s\""
    bench.settings["reporting.interval"] = "\"1s\""
    var daemon = try bench.start(environment: environment)
    try bench.wait("an update") { daemon.shows("Online") }
    try run(bench, "offline")
    try bench.wait("OFFLINE") { daemon.logs("Fleet Engine has accepted OFFLINE") }
    expect(
      try String(contentsOfFile: state + "/offline", encoding: .utf8)
        .hasSuffix("\nvehicle trips/my-project/truck-17\naccepted\n"))
    daemon.process.signal(SIGKILL)
    try expectEqual(bench.exitCode(), 128 + SIGKILL)
    // An update of the daemon that was killed may still be in the emulator's socket.
    try emulator.settle()
    let before = emulator.accepted.count
    daemon = try bench.start(environment: environment)
    try bench.wait("positions off duty") { emulator.accepted.count > before }
    expect(daemon.logs("Still off duty since"))
    expect(emulator.accepted.dropFirst(before).allSatisfy { $0.live != nil && $0.state == "OFFLINE" })
    let status = try ChildProcess(
      "fleet-locationctl", ["status", "--json", "--socket", bench.directory("control.sock")])
    try expectEqual(status.finish(), 0)
    expect(status.output.text.contains("\"duty\":\"OFFLINE\""))
    expect(status.output.text.contains("\"vehicleState\":\"OFFLINE\""))
    try run(bench, "online")
    try bench.wait("ONLINE") { emulator.accepted.last?.state == "ONLINE" }
    expect(!FileManager.default.fileExists(atPath: state + "/offline"))
  }

  @Test("while the duty file is damaged, the vehicle is OFFLINE, and doctor reports it until the command online")
  func unreadableDuty() throws {
    let (bench, emulator) = try taxi()
    let state = bench.directory("state")
    try FileManager.default.createDirectory(atPath: state, withIntermediateDirectories: true)
    try "?".write(toFile: state + "/offline", atomically: false, encoding: .utf8)
    let settings = try bench.writeSettings()
    let daemon = try bench.start(environment: ["RUNTIME_DIRECTORY": bench.directory.path, "STATE_DIRECTORY": state])
    try bench.wait("OFFLINE") { daemon.logs("Fleet Engine has accepted OFFLINE") }
    expect(emulator.accepted.allSatisfy { $0.state == "OFFLINE" })
    let socket = bench.directory("control.sock")
    let doctor = try ChildProcess("fleet-locationctl", ["doctor", "--config", settings, "--socket", socket])
    try expectEqual(doctor.finish(), 1)
    expect(doctor.output.text.contains("/offline: cannot be read or is damaged"))
    try run(bench, "online")
    let healed = try ChildProcess("fleet-locationctl", ["doctor", "--config", settings, "--socket", socket])
    _ = try healed.finish()
    expect(healed.output.lines.contains("Service"), "\(healed.output.text)\(healed.errors.text)")
    expect(!healed.output.text.contains("cannot be read or is damaged"))
  }

  @Test(
    "offline and online are refused, with the reason, for deliveries and for trips with report_state = false",
    arguments: [true, false])
  func noDuty(isDelivery: Bool) throws {
    let bench: TestBench
    if isDelivery {
      bench = try TestBench()
      bench.settings.source("simulated", ["route": "\"\(ChildProcess.root)/config/examples/demo.gpx\""])
    } else {
      bench = try taxi().0
      bench.settings["vehicle.report_state"] = "false"
    }
    let daemon = try bench.start(environment: ["RUNTIME_DIRECTORY": bench.directory.path])
    try bench.wait("an update") { daemon.shows("Online") }
    for command in ["offline", "online"] {
      let process = try ChildProcess("fleet-locationctl", [command, "--socket", bench.directory("control.sock")])
      try expectEqual(process.finish(), 69)
      expect(process.errors.text.contains(isDelivery ? "has no ONLINE and OFFLINE" : "report_state = false"))
    }
  }

  @Test(
    "doctor, token and metrics use the configured service, and doctor reports a token for the other service"
  )
  func service() throws {
    let (bench, emulator) = try taxi()
    let settings = try bench.writeSettings()
    try bench.start(environment: ["RUNTIME_DIRECTORY": bench.directory.path])
    try bench.wait("an update") { !emulator.accepted.isEmpty }
    func run(_ arguments: String...) throws -> (code: Int32, text: String) {
      let process = try ChildProcess("fleet-locationctl", arguments)
      return (try process.finish(), process.output.text)
    }
    let socket = bench.directory("control.sock")
    var doctor = try run("doctor", "--config", settings, "--socket", socket)
    expectEqual(doctor.code, 0, "\(doctor.text)")
    expect(
      doctor.text.contains(
        "  pass  it accepts the token: a test update was rejected only because of its empty mask, as intended"))
    let token = try run("token", "--config", settings)
    expect(token.code == 0 && token.text.contains("vehicleid"), "\(token.text)")
    let metrics = try run("metrics", "--socket", socket).text.split(separator: "\n")
    for (name, part) in [("service_info", "service=\"trips\""), ("vehicle_online", "vehicle=")] {
      expect(metrics.contains { $0.hasPrefix("fleet_locationd_\(name)") && $0.contains(part) && $0.hasSuffix(" 1") })
    }
    try emulator.fault(#"{"target": "token", "token": "wrong-service", "times": 10}"#)
    doctor = try run("doctor", "--config", settings, "--socket", socket)
    expectEqual(doctor.code, 1)
    expect(doctor.text.contains("is for `deliveryvehicleid`, and the settings say trips"), "\(doctor.text)")
    expect(try run("token", "--config", settings).code != 0)
  }
}
