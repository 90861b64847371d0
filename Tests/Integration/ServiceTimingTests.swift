// SPDX-License-Identifier: Apache-2.0
import Expectations
import FileTesting
import Foundation
import Glibc
import Testing

/// The daemon's behaviour in real time. `make test` runs the suites that are named `…TimingTests` alone, one test after
/// the other: in parallel with other tests, they would measure the machine's load.
@Suite(.serialized) struct ServiceTimingTests {
  @Test("the watchdog is notified twice per interval, even while the source is silent")
  func watchdog() throws {
    let bench = try TestBench()
    _ = try bench.receiver()
    let daemon = try bench.start(environment: ["WATCHDOG_USEC": "600000"])
    try bench.wait("five pings") { daemon.notifications.count(of: "WATCHDOG") >= 5 }
    let pings = daemon.notifications.messages.filter { $0.assignments["WATCHDOG"] == "1" }.map(\.at)
    for (before, after) in zip(pings, pings.dropFirst()) { expect(before.duration(to: after) < .milliseconds(600)) }
  }

  @Test("SIGTERM stops the daemon within stop_timeout even if Fleet Engine does not respond")
  func stopWhileWaiting() throws {
    let bench = try TestBench()
    let receiver = try bench.receiver()
    bench.settings["reporting.stop_timeout"] = "\"500ms\""
    try bench.emulator?.fault(#"{"target": "update", "drop": true, "times": 100}"#)
    let daemon = try bench.start(reading: receiver)
    var drive = NMEADrive()
    receiver.send(drive.next())
    try bench.wait("a request") { bench.emulator?.updates.count == 1 }
    let start = ContinuousClock.now
    daemon.process.signal(SIGTERM)
    try expectEqual(bench.exitCode(), 0)
    expect(ContinuousClock.now - start < .milliseconds(1500))
    expect(daemon.logs("Stopped with 1 position undelivered"))
  }

  @Test("nothing is written to disk while updates are accepted", .enabled(if: ChildProcess.canInspect))
  func idleDisk() throws {
    let bench = try TestBench()
    let track = LiveTrack(try bench.receiver())
    let state = bench.directory("state")
    mkdir(state, 0o700)
    let daemon = try bench.start(environment: ["STATE_DIRECTORY": state, "RUNTIME_DIRECTORY": bench.directory.path])
    func written() throws -> Int {
      let text = try String(contentsOfFile: "/proc/\(daemon.process.processID)/io", encoding: .utf8)
      let line = text.split(separator: "\n").first { $0.hasPrefix("write_bytes:") }
      return try #require(line.flatMap { Int($0.dropFirst("write_bytes: ".count)) })
    }
    func modified() -> [Int] {
      ["backlog.sqlite", "backlog.sqlite-wal"].map { name in
        var status = stat()
        guard stat("\(state)/\(name)", &status) == 0 else { return 0 }
        return status.st_mtim.tv_sec * 1_000_000_000 + status.st_mtim.tv_nsec
      }
    }
    func drive(_ what: String, updates: Int) throws {
      let seen = bench.emulator?.accepted.count ?? 0
      try bench.wait(what, within: .seconds(20)) {
        track.pump()
        return bench.emulator?.accepted.count ?? 0 > seen + updates
      }
    }
    try drive("updates", updates: 3)
    let (before, files) = (try written(), modified())
    // With an update every 100 ms, this takes longer than the commit interval.
    try drive("many updates", updates: 70)
    try expectEqual(written(), before)
    expectEqual(modified(), files)
  }

  @Test("the daemon has one thread, and does not wake up while nothing is due")
  func quiet() throws {
    let bench = try TestBench()
    let fifo = bench.directory("fifo")
    expectEqual(mkfifo(fifo, 0o600), 0)
    bench.settings.source("replay", ["file": "\"\(fifo)\"", "pace": "1"])
    bench.settings["reporting.heartbeat"] = "\"50s\""
    let daemon = try bench.start()
    let writer = open(fifo, O_RDWR | O_NONBLOCK | O_CLOEXEC)
    defer { close(writer) }
    var drive = NMEADrive()
    let text = drive.next(2)
    expectEqual(write(writer, text, text.utf8.count), text.utf8.count)
    try bench.wait("an update") { bench.emulator?.accepted.count == 1 }
    // The second position's epoch has not ended: nothing is due until the fix is regarded as lost, after 30 s.
    try bench.watch(for: .milliseconds(1500))
    try expectEqual(daemon.process.statusField("Threads"), 1)
    let before = try daemon.process.statusField("voluntary_ctxt_switches")
    try bench.watch(for: .seconds(3))
    let wakeUps = try daemon.process.statusField("voluntary_ctxt_switches") - before
    expect(wakeUps <= 2)
  }

  @Test(
    "unresponsive name servers block neither the event loop nor the shutdown",
    .enabled(if: ChildProcess.canMount, "another resolv.conf wants a mount"))
  func deadNameServers() throws {
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
    bench.servers.append(notifications)
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
    let pings = notifications.messages.filter { $0.assignments["WATCHDOG"] == "1" }.map(\.at)
    let gaps = zip(pings, pings.dropFirst()).map { $0.duration(to: $1) }
    expect(try #require(gaps.max()) < .milliseconds(400))
    process.signal(SIGTERM)
    try bench.wait("the end") { process.hasEnded }
    expectEqual(process.exitCode, 0)
    expect(ContinuousClock.now - start < .seconds(4))
  }
}
