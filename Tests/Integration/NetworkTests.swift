// SPDX-License-Identifier: Apache-2.0
import Expectations
import FileTesting
import Foundation
import Glibc
import Testing

/// The machine's network as the kernel reports it, in the daemon's own network namespace.
@Suite(.enabled(if: ChildProcess.canMount, "a network namespace requires root")) struct NetworkTests {
  @Test(
    "STATUS and journal report a missing network until there is a link, an address and a default route")
  func comesAndGoes() throws {
    let bench = try TestBench()
    let receiver = try bench.receiver()
    bench.settings["fleet_engine.endpoint"] = "\"https://fleetengine.example\""
    bench.settings["reporting.interval"] = "\"5s\""
    let notifications = try NotifySocket(path: bench.directory("notify"))
    bench.otherReadables.append(notifications)
    let daemon = try ChildProcess(
      "/usr/bin/unshare",
      ["--net", "\(ChildProcess.products)/fleet-locationd", "--config", try bench.writeSettings()],
      environment: ["NOTIFY_SOCKET": notifications.path])
    bench.otherReadables.append(contentsOf: daemon.sources)
    try bench.wait("it opens the receiver") { receiver.isOpened }
    var drive = NMEADrive()
    receiver.send(drive.next())
    try bench.wait("no network") { notifications.statuses.last?.hasPrefix("No network for ") == true }
    func ip(_ words: String...) throws {
      let process = try ChildProcess("/usr/bin/nsenter", ["--target", "\(daemon.processID)", "--net", "ip"] + words)
      guard try process.finish() == 0 else { throw TestFailure("ip \(words): \(process.errors.text)") }
    }
    func lines(_ text: String) -> Int { daemon.errors.lines.count { $0.contains(text) } }

    try ip("link", "add", "wwan0", "type", "veth", "peer", "name", "mast0")
    try ip("link", "set", "mast0", "up")
    try ip("link", "set", "wwan0", "up")
    try ip("addr", "add", "10.64.7.2/30", "dev", "wwan0")
    try bench.watch(for: .milliseconds(400))
    expectEqual(lines("Network on"), 0)
    try ip("route", "add", "default", "via", "10.64.7.1")
    try bench.wait("a network") { lines("Network on wwan0, after ") == 1 }
    try bench.wait("the status says what else is wrong") {
      notifications.statuses.last?.hasPrefix("No network") == false
    }
    // The kernel removes the route too, without notifying the daemon.
    try ip("addr", "del", "10.64.7.2/30", "dev", "wwan0")
    try bench.wait("no network again") { notifications.statuses.last?.hasPrefix("No network for ") == true }
    expectEqual(lines("No network: no interface"), 1)
    daemon.signal(SIGTERM)
    try bench.wait("the end") { daemon.hasEnded }
    expectEqual(daemon.exitCode, 0)
  }

  @Test("updates are sent even if network changes cannot be monitored")
  func denied() throws {
    let bench = try TestBench()
    let receiver = try bench.receiver()
    var environment = try ShiftedClock(in: bench.directory).environment
    environment["NO_NETLINK"] = "1"
    let daemon = try bench.start(reading: receiver, environment: environment)
    var drive = NMEADrive()
    receiver.send(drive.next())
    try bench.wait("an update") { bench.emulator?.accepted.count == 1 }
    try bench.wait("the journal says so") {
      daemon.logs("Network changes are not monitored: ") && daemon.logs("AF_NETLINK")
    }
  }
}
