// SPDX-License-Identifier: Apache-2.0
import Expectations
import FileTesting
import Glibc
import Testing

/// How often the daemon wakes up while nothing is due, in real time.
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
    // On a machine that stalls, an earlier wake-up may be so late that it falls into the first window.
    let isQuiet = try (1...3).contains { _ in
      let before = try daemon.process.statusField("voluntary_ctxt_switches")
      try bench.watch(for: .seconds(3))
      return try daemon.process.statusField("voluntary_ctxt_switches") - before <= 2
    }
    expect(isQuiet)
  }
}
