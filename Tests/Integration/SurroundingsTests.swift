// SPDX-License-Identifier: Apache-2.0
import Expectations
import FileTesting
import Foundation
import Glibc
import Testing

/// Faults in the daemon's environment.
struct SurroundingsTests {
  @Test("the daemon survives the exit of the process that reads its standard error")
  func brokenPipe() throws {
    let bench = try TestBench()
    let receiver = try bench.receiver()
    bench.settings["log.level"] = "\"debug\""
    let daemon = try bench.start(reading: receiver)
    daemon.process.errors.closeReader()
    var drive = NMEADrive()
    drive.period = 0.2
    for count in 1...3 {
      receiver.send(drive.next())
      try bench.wait("an update") { bench.emulator?.accepted.count == count }
    }
    daemon.process.signal(SIGTERM)
    try expectEqual(bench.exitCode(), 0)
  }

  @Test("a full pipe as standard error does not block the daemon: all positions are sent")
  func fullPipe() throws {
    let bench = try TestBench()
    bench.settings["log.level"] = "\"debug\""
    var drive = NMEADrive(from: Date(timeIntervalSince1970: 1_700_000_000))
    try bench.recording(drive.next(300))
    let fifo = bench.directory("stderr")
    mkfifo(fifo, 0o600)
    let reader = open(fifo, O_RDWR | O_NONBLOCK | O_CLOEXEC)
    defer { close(reader) }
    // The pipe is full before the daemon starts.
    let filling = [UInt8](repeating: 0x2E, count: 65_536)
    while write(reader, filling, filling.count) > 0 {}
    let process = try ChildProcess(
      "/bin/sh",
      [
        "-c", "exec \"$1\" --config \"$2\" 2>\"$3\"", "sh", "\(ChildProcess.products)/fleet-locationd",
        try bench.writeSettings(), fifo,
      ])
    try bench.wait("the end") { process.hasEnded }
    expectEqual(process.exitCode, 0)
    expectEqual(bench.emulator?.accepted.count, 300)
  }

  @Test("proxy settings in the environment are ignored")
  func proxies() throws {
    let bench = try TestBench()
    let receiver = try bench.receiver()
    let proxy = "http://127.0.0.1:\(try Loopback.freePort())"
    try bench.start(reading: receiver, environment: ["http_proxy": proxy, "https_proxy": proxy, "all_proxy": proxy])
    var drive = NMEADrive()
    receiver.send(drive.next())
    try bench.wait("an update") { bench.emulator?.accepted.count == 1 }
  }

  @Test("SIGHUP without a settings file leaves the current settings in force")
  func settingsGone() throws {
    let bench = try TestBench()
    let receiver = try bench.receiver()
    let daemon = try bench.start(reading: receiver)
    let path = bench.directory("fleet-locationd.toml")
    unlink(path)
    for round in 1...3 {
      daemon.process.signal(SIGHUP)
      try bench.wait("the reload") { daemon.notifications.count(of: "RELOADING") == round }
    }
    try bench.wait("it is ready") { daemon.notifications.count(of: "READY") == 4 }
    expect(daemon.log.contains { $0.contains("Settings not reloaded") && $0.contains("\(path): does not exist") })
    var drive = NMEADrive()
    receiver.send(drive.next())
    try bench.wait("an update") { bench.emulator?.accepted.count == 1 }
  }

  @Test("for a recording without a position, the daemon warns and exits with 65", arguments: ["", "no NMEA at all\n"])
  func emptyRecording(text: String) throws {
    let bench = try TestBench()
    try bench.recording(text)
    let daemon = try bench.start()
    try expectEqual(bench.exitCode(), 65)
    expect(daemon.log.contains { $0.hasPrefix("warning: ") && $0.contains(bench.directory("drive.nmea")) })
  }
}
