// SPDX-License-Identifier: Apache-2.0
import Expectations
import FileTesting
import Foundation
import Glibc
import Testing

/// The daemon's behaviour in real time. `make test` runs the suites that are named `…TimingTests` when all others have
/// ended: in parallel with those, they would measure the machine's load.
@Suite(.serialized) struct ServiceTimingTests {
  /// The times between the watchdog pings so far.
  private func gaps(_ notifications: NotifySocket) -> [Duration] {
    let pings = notifications.messages.filter { $0.assignments["WATCHDOG"] == "1" }.map(\.at)
    return zip(pings, pings.dropFirst()).map { $0.duration(to: $1) }
  }

  @Test("the watchdog is notified within each interval, even while the source is silent")
  func watchdog() throws {
    let bench = try TestBench()
    _ = try bench.receiver()
    let daemon = try bench.start(environment: ["WATCHDOG_USEC": "600000"])
    // If the machine stalls, the pings after that must be in time.
    try bench.wait("five pings in time") {
      let last = gaps(daemon.notifications).suffix(4)
      return last.count == 4 && last.allSatisfy { $0 < .milliseconds(600) }
    }
  }

  @Test("a notification of the watchdog that the service manager's full queue refuses is repeated in time")
  func watchdogWithFullQueue() throws {
    let isInTime = try (1...5).contains { _ in
      let bench = try TestBench()
      _ = try bench.receiver()
      let daemon = try bench.start(environment: ["WATCHDOG_USEC": "4000000"])
      try bench.wait("the first ping") { daemon.notifications.count(of: "WATCHDOG") >= 1 }
      // The next one is due after two seconds.
      try bench.watch(for: .milliseconds(1500))
      // Otherwise the machine has stalled, and the queue would be full after the second one.
      guard daemon.notifications.count(of: "WATCHDOG") == 1 else { return false }
      let filled = daemon.notifications.fill()
      usleep(1_000_000)
      try bench.wait("the next ping") { daemon.notifications.count(of: "WATCHDOG") >= 2 }
      return try filled > 0 && #require(gaps(daemon.notifications).first) < .milliseconds(3900)
    }
    expect(isInTime)
  }

  @Test("SIGTERM stops the daemon at most 1 s after stop_timeout, even if Fleet Engine does not respond")
  func stopWhileWaiting() throws {
    let isInTime = try (1...5).contains { _ in
      let bench = try TestBench()
      let receiver = try bench.receiver()
      bench.settings["reporting.stop_timeout"] = "\"500ms\""
      try bench.emulator?.fault(#"{"target": "update", "drop": true, "times": 100}"#)
      let daemon = try bench.start(reading: receiver)
      var drive = NMEADrive()
      receiver.send(drive.next())
      try bench.wait("a request") { bench.emulator?.updates.isEmpty == false }
      let start = ContinuousClock.now
      daemon.process.signal(SIGTERM)
      try expectEqual(bench.exitCode(), 0)
      let time = ContinuousClock.now - start
      expect(daemon.logs("Stopped with 1 position undelivered"))
      return time < .milliseconds(1500)
    }
    expect(isInTime)
  }

  @Test(
    "unresponsive name servers block neither the event loop nor the shutdown",
    .enabled(if: ChildProcess.canMount, "another resolv.conf requires a mount"))
  func deadNameServers() throws {
    let isInTime = try (1...3).contains { _ in try isResponsiveWithoutNameServers() }
    expect(isInTime)
  }

  /// - Returns: whether every ping was in time, and so was the shutdown.
  private func isResponsiveWithoutNameServers() throws -> Bool {
    let bench = try TestBench()
    let receiver = try bench.receiver()
    bench.settings["fleet_engine.endpoint"] = "\"https://fleetengine.example\""
    bench.settings["fleet_engine.deadline"] = "\"1s\""
    bench.settings["reporting.interval"] = "\"5s\""
    bench.settings["reporting.stop_timeout"] = "\"1s\""
    // A datagram socket that receives the queries and never answers.
    let server = socket(AF_INET, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    defer { close(server) }
    var address = Loopback.address(53)
    address.sin_addr.s_addr = UInt32(0x7F2D_0935).bigEndian
    let bound = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(server, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    try #require(bound == 0)
    let resolver = try bench.directory.write("nameserver 127.45.9.53\n", to: "resolv.conf", mode: 0o644)
    let notifications = try NotifySocket(path: bench.directory("notify"))
    bench.otherReadables.append(notifications)
    let process = try ChildProcess(
      "/usr/bin/unshare",
      [
        "--mount", "sh", "-c", "mount --bind \"$1\" /etc/resolv.conf && exec \"$2\" --config \"$3\"", "sh", resolver,
        "\(ChildProcess.products)/fleet-locationd", try bench.writeSettings(),
      ], environment: ["NOTIFY_SOCKET": notifications.path, "WATCHDOG_USEC": "200000"])
    try bench.wait("it opens the receiver") { receiver.isOpened }
    var drive = NMEADrive()
    receiver.send(drive.next())
    try bench.wait("it is offline") { notifications.statuses.contains { $0.contains("(network): ") } }
    let start = ContinuousClock.now
    try bench.watch(for: .milliseconds(1500))
    let longestGap = try #require(gaps(notifications).max())
    process.signal(SIGTERM)
    try bench.wait("the end") { process.hasEnded }
    expectEqual(process.exitCode, 0)
    return longestGap < .milliseconds(400) && ContinuousClock.now - start < .seconds(4)
  }
}
