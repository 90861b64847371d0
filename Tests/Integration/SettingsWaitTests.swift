// SPDX-License-Identifier: Apache-2.0
import Expectations
import FileTesting
import Foundation
import Testing

/// A daemon whose settings name a file that does not exist yet, or is empty.
struct SettingsWaitTests {
  private func ask(_ bench: TestBench, _ arguments: String...) throws -> ChildProcess {
    let process = try ChildProcess("fleet-locationctl", arguments + ["--socket", bench.directory("control.sock")])
    _ = try process.finish()
    return process
  }

  @Test(
    "while the daemon waits for a file, status and explain name it, a reload retries at once, and a pause persists"
  )
  func waiting() throws {
    let bench = try TestBench()
    let receiver = try bench.receiver()
    let secret = bench.directory("secret")
    bench.settings["token.headers"] = "{ Authorization = { file = \"\(secret)\" } }"
    let metrics = bench.directory("metrics.prom")
    bench.settings["metrics.textfile"] = "\"\(metrics)\""
    let notOnline = "\nfleet_locationd_online{provider=\"my-project\",vehicle=\"\(TestBench.vehicle)\"} 0\n"
    let state = bench.directory("state")
    try FileManager.default.createDirectory(atPath: state, withIntermediateDirectories: true)
    let daemon = try bench.start(environment: ["RUNTIME_DIRECTORY": bench.directory.path, "STATE_DIRECTORY": state])
    try bench.wait("its status") { daemon.notifications.statuses.last?.hasPrefix("Waiting for a file") == true }
    for (command, code, says) in [
      ("status", Int32(1), secret), ("explain", 0, secret), ("metrics", 0, notOnline),
    ] {
      let answer = try ask(bench, command)
      expect(answer.exitCode == code && answer.errors.text.isEmpty)
      expect(answer.output.text.contains(says), "\(answer.output.text)")
    }
    expect(try String(contentsOfFile: metrics, encoding: .utf8).contains(notOnline))
    try expectEqual(ask(bench, "pause").exitCode, 0)
    let refused = try ask(bench, "reload")
    expect(refused.exitCode == 78 && refused.errors.text.contains(secret))
    try bench.directory.write("Bearer hush\n", to: "secret", mode: 0o600)
    try expectEqual(ask(bench, "reload").exitCode, 0)
    try bench.wait("it is paused") { daemon.shows("Paused since 20") }
    try bench.wait("it opens the receiver") { receiver.isOpened }
    var drive = NMEADrive()
    receiver.send(drive.next(3))
    // An epoch has ended after a third of a second at the latest.
    try bench.watch(for: .seconds(2))
    expect(try ask(bench, "status").output.text.contains("paused since 20"))
    expectEqual(bench.emulator?.accepted.isEmpty, true)
    try expectEqual(ask(bench, "resume").exitCode, 0)
    try bench.wait("an update") {
      receiver.send(drive.next())
      return bench.emulator?.accepted.isEmpty == false
    }
  }

  @Test("the daemon waits while the file of the vehicle's ID is empty, because it is just being written")
  func emptyVehicleID() throws {
    let bench = try TestBench()
    let receiver = try bench.receiver()
    let id = try bench.directory.write("", to: "vehicle-id")
    bench.settings["vehicle.vehicle_id"] = "{ file = \"\(id)\" }"
    let daemon = try bench.start(environment: ["RUNTIME_DIRECTORY": bench.directory.path])
    try bench.wait("its status") { daemon.notifications.statuses.last?.hasPrefix("Waiting for a file") == true }
    try bench.directory.write("\(TestBench.vehicle)\n", to: "vehicle-id")
    try expectEqual(ask(bench, "reload").exitCode, 0)
    try bench.wait("it opens the receiver") { receiver.isOpened }
  }
}
