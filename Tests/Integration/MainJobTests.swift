// SPDX-License-Identifier: Apache-2.0
import Foundation
import Glibc
import Testing

@Suite struct MainJobTests {
  static let route = """
    <gpx version="1.1" creator="test" xmlns="http://www.topografix.com/GPX/1/1"><trk><trkseg>
    <trkpt lat="48.1000" lon="11.5000"/><trkpt lat="48.2000" lon="11.5000"/></trkseg></trk></gpx>
    """

  @Test("a simulated route becomes accepted updates along the route")
  func simulation() throws {
    let bench = try TestBench()
    let route = try bench.directory.write(MainJobTests.route, to: "route.gpx")
    bench.settings.source("simulated", ["route": "\"\(route)\"", "noise": "\"0 m\""])
    let daemon = try bench.start()
    try bench.wait("three accepted updates") { bench.emulator?.accepted.count ?? 0 >= 3 }
    let positions = bench.emulator?.accepted.compactMap(\.live) ?? []
    #expect(positions.allSatisfy { abs($0.longitude - 11.5) < 1e-5 && $0.latitude >= 48.1 })
    #expect(positions.map(\.latitude) == positions.map(\.latitude).sorted())
    #expect(positions.map(\.time) == positions.map(\.time).sorted())
    daemon.process.signal(SIGTERM)
    #expect(try bench.exitCode() == 0)
  }

  @Test("a recording with pace 0 and interval 0s arrives fix by fix, and the program exits 0")
  func replay() throws {
    let bench = try TestBench()
    var drive = Drive(from: Date(timeIntervalSince1970: 1_700_000_000))
    try bench.recording(drive.next(50))
    let daemon = try bench.start()
    #expect(try bench.exitCode() == 0)
    let positions = bench.emulator?.accepted.compactMap(\.live) ?? []
    #expect(positions.count == 50)
    #expect(Set(positions).count == 50)
    #expect(positions.first?.time.hasPrefix("2023-11-14T22:13:20") == true)
    #expect(positions.map(\.time) == positions.map(\.time).sorted())
    #expect(daemon.notifications.states == ["READY", "STOPPING"])
    #expect(daemon.logs("everything delivered"))
  }

  @Test("standard input is a recording too")
  func standardInput() throws {
    let bench = try TestBench()
    var drive = Drive(from: Date(timeIntervalSince1970: 1_700_000_000))
    let file = try bench.directory.write(drive.next(5), to: "drive.nmea")
    bench.settings.source("replay", ["file": "\"-\"", "pace": "0"])
    try bench.start(input: file)
    #expect(try bench.exitCode() == 0)
    #expect(bench.emulator?.accepted.count == 5)
  }
}
