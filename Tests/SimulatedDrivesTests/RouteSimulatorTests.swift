// SPDX-License-Identifier: Apache-2.0
import Expectations
import Testing
import Timekeeping

import DriveTesting
@testable import Positioning
@testable import SimulatedDrives

struct RouteSimulatorTests {
  private let start = Timestamp(seconds: 1_795_000_000)

  private func route(_ places: [(Double, Double)], elevations: [Double] = []) throws -> Route {
    let points = try places.enumerated().map { index, place in
      Route.Point(
        coordinate: try #require(Coordinate(latitude: place.0, longitude: place.1)),
        elevation: index < elevations.count ? elevations[index] : nil)
    }
    return try #require(Route(points: points))
  }

  /// A route with two legs: one kilometre north, and half a kilometre east.
  private func corner() throws -> Route {
    let first = try #require(Coordinate(latitude: 48, longitude: 11))
    let second = first.moved(by: 1000, heading: 0)
    let third = second.moved(by: 500, heading: 90)
    return try #require(
      Route(points: [
        Route.Point(coordinate: first, elevation: 100), Route.Point(coordinate: second, elevation: 200),
        Route.Point(coordinate: third),
      ]))
  }

  private func settings(
    _ speed: Double?, loop: Bool = false, noise: Double = 0, seed: UInt64 = 0
  ) -> SimulationSettings {
    var settings = SimulationSettings.exact
    settings.speed = speed
    settings.loops = loop
    settings.noise = noise
    settings.seed = seed
    return settings
  }

  @Test("the vehicle drives at the configured speed with the heading of each leg, and stops at the end of the route")
  func drive() throws {
    let simulator = try RouteSimulator(route: try corner(), settings: settings(10))
    var fixes: [Fix] = []
    for second in 0..<1000 {
      guard let fix = simulator.fix(at: .seconds(second), startingAt: start) else { break }
      fixes.append(fix)
    }
    // 150 s at 10 m/s, plus the time for acceleration, the corner and braking.
    let duration = try #require(simulator.duration)
    expectEqual(duration, .milliseconds(159_612))
    expectEqual(fixes.count, Int(duration.wholeSeconds) + 1)
    for (last, next) in zip(fixes, fixes.dropFirst()) {
      expect(last.coordinate.distance(to: next.coordinate) < 10.01)
      expectEqual(next.timestamp, last.timestamp.map { $0 + .seconds(1) })
    }
    // North is 0, or slightly less than 360.
    expectEqual(fixes.first?.heading.map { min($0, 360 - $0) < 1e-6 }, true)
    expectEqual(fixes.last?.heading.map { abs($0 - 90) < 0.01 }, true)
    expectEqual(fixes.first?.timestamp, start)
    expectEqual(fixes.first?.speed, 0)
    expectEqual(fixes[53].speed, 10)
    expectEqual(fixes[53].altitude.map { abs($0 - 150) < 1 }, true)
    expect(fixes.allSatisfy { $0.quality == .simulated && $0.mode == .threeD })
    expectEqual(simulator.observation(at: .seconds(100_000), startingAt: start), .ended)
  }

  @Test("with looping, the vehicle drives from the end straight to the start, without a jump")
  func loop() throws {
    let simulator = try RouteSimulator(route: try corner(), settings: settings(25, loop: true))
    expectNil(simulator.duration)
    var last: Fix?
    for second in 0..<2000 {
      let next = simulator.fix(at: .seconds(second), startingAt: start)
      let fix = try #require(next)
      if let last { expect(last.coordinate.distance(to: fix.coordinate) < 25.01) }
      last = fix
    }
  }

  @Test("a fix depends only on the elapsed time in whole seconds, even if that time repeats or goes back")
  func anyOrder() throws {
    let simulator = try RouteSimulator(route: try corner(), settings: settings(10, loop: true, noise: 3, seed: 4))
    let late = simulator.fix(at: .seconds(120), startingAt: start)
    let early = simulator.fix(at: .seconds(3), startingAt: start)
    expectEqual(simulator.fix(at: .milliseconds(120_900), startingAt: start), late)
    expectEqual(simulator.fix(at: .seconds(3), startingAt: start), early)
    expectEqual(simulator.fix(at: .seconds(-5), startingAt: start), simulator.fix(at: .zero, startingAt: start))
  }

  @Test("noise has the configured standard deviation, and is the same for the same seed")
  func noise() throws {
    let route = try corner()
    let clean = try RouteSimulator(route: route, settings: settings(1, loop: true))
    let noisy = try RouteSimulator(route: route, settings: settings(1, loop: true, noise: 2, seed: 7))
    let same = try RouteSimulator(route: route, settings: settings(1, loop: true, noise: 2, seed: 7))
    let other = try RouteSimulator(route: route, settings: settings(1, loop: true, noise: 2, seed: 8))
    var squares = 0.0
    for second in stride(from: 0, to: 80_000, by: 20) {
      let ideal = clean.fix(at: .seconds(second), startingAt: start)
      let place = try #require(ideal?.coordinate)
      let next = noisy.fix(at: .seconds(second), startingAt: start)
      let fix = try #require(next)
      let distance = place.distance(to: fix.coordinate)
      expect(distance < 20)
      squares += distance * distance
      expectEqual(same.fix(at: .seconds(second), startingAt: start), fix)
      expect(other.fix(at: .seconds(second), startingAt: start) != fix)
    }
    // The noise has a variance of four in each of two directions.
    expect(abs(squares / 4000 - 8) < 1)
  }

  @Test("on a route with a single position the vehicle stays there, without a heading")
  func standing() throws {
    let simulator = try RouteSimulator(route: try route([(1, 2), (1, 2), (1, 2)]), settings: settings(10, loop: false))
    let next = simulator.fix(at: .seconds(1_000_000), startingAt: start)
    let fix = try #require(next)
    expectEqual(fix.coordinate, Coordinate(latitude: 1, longitude: 2))
    expectEqual(fix.speed, 0)
    expectNil(fix.heading)
  }

  @Test("a drive crosses the antimeridian and a pole")
  func seams() throws {
    for places in [[(10.0, 179.99), (10.0, -179.99)], [(89.99, 0.0), (89.99, 180.0)]] {
      let simulator = try RouteSimulator(route: try route(places), settings: settings(50, loop: false))
      var last: Fix?
      for second in 0..<40 {
        let next = simulator.fix(at: .seconds(second), startingAt: start)
        let fix = try #require(next)
        if let last { expect((0.5...50.01).contains(last.coordinate.distance(to: fix.coordinate))) }
        last = fix
      }
    }
  }

  @Test(
    "nonsensical settings do not crash the simulator",
    arguments: [(Double.nan, 0.0), (.infinity, .infinity), (-1, -1), (1e300, 0), (1e-300, .nan)])
  func nonsense(_ speed: Double, _ noise: Double) throws {
    for loop in [true, false] {
      let simulator = try RouteSimulator(route: try corner(), settings: settings(speed, loop: loop, noise: noise))
      _ = simulator.duration
      for elapsed in [Duration.zero, .seconds(1), .seconds(Int64.max), .seconds(Int64.min)] {
        _ = simulator.fix(at: elapsed, startingAt: start)
      }
    }
  }

  @Test("the random generator gives the published numbers of SplitMix64")
  func generator() {
    var random = SplitMix64(seed: 1_234_567)
    expectEqual(
      [random.next(), random.next(), random.next()],
      [
        6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423,
      ])
  }
}

extension RouteSimulator {
  /// The fix after this time; nil if there is none, or the drive has ended.
  func fix(at elapsed: Duration, startingAt start: Timestamp) -> Fix? {
    if case .fix(let fix) = observation(at: elapsed, startingAt: start) { return fix }
    return nil
  }
}
