// SPDX-License-Identifier: Apache-2.0
import Expectations
import Testing
import Timekeeping

import DriveTesting
@testable import Positioning
@testable import SimulatedDrives

/// Drives along routes with recorded times.
struct RecordedDriveTests {
  private let start = Timestamp(seconds: 1_795_000_000)

  /// A route northward, with the metres from its start and the recorded time in seconds of each point.
  private func route(_ points: [(Double, Double?)]) throws -> Route {
    let first = try #require(Coordinate(latitude: 48, longitude: 11))
    return try #require(
      Route(
        points: points.map { metres, seconds in
          Route.Point(
            coordinate: first.moved(by: metres, heading: 0),
            time: seconds.map { Timestamp(milliseconds: 1_700_000_000_000 + Int64($0 * 1000)) })
        }))
  }

  private func distances(_ route: Route, _ settings: SimulationSettings = SimulationSettings.exact) throws -> [Double] {
    let simulator = try RouteSimulator(route: route, settings: settings)
    var result: [Double] = []
    while result.count < 2000, let truth = simulator.truth(at: Double(result.count)) {
      result.append(truth.state.distance)
    }
    return result
  }

  @Test("each point is passed at its time, and the vehicle never goes back")
  func times() throws {
    let route = try route([(0, 0), (100, 10), (180, nil), (300, 30), (305, 40), (900, 100)])
    let driven = try distances(route)
    expectEqual(driven.count, 101)
    for (second, metres) in [(0, 0.0), (10, 100), (30, 300), (40, 305), (100, 900)] {
      expect(abs(driven[second] - metres) < 0.01)
    }
    expect(zip(driven, driven.dropFirst()).allSatisfy { $0 <= $1 })
  }

  @Test(
    "the vehicle stops at a repeated point, and between close points whose times are far apart",
    arguments: [(0.0, 61), (4, 58)])
  func stops(_ gap: Double, seconds: Int) throws {
    let route = try route([(0, 0), (200, 20), (200 + gap, 80), (400, 100)])
    let simulator = try RouteSimulator(route: route, settings: SimulationSettings.exact)
    let standing = (0..<100).filter { simulator.truth(at: Double($0))?.state.speed == 0 }
    expectEqual(standing.count, seconds)
    expectEqual(standing.first, 20)
    let fix = try #require(simulator.fix(at: .seconds(50), startingAt: start))
    expectEqual(fix.speed, 0)
    expectEqual(fix.heading.map { min($0, 360 - $0) < 0.01 }, true)
  }

  @Test("a speed in the settings overrides the recorded times")
  func given() throws {
    var settings = SimulationSettings.exact
    settings.speed = 10
    let simulator = try RouteSimulator(route: route([(0, 0), (1000, 1000)]), settings: settings)
    expectEqual(simulator.duration, .milliseconds(105_833))
  }

  @Test("a stop in the settings delays the rest of the drive")
  func configuredStop() throws {
    var settings = SimulationSettings.exact
    settings.stops = [.init(.distance(100), dwell: .seconds(30))]
    let driven = try distances(route([(0, 0), (200, 20), (400, 40)]), settings)
    expectEqual(driven.count, 71)
    expect(abs(driven[25] - 100) < 0.01 && abs(driven[39] - 100) < 0.01 && abs(driven[50] - 200) < 0.01)
  }

  @Test(
    "recorded times that go back, or are missing at the first or last point, are ignored",
    arguments: [[0, 30, 20.0], [nil, 10, 20], [0, 10, nil]])
  func unusable(_ times: [Double?]) throws {
    let simulator = try RouteSimulator(
      route: route([(0, times[0]), (500, times[1]), (1000, times[2])]), settings: SimulationSettings.exact)
    expectEqual(simulator.duration, .milliseconds(80_101))
  }

  @Test("with looping, the vehicle drives back to the start, and the drive repeats")
  func loop() throws {
    var settings = SimulationSettings.exact
    settings.loops = true
    let simulator = try RouteSimulator(route: route([(0, 0), (100, 10), (200, 20)]), settings: settings)
    let lap = 40
    for second in 0..<200 {
      let now = try #require(simulator.truth(at: Double(second)))
      let later = try #require(simulator.truth(at: Double(second + lap)))
      expect(now.pose.coordinate.distance(to: later.pose.coordinate) < 0.1)
      let next = try #require(simulator.truth(at: Double(second) + 1))
      expect(now.pose.coordinate.distance(to: next.pose.coordinate) < 20)
    }
  }
}
