// SPDX-License-Identifier: Apache-2.0
import Expectations
import SimulatedDrives
import Testing

@testable import Configuration

struct DriveSettingsTests {
  private func simulated(_ lines: String) throws -> SimulationSettings {
    let text = minimal(source: "type = \"simulated\"\nroute = \"r.gpx\"\n\(lines)")
    guard case .simulated(let simulated) = try TestMachine().settings(for: text).sources[0].kind else {
      throw ValueProblem(message: "not simulated")
    }
    return simulated.drive
  }

  @Test("a simulated drive can have stops, tunnels, canyons, limits of speed and acceleration, and a wrong clock")
  func drive() throws {
    let drive = try simulated(
      """
      speed = "36 km/h"
      acceleration = "1.2 m/s2"
      braking = "0.5 g"
      cornering = "3 m/s²"
      clock_offset = "-1min 30s"
      pace = 2.5
      head_start = "3min"
      stops = [{ at = "1.2 km", dwell = "90s" }, { waypoint = "Depot", dwell = "5min" }]
      tunnels = [{ from = "2 km", length = "400 m" }]
      canyons = [{ from = "3 km", length = "500 m", noise = "20 m" }, { from = "4 km", length = "1 km" }]
      """)
    expectEqual(drive.speed.map { abs($0 - 10) < 1e-9 }, true)
    expect(drive.acceleration == 1.2 && abs(drive.braking - 4.903325) < 1e-9 && drive.lateralAcceleration == 3)
    expectEqual(drive.clockOffset, .seconds(-90))
    expect(drive.pace == 2.5 && drive.headStart == .seconds(180))
    expectEqual(
      drive.stops,
      [
        .init(.distance(1200), dwell: .seconds(90)), .init(.waypoint("Depot"), dwell: .seconds(300)),
      ])
    expectEqual(drive.tunnels, [.init(from: 2000, length: 400)])
    expectEqual(
      drive.canyons,
      [
        .init(.init(from: 3000, length: 500), noise: 20), .init(.init(from: 4000, length: 1000), noise: 15),
      ])
  }

  @Test(
    "a mistake in a setting of a simulated drive is reported once, with its cause",
    arguments: [
      ("stops = \"1 km\"", "7:9: source.stops: is a string; an array of tables, as in"),
      ("stops = [1]", "7:10: source.stops: has a whole number in it; tables are expected"),
      ("stops = [{ at = \"1 km\" }]", "7:10: source.stops: lacks `dwell`, a duration"),
      ("stops = [{ dwell = \"9s\" }]", "a stop needs either `at` or `waypoint`"),
      ("stops = [{ at = \"1 km\", waypoint = \"D\", dwell = \"9s\" }]", "a stop needs either `at` or `waypoint`"),
      (
        "stops = [{ at = \"1 km\", dwel = \"9s\" }]",
        "7:25: source.stops: has the unknown key `dwel`; allowed: at, waypoint, dwell; did you mean `dwell`?"
      ),
      ("stops = [{ at = 1, dwell = \"9s\" }]", "`at` has no unit"),
      ("stops = [{ at = \"1 km\", dwell = \"0s\" }]", "`dwell` \"0s\" is out of range"),
      ("tunnels = [{ from = \"1 km\", length = \"0 m\" }]", "`length` \"0 m\" is out of range"),
      ("canyons = [{ from = \"1 km\" }]", "lacks `length`, a distance"),
      ("clock_offset = \"--1s\"", "is not a duration"), ("clock_offset = \"-2 m\"", "write min for minutes"),
      ("acceleration = \"0 m/s²\"", "out of range; allowed: 0.1 m/s² to 20 m/s²"),
      ("acceleration = \"1 m/s3\"", "is not a unit of acceleration; the units are m/s² or g"),
      ("pace = 0", "0 is out of range; allowed: 0.1 to 20"), ("pace = \"4\"", "is a string"),
      ("head_start = \"-1s\"", "is not a duration"), ("head_start = 3", "has no unit"),
      ("acceleration = 2", "has no unit; write the acceleration"),
    ])
  func problems(_ line: String, _ message: String) {
    let messages = TestMachine().messages(
      for: minimal(source: "type = \"simulated\"\nroute = \"r.gpx\"\n\(line)"))
    expectEqual(messages.count, 1)
    expectEqual(messages.first?.contains(message), true, "\(messages)")
  }

  @Test("command-line options accept the same quantities as the settings")
  func quantities() throws {
    expect(try abs(QuantityOption.speed("36 km/h") - 10) < 1e-9)
    try expectEqual(QuantityOption.routeDistance("1.2 km"), 1200)
    try expectEqual(QuantityOption.duration("1h 30min", .zero...(.seconds(9000))), .seconds(5400))
    #expect(throws: QuantityOption.Mistake.self) { try QuantityOption.length("1.2") }
    #expect(throws: QuantityOption.Mistake.self) { try QuantityOption.speed("501 km/h") }
  }
}
