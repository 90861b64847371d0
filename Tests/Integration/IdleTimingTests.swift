// SPDX-License-Identifier: Apache-2.0
import Expectations
import FileTesting
import Foundation
import Glibc
import Testing

/// What the daemon writes while there are no failures, in real time.
struct IdleDiskTimingTests {
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
}

/// How often the daemon wakes up while nothing is due, in real time. A suite of its own: suites of wall time run in
/// parallel, and the tests of one do not.
struct IdleTimingTests {
  @Test("the daemon has one thread, and wakes up at most twice in 3 s while nothing is due")
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
}
