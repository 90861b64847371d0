// SPDX-License-Identifier: Apache-2.0
import Expectations
import FileTesting
import Glibc
import Testing

/// Receivers that are missing, unplugged or silent, or that send noise.
struct SerialTests {
  @Test("the daemon waits for a missing device, and reads it as soon as it is plugged in")
  func missing() throws {
    let bench = try TestBench()
    let receiver = try bench.receiver(isPluggedIn: false)
    let daemon = try bench.start()
    try bench.wait("the status says so") {
      daemon.shows("No source: \(receiver.device): there is no such device; plug the receiver in")
    }
    expect(daemon.log.contains { $0.hasPrefix("warning: Source unavailable: \(receiver.device)") })
    try receiver.plugIn()
    try bench.wait("it opens the device") { receiver.isOpened }
    var drive = NMEADrive()
    receiver.send(drive.next())
    try bench.wait("an update") { bench.emulator?.accepted.count == 1 }
    expect(daemon.logs("Reading \(receiver.device) at 9600 baud"))
  }

  @Test("a directory in place of the device is reported, and the daemon keeps running")
  func directory() throws {
    let bench = try TestBench(emulator: nil)
    bench.settings.source("serial", ["device": "\"\(bench.directory.path)\""])
    let daemon = try bench.start()
    try bench.wait("the status says so") {
      daemon.shows("No source: \(bench.directory.path): this is a directory; a receiver is a file such as /dev/ttyUSB0")
    }
    try bench.wait("it is ready") { daemon.notifications.states == ["READY"] }
    expectNil(daemon.process.exitCode)
  }

  @Test("a receiver that is unplugged and plugged in again is read, even as another tty")
  func unplug() throws {
    let bench = try TestBench()
    let receiver = try bench.receiver()
    let daemon = try bench.start(reading: receiver)
    var drive = NMEADrive()
    drive.period = 0.5
    receiver.send(drive.next())
    try bench.wait("an update") { bench.emulator?.accepted.count == 1 }
    for round in 2...3 {
      receiver.unplug()
      try bench.wait("the status says so") { daemon.statuses.last?.hasPrefix("No source: \(receiver.device)") == true }
      try receiver.plugIn()
      try bench.wait("it opens the device") { receiver.isOpened }
      receiver.send(drive.next())
      try bench.wait("an update") { bench.emulator?.accepted.count == round }
    }
    expect(daemon.log.contains { $0.contains("the device hung up") || $0.contains("the device is gone") })
  }

  @Test("a silent receiver is reported, and its port is reopened")
  func silence() throws {
    let bench = try TestBench()
    let receiver = try bench.receiver(silenceTimeout: "2s")
    let daemon = try bench.start(reading: receiver)
    var drive = NMEADrive()
    receiver.send(drive.next())
    try bench.wait("the status says so") {
      daemon.shows("No source: \(receiver.device) is open but silent for 2 s; check the receiver and its power")
    }
    let before = try #require(bench.emulator).accepted.count
    let track = LiveTrack(receiver, period: 0.5)
    try bench.wait("an update") {
      track.pump()
      return bench.emulator?.accepted.count ?? 0 > before
    }
    // If the machine stalls, the receiver may be silent once more.
    let silences = daemon.log.count { $0.contains("is open but silent for 2 s") }
    let readings = daemon.log.count { $0.hasPrefix("Reading ") }
    expect(readings >= 2 && readings <= silences + 1, "\(readings), \(silences)")
  }

  @Test("noise, as at a wrong baud rate, is reported with the setting to check, and later sentences are read")
  func garbage() throws {
    let bench = try TestBench()
    let receiver = try bench.receiver(silenceTimeout: "2s")
    let daemon = try bench.start(reading: receiver)
    var random = SystemRandomNumberGenerator()
    let end = ContinuousClock.now + .seconds(10)
    while !daemon.shows("check source.baud"), ContinuousClock.now < end {
      receiver.send((0..<200).map { _ in UInt8.random(in: 0...255, using: &random) })
      try bench.watch(for: .milliseconds(100))
    }
    expect(daemon.shows("No source: \(receiver.device) sends bytes but no complete NMEA sentence for 2 s"))
    expectEqual(bench.emulator?.updates.isEmpty, true)
    var drive = NMEADrive()
    drive.period = 0.5
    var sentAt: ContinuousClock.Instant?
    try bench.wait("an update", within: .seconds(20)) {
      // The fixes are sent at their own times.
      if sentAt.map({ ContinuousClock.now - $0 >= .milliseconds(500) }) ?? true {
        receiver.send("\u{1}\u{2}garbage$GP" + drive.next())
        sentAt = .now
      }
      return bench.emulator?.accepted.isEmpty == false
    }
    expectNil(daemon.process.exitCode)
  }
}
