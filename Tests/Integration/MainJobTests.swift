// SPDX-License-Identifier: Apache-2.0
import Expectations
import FileTesting
import Foundation
import Glibc
import Testing

struct MainJobTests {
  static let route = """
    <gpx version="1.1" creator="test" xmlns="http://www.topografix.com/GPX/1/1"><trk><trkseg>
    <trkpt lat="48.1000" lon="11.5000"/><trkpt lat="48.2000" lon="11.5000"/></trkseg></trk></gpx>
    """

  @Test("a simulated drive results in accepted updates along its route")
  func simulation() throws {
    let bench = try TestBench()
    let route = try bench.directory.write(MainJobTests.route, to: "route.gpx")
    bench.settings.source("simulated", ["route": "\"\(route)\"", "noise": "\"0 m\""])
    let daemon = try bench.start()
    try bench.wait("three accepted updates") { bench.emulator?.accepted.count ?? 0 >= 3 }
    let positions = bench.emulator?.accepted.compactMap(\.live) ?? []
    expect(positions.allSatisfy { abs($0.longitude - 11.5) < 1e-5 && $0.latitude >= 48.1 })
    expectEqual(positions.map(\.latitude), positions.map(\.latitude).sorted())
    expectEqual(positions.map(\.time), positions.map(\.time).sorted())
    daemon.process.signal(SIGTERM)
    try expectEqual(bench.exitCode(), 0)
  }

  @Test("after SIGSTOP and SIGCONT, a simulated drive continues, and sends no positions of the seconds in between")
  func simulationAfterSleep() throws {
    let bench = try TestBench()
    let route = try bench.directory.write(MainJobTests.route, to: "route.gpx")
    bench.settings.source("simulated", ["route": "\"\(route)\"", "noise": "\"0 m\""])
    let daemon = try bench.start()
    try bench.wait("an update") { bench.emulator?.accepted.isEmpty == false }
    daemon.process.signal(SIGSTOP)
    let before = bench.emulator?.accepted.count ?? 0
    let wakes = ContinuousClock.now + .seconds(4)
    try bench.wait("it sleeps") { ContinuousClock.now >= wakes }
    daemon.process.signal(SIGCONT)
    try bench.wait("two more updates") { bench.emulator?.accepted.count ?? 0 >= before + 2 }
    let times = (bench.emulator?.accepted ?? []).flatMap { [$0.live].compactMap { $0 } + $0.past }.map(\.time).sorted()
    expect(zip(times, times.dropFirst()).contains { $1.timeIntervalSince($0) > 2.9 })
  }

  @Test("a recording with pace 0 and interval 0s is sent fix by fix, and the daemon exits with 0")
  func replay() throws {
    let bench = try TestBench()
    var drive = NMEADrive(from: Date(timeIntervalSince1970: 1_700_000_000))
    try bench.recording(drive.next(50))
    let daemon = try bench.start()
    try expectEqual(bench.exitCode(), 0)
    let positions = bench.emulator?.accepted.compactMap(\.live) ?? []
    expectEqual(positions.count, 50)
    expectEqual(Set(positions).count, 50)
    expectEqual(positions.first?.time, Date(timeIntervalSince1970: 1_700_000_000))
    expectEqual(positions.map(\.time), positions.map(\.time).sorted())
    expectEqual(daemon.notifications.states, ["READY", "STOPPING"])
    expect(daemon.logs("all positions delivered"))
  }

  @Test(
    "a recording whose times are shifted to now is delivered, at twenty times its pace or as fast as possible",
    arguments: ["20", "0"])
  func shifted(pace: String) throws {
    let bench = try TestBench()
    var drive = NMEADrive(from: Date(timeIntervalSince1970: 1_700_000_000))
    try bench.recording(drive.next(60), pace: pace)
    bench.settings["source.time"] = "\"shift\""
    let began = Date()
    let daemon = try bench.start()
    try expectEqual(bench.exitCode(), 0)
    expect(daemon.logs("all positions delivered") && !daemon.logs("rejected"))
    let times = (bench.emulator?.accepted ?? []).flatMap { $0.past.map(\.time) + [$0.live?.time].compactMap { $0 } }
    let first = try #require(times.min())
    let last = try #require(times.max())
    expect(first.timeIntervalSince(began) > -1 && first.timeIntervalSince(began) < 10)
    // The recording lasts 59 s.
    expect(abs(last.timeIntervalSince(first) - (pace == "0" ? 59 : 59.0 / 20)) < 0.5)
  }

  @Test("standard input is accepted as a recording")
  func standardInput() throws {
    let bench = try TestBench()
    var drive = NMEADrive(from: Date(timeIntervalSince1970: 1_700_000_000))
    let file = try bench.directory.write(drive.next(5), to: "drive.nmea")
    bench.settings.source("replay", ["file": "\"-\"", "pace": "0"])
    try bench.start(input: file)
    try expectEqual(bench.exitCode(), 0)
    expectEqual(bench.emulator?.accepted.count, 5)
  }

  @Test(
    "if no position of a recording is accepted, the daemon says so and exits with 65",
    arguments: [
      (20, "all positions of the recording were rejected, 20 of 20"), (0, "the recording had no position"),
    ])
  func rejected(count: Int, says: String) throws {
    let bench = try TestBench()
    var drive = NMEADrive(from: Date(timeIntervalSince1970: 1_700_000_000))
    try bench.recording(drive.next(count))
    bench.settings["filter.max_accuracy"] = "\"1 m\""
    let daemon = try bench.start()
    try expectEqual(bench.exitCode(), 65)
    expect(daemon.logs(says) && !daemon.logs("positions delivered"))
    expectEqual(bench.emulator?.accepted.isEmpty, true)
  }

  @Test("rejected positions are counted separately from delivered ones")
  func partlyRejected() throws {
    let bench = try TestBench()
    var drive = NMEADrive(from: Date(timeIntervalSince1970: 1_700_000_000))
    let before = drive.next(5)
    drive.longitude += 1
    let wild = drive.next(1)
    drive.longitude -= 1
    try bench.recording(before + wild + drive.next(5))
    let daemon = try bench.start()
    try expectEqual(bench.exitCode(), 0)
    expect(daemon.logs("Stopped, all accepted positions delivered; 1 of 11 positions was rejected"))
  }

  @Test("if a recording cannot be delivered, the daemon exits with 75 after drain_timeout")
  func undeliverable() throws {
    let bench = try TestBench()
    var drive = NMEADrive(from: Date(timeIntervalSince1970: 1_700_000_000))
    try bench.recording(drive.next(20), pace: "1000")
    bench.settings["fleet_engine.endpoint"] = "\"http://127.0.0.1:\(try Loopback.freePort())\""
    bench.settings["reporting.drain_timeout"] = "\"1s\""
    let daemon = try bench.start()
    try expectEqual(bench.exitCode(), 75)
    expect(daemon.logs("Stopped with 20 positions undelivered"))
    // The recording may end before the first attempt fails.
    expect(daemon.shows("Offline") || daemon.shows(": offline"))
  }

  @Test("if a recording cannot be delivered and the daemon is stopped, it exits with 0")
  func undeliverableAndStopped() throws {
    let bench = try TestBench()
    var drive = NMEADrive(from: Date(timeIntervalSince1970: 1_700_000_000))
    try bench.recording(drive.next(20))
    bench.settings["fleet_engine.endpoint"] = "\"http://127.0.0.1:\(try Loopback.freePort())\""
    let daemon = try bench.start()
    try bench.wait("it is offline") { daemon.shows("Offline") }
    daemon.process.signal(SIGINT)
    try expectEqual(bench.exitCode(within: .seconds(5)), 0)
    expect(daemon.logs("undelivered"))
  }

  /// Recordings of real receivers, if the folder beside the project exists.
  static let corpus =
    ProcessInfo.processInfo.environment["NMEA_CORPUS"] ?? "\(ChildProcess.root)/../shared/nmea-corpus"

  @Test(
    "recordings of real receivers are read through a serial port, and each sent position is in the recording",
    .enabled(if: access(corpus, R_OK) == 0, "NMEA_CORPUS names no folder of recordings"),
    arguments: ["ublox-8", "sirfstarv-nmea", "quectel-eg25-g"])
  func recordedReceivers(log: String) throws {
    let folder = MainJobTests.corpus
    let bytes = try Data(contentsOf: URL(fileURLWithPath: "\(folder)/corpus/\(log).nmea"))
    let reference = try Data(contentsOf: URL(fileURLWithPath: "\(folder)/ref/\(log).json"))
    let json = try JSONSerialization.jsonObject(with: reference) as? [String: Any]
    let epochs = try #require(json?["epochs"] as? [[String: Any]])
    let known = epochs.compactMap { epoch in
      (epoch["lat"] as? Double).flatMap { latitude in (epoch["lon"] as? Double).map { (latitude, $0) } }
    }
    let bench = try TestBench()
    let receiver = try bench.receiver()
    bench.settings["reporting.heartbeat"] = "\"1s\""
    let daemon = try bench.start(reading: receiver)
    try bench.wait("it waits for sentences") { daemon.notifications.states == ["READY"] }
    // The recording is sent at its own pace, because fixes from the future are rejected. It starts in the middle, where
    // the receiver has a fix.
    let bytesPerEpoch = bytes.count / epochs.count
    var rest = Array(bytes.suffix(bytes.count / 2))[...]
    while bench.emulator?.accepted.count ?? 0 < 5, !rest.isEmpty {
      receiver.send(rest.prefix(bytesPerEpoch / 4))
      rest = rest.dropFirst(bytesPerEpoch / 4)
      try bench.watch(for: .milliseconds(250))
    }
    try bench.wait("five updates") { bench.emulator?.accepted.count ?? 0 >= 5 }
    daemon.process.signal(SIGTERM)
    try expectEqual(bench.exitCode(), 0)
    for position in bench.emulator?.accepted.flatMap({ $0.past + [$0.live].compactMap(\.self) }) ?? [] {
      expect(
        known.contains { abs($0.0 - position.latitude) < 1e-6 && abs($0.1 - position.longitude) < 1e-6 },
        "\(position)")
    }
  }

  @Test("a simulated drive causes a warning if its positions leave this machine, but not for a loopback endpoint")
  func simulationIsLoud() throws {
    let bench = try TestBench()
    bench.settings.source("simulated", ["route": "\"\(ChildProcess.root)/config/examples/demo.gpx\""])
    let quiet = try bench.start()
    try bench.wait("an update") { bench.emulator?.accepted.isEmpty == false }
    quiet.process.signal(SIGTERM)
    try expectEqual(bench.exitCode(), 0)
    expect(!quiet.logs("Simulated positions"))
    bench.settings["fleet_engine.endpoint"] = "\"https://fleetengine.invalid\""
    bench.settings["reporting.interval"] = "\"5s\""
    let loud = try bench.start()
    try bench.wait("it says so") { loud.logs("Simulated positions are being sent to https://fleetengine.invalid") }
  }
}
