// SPDX-License-Identifier: Apache-2.0
import Expectations
import FileTesting
import Foundation
import Glibc
import Testing

/// What systemd sees of the daemon.
struct ServiceTests {
  @Test("READY is sent even while the source is missing, after a STATUS that names the source")
  func readiness() throws {
    let bench = try TestBench()
    let receiver = try bench.receiver(isPluggedIn: false)
    let daemon = try bench.start()
    try bench.wait("it is ready") { daemon.notifications.states == ["READY"] }
    let messages = daemon.notifications.messages
    let ready = try #require(messages.firstIndex { $0.assignments["READY"] == "1" })
    expect(
      messages[..<ready].contains { $0.assignments["STATUS"]?.hasPrefix("No source: \(receiver.device)") == true })
    expectNil(daemon.process.exitCode)
  }

  @Test("with invalid settings, the daemon reports the reason in STATUS, sends no READY, and exits with 78")
  func noReadiness() throws {
    let bench = try TestBench(emulator: nil)
    bench.settings["reporting.interval"] = "\"soon\""
    let daemon = try bench.start()
    try expectEqual(bench.exitCode(), 78)
    let messages = daemon.notifications.messages
    expectEqual(messages.map { Array($0.assignments.keys) }, [["STATUS"]])
    expectEqual(messages.last?.assignments["STATUS"]?.hasPrefix("Ended: "), true)
  }

  @Test("SIGHUP applies new settings, even a different vehicle and receiver, between RELOADING and READY")
  func reload() throws {
    let bench = try TestBench()
    let receiver = try bench.receiver()
    let daemon = try bench.start(reading: receiver)
    var drive = NMEADrive()
    receiver.send(drive.next())
    try bench.wait("an update") { bench.emulator?.accepted.count == 1 }

    let other = Receiver(device: bench.directory("gps1"))
    try other.plugIn()
    bench.settings["vehicle.vehicle_id"] = "\"truck-18\""
    bench.settings["source.device"] = "\"\(other.device)\""
    try bench.writeSettings()
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    let before = time.tv_sec * 1_000_000 + time.tv_nsec / 1000
    daemon.process.signal(SIGHUP)
    try bench.wait("the reload") { daemon.notifications.states == ["READY", "RELOADING", "READY"] }
    let reloading = daemon.notifications.messages.first { $0.assignments["RELOADING"] == "1" }
    let stamp = try #require(reloading?.assignments["MONOTONIC_USEC"].flatMap { Int($0) })
    expect(before <= stamp && stamp < before + 10_000_000)
    expect(daemon.logs("Settings reloaded"))

    receiver.send(drive.next())
    var otherDrive = NMEADrive()
    otherDrive.step = 0.000_2
    other.send(otherDrive.next(2))
    try bench.wait("an update of the other vehicle") {
      bench.emulator?.accepted.contains { $0.path.hasSuffix("deliveryVehicles/truck-18") } ?? false
    }
    let paths = Set(bench.emulator?.accepted.dropFirst().map(\.path) ?? [])
    expectEqual(paths.count, 1)
  }

  @Test("SIGHUP with a shorter interval sends a position that was not due before")
  func reloadInterval() throws {
    let bench = try TestBench()
    let receiver = try bench.receiver()
    bench.settings["reporting.interval"] = "\"30s\""
    bench.settings["log.level"] = "\"debug\""
    let daemon = try bench.start(reading: receiver)
    var drive = NMEADrive()
    drive.period = 0.2
    receiver.send(drive.next())
    try bench.wait("an update") { bench.emulator?.accepted.count == 1 }
    receiver.send(drive.next())
    try bench.watch(for: .milliseconds(500))
    expectEqual(bench.emulator?.accepted.count, 1)
    bench.settings["reporting.interval"] = "\"0s\""
    try bench.writeSettings()
    daemon.process.signal(SIGHUP)
    try bench.wait("the second update") { bench.emulator?.accepted.count == 2 }
    expect(try #require(bench.emulator).stats()["tokens"] as? Int == 1)
  }

  @Test("SIGHUP with invalid settings does not change the current ones, and reports file and line")
  func badReload() throws {
    let bench = try TestBench()
    let receiver = try bench.receiver()
    let daemon = try bench.start(reading: receiver)
    try bench.wait("it is ready") { daemon.notifications.states == ["READY"] }
    let path = try bench.directory.write(bench.settings.text + "intervall = \"5s\"\n", to: "fleet-locationd.toml")
    daemon.process.signal(SIGHUP)
    try bench.wait("the reload") { daemon.notifications.states == ["READY", "RELOADING", "READY"] }
    let line = bench.settings.text.split(separator: "\n", omittingEmptySubsequences: false).count
    expect(daemon.logs("\(path):\(line):"))
    expect(daemon.logs("the previous ones stay in force"))
    var drive = NMEADrive()
    receiver.send(drive.next())
    try bench.wait("an update") { bench.emulator?.accepted.count == 1 }
  }

  @Test("SIGTERM sends pending positions and exits with 0 within stop_timeout")
  func stop() throws {
    let bench = try TestBench()
    let receiver = try bench.receiver()
    bench.settings["reporting.interval"] = "\"2s\""
    bench.settings["reporting.stop_timeout"] = "\"20s\""
    let daemon = try bench.start(reading: receiver, environment: ["RUNTIME_DIRECTORY": bench.directory.path])
    var drive = NMEADrive()
    drive.period = 0.3
    receiver.send(drive.next())
    try bench.wait("an update") { bench.emulator?.accepted.count == 1 }
    receiver.send(drive.next())
    // The second epoch ends when the receiver is silent. No update shows this end, because the fix is not due yet.
    try bench.wait("the second fix") { try bench.fixCount() == 2 }
    daemon.process.signal(SIGTERM)
    try expectEqual(bench.exitCode(within: .seconds(15)), 0)
    expectEqual(bench.emulator?.accepted.count, 2)
    expectEqual(daemon.notifications.states, ["READY", "STOPPING"])
    expect(daemon.logs("all positions delivered"))
  }

  /// Starts a program that may write core files, kills it with SIGSEGV, and returns whether it left a core file.
  private func dumpsCore(_ bench: TestBench, _ program: [String], when isReady: (ChildProcess) -> Bool) throws -> Bool {
    let process = try ChildProcess(
      "/bin/sh",
      ["-c", "cd \"$1\" && shift && ulimit -c unlimited && exec \"$@\"", "sh", bench.directory.path] + program,
      environment: ["SWIFT_BACKTRACE": "enable=no"])
    try wait(for: "the program", within: .seconds(20), reading: process.sources) {
      isReady(process) || process.hasEnded
    }
    process.signal(SIGSEGV)
    try process.finish()
    expectEqual(process.exitCode, 128 + SIGSEGV)
    return process.hasDumpedCore
  }

  @Test("a crash leaves no core file, even if the limit allows one")
  func coreFile() throws {
    let bench = try TestBench()
    _ = try bench.receiver(isPluggedIn: false)
    let settings = try bench.writeSettings()
    guard try dumpsCore(bench, ["/bin/sh", "-c", "echo; while :; do :; done"], when: { !$0.output.lines.isEmpty })
    else { try Test.cancel("this machine writes no core files") }
    let products = ChildProcess.products
    let daemon = try dumpsCore(bench, ["\(products)/fleet-locationd", "--config", settings]) { process in
      process.errors.lines.contains { $0.contains("Started") }
    }
    expect(!daemon)
  }

  @Test("a hundred updates start no thread and leak no descriptor", .enabled(if: ChildProcess.canInspect))
  func descriptors() throws {
    let bench = try TestBench()
    let fifo = bench.directory("fifo")
    expectEqual(mkfifo(fifo, 0o600), 0)
    bench.settings.source("replay", ["file": "\"\(fifo)\"", "pace": "0"])
    let daemon = try bench.start()
    let writer = open(fifo, O_RDWR | O_NONBLOCK | O_CLOEXEC)
    defer { close(writer) }
    var drive = NMEADrive()
    func deliver(_ count: Int) throws {
      let before = bench.emulator?.accepted.count ?? 0
      let text = drive.next(count)
      expectEqual(write(writer, text, text.utf8.count), text.utf8.count)
      // The last epoch ends only when another one begins.
      try bench.wait("\(count) updates") { (bench.emulator?.accepted.count ?? 0) >= before + count - 1 }
    }
    try deliver(5)
    let before = try daemon.process.descriptorCount()
    try deliver(100)
    try expectEqual(daemon.process.descriptorCount(), before)
    try expectEqual(daemon.process.statusField("Threads"), 1)
  }

  @Test("without a journal behind JOURNAL_STREAM, messages are written to standard error")
  func noJournal() throws {
    let bench = try TestBench(emulator: nil)
    _ = try bench.receiver(isPluggedIn: false)
    let daemon = try bench.start(environment: ["JOURNAL_STREAM": "1:2"])
    try bench.wait("a line") { daemon.logs("Started") }
  }

  @Test(
    "if standard error is the journal, events are sent to the journal with their fields, and not as text",
    .enabled(
      if: ChildProcess.canMount && access("/run/systemd", F_OK) == 0, "a journal of its own requires a mount"))
  func journal() throws {
    let bench = try TestBench(emulator: nil)
    let receiver = try bench.receiver(isPluggedIn: false)
    mkdir(bench.directory("journal"), 0o700)
    let journal = try NotifySocket(path: bench.directory("journal/socket"))
    bench.otherReadables.append(journal)
    let script = """
      mount -t tmpfs none /run/systemd && mkdir /run/systemd/journal && mount --bind "$1" /run/systemd/journal || exit 99
      JOURNAL_STREAM=$(stat -L -c %d:%i /proc/self/fd/2) exec "$2" --config "$3"
      """
    let process = try ChildProcess(
      "/usr/bin/unshare",
      [
        "--mount", "sh", "-c", script, "sh", bench.directory("journal"), "\(ChildProcess.products)/fleet-locationd",
        try bench.writeSettings(),
      ])
    try bench.wait("two entries") { journal.messages.count >= 2 || process.hasEnded }
    let entries = journal.messages.map(\.assignments)
    let started = try #require(entries.first { $0["FLEET_EVENT"] == "started" })
    expectEqual(started["MESSAGE"]?.hasSuffix(" for vehicle truck-17"), true)
    expectEqual(started["MESSAGE_ID"]?.utf8.count, 32)
    expectEqual(started["PRIORITY"], "5")
    let lost = try #require(entries.first { $0["FLEET_EVENT"] == "sourceLost" })
    expectEqual(lost["PRIORITY"], "4")
    expectEqual(lost["MESSAGE"]?.contains(receiver.device), true)
    process.errors.drain()
    expect(process.errors.text.isEmpty)
  }
}
