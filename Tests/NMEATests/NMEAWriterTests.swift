// SPDX-License-Identifier: Apache-2.0
import Expectations
import Testing
import Timekeeping

import DriveTesting
@testable import NMEA
@testable import Positioning
@testable import SimulatedDrives

struct NMEAWriterTests {
  private func sentences(_ fix: Fix) -> [String] {
    var writer = NMEAWriter()
    writer.append(fix)
    return String(decoding: writer.bytes, as: UTF8.self).split(separator: "\r\n").map(String.init)
  }

  private func fix(_ latitude: Double, _ longitude: Double) throws -> Fix {
    let stamp = try #require(Timestamp(rfc3339: "2026-11-21T08:30:02.250Z"))
    return Fix(coordinate: try #require(Coordinate(latitude: latitude, longitude: longitude)), time: .utc(stamp))
  }

  @Test("a fix is written as RMC, GGA, GSA, GST and VTG with valid checksums")
  func sentences() throws {
    var fix = try fix(54.781272, -9.436349)
    fix.altitude = 14.05
    fix.altitudeHAE = 54.05
    fix.speed = 10
    fix.heading = 359.996
    fix.satellites = 5
    fix.hdop = 1.25
    fix.horizontalAccuracy = 2.828
    fix.verticalAccuracy = 3
    expectEqual(
      sentences(fix),
      [
        "$GPRMC,083002.250,A,5446.87632,N,00926.18094,W,19.438,0.00,211126,,,A*70",
        "$GPGGA,083002.250,5446.87632,N,00926.18094,W,1,05,1.25,14.05,M,40.00,M,,*45",
        "$GPGSA,A,3,01,02,03,04,05,,,,,,,,2.38,1.25,2.00*0E",
        "$GPGST,083002.250,,,,,2.00,2.00,3.00*5A", "$GPVTG,0.00,T,,M,19.438,N,36.000,K,A*3F",
      ])
  }

  @Test("rounding up carries over, and extreme positions are decoded to within 5 cm")
  func edges() throws {
    for (latitude, longitude) in [(-89.999999999, 179.9999999999), (0, -0.0), (90, -180), (9.99999999999, 59.99999999)]
    {
      var fix = try fix(latitude, longitude)
      (fix.altitude, fix.altitudeHAE, fix.speed, fix.heading) = (-12_345.678, 100, 1234.5678, 123.456)
      (fix.satellites, fix.hdop, fix.horizontalAccuracy) = (99, 99.99, 1e7)
      for line in sentences(fix) { expect(line.utf8.count <= 90) }
      let lines = sentences(fix)
      var decoded: [Fix] = []
      var decoder = NMEADecoder()
      decoder.decode(Array((lines.joined(separator: "\r\n") + "\r\n").utf8), at: .boot) { decoded.append($0) }
      decoder.finish { decoded.append($0) }
      expect(decoder.counters.wrongChecksum == 0 && decoder.counters.unusable == 0)
      expectEqual(decoded.first.map { $0.coordinate.distance(to: fix.coordinate) < 0.05 }, true)
    }
  }

  @Test("non-finite and extreme numbers do not crash the writer")
  func nonsense() throws {
    for number in [Double.nan, .infinity, -.infinity, 1e300, -1e300] {
      var fix = try fix(1, 2)
      (fix.altitude, fix.altitudeHAE, fix.speed, fix.heading) = (number, number, number, number)
      (fix.hdop, fix.horizontalAccuracy, fix.verticalAccuracy) = (number, number, number)
      fix.satellites = .min
      fix.time = .ofDay(milliseconds: .max)
      _ = sentences(fix)
      fix.time = .utc(Timestamp(milliseconds: .min))
      _ = sentences(fix)
    }
  }

  @Test("decoding the written sentences gives the same fixes, and none where the receiver had no fix")
  func roundTrip() throws {
    let first = try #require(Coordinate(latitude: 48, longitude: -11))
    let route = try #require(
      Route(points: [
        Route.Point(coordinate: first, elevation: 400),
        Route.Point(coordinate: first.moved(by: 2000, heading: 250), elevation: 380),
        Route.Point(coordinate: first.moved(by: 3000, heading: 200), elevation: 390),
      ]))
    var settings = SimulationSettings.exact
    settings.noise = 2
    settings.tunnels = [.init(from: 500, length: 300)]
    settings.canyons = [.init(.init(from: 1200, length: 300))]
    settings.stops = [.init(.distance(1900), dwell: .seconds(20))]
    let simulator = try RouteSimulator(route: route, settings: settings)
    // The drive crosses midnight.
    let start = try #require(Timestamp(rfc3339: "2026-12-31T23:58:30Z"))
    var writer = NMEAWriter()
    var fixes: [Fix] = []
    drive: for second in 0..<1000 {
      switch simulator.observation(at: .seconds(second), startingAt: start) {
      case .ended: break drive
      case .noFix(let time): writer.appendVoid(at: time)
      case .fix(let fix):
        writer.append(fix)
        fixes.append(fix)
      }
    }
    var decoded: [Fix] = []
    var decoder = NMEADecoder()
    decoder.decode(writer.bytes, at: .boot) { decoded.append($0) }
    decoder.finish { decoded.append($0) }
    expect(fixes.count > 150)
    expectEqual(decoded.count, fixes.count)
    func near(_ left: Double?, _ right: Double?, _ tolerance: Double) -> Bool {
      guard let left, let right else { return left == nil && right == nil }
      return abs(left - right) <= tolerance
    }
    for (got, sent) in zip(decoded, fixes) {
      expect(got.time == sent.time && got.mode == sent.mode && got.quality == sent.quality)
      expect(got.coordinate.distance(to: sent.coordinate) < 0.02)
      expectEqual(got.satellites, sent.satellites)
      expect(near(got.speed, sent.speed, 0.001) && near(got.heading, sent.heading, 0.0051))
      expect(near(got.altitude, sent.altitude, 0.0051) && near(got.hdop, sent.hdop, 0.0051))
      expect(near(got.horizontalAccuracy, sent.horizontalAccuracy, 0.01))
      expect(near(got.verticalAccuracy, sent.verticalAccuracy, 0.0051))
    }
  }
}
