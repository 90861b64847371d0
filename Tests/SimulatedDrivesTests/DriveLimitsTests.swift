// SPDX-License-Identifier: Apache-2.0
import Expectations
import Testing
import Timekeeping

import DriveTesting
@testable import NMEA
@testable import Positioning
@testable import SimulatedDrives

/// Properties of whole drives, for any route.
struct DriveLimitsTests {
  private let start = Timestamp(seconds: 1_795_000_000)

  /// A wandering route with everything from gentle bends to U-turns.
  private func wandering(_ seed: UInt64, points: Int = 60) throws -> Route {
    var random = SplitMix64(seed: seed)
    var place = try #require(Coordinate(latitude: 40 + random.uniform() * 20, longitude: random.uniform() * 300 - 150))
    var heading = random.uniform() * 360
    var result = [Route.Point(coordinate: place, elevation: 10)]
    for _ in 0..<points {
      let roll = random.uniform()
      heading += roll < 0.1 ? 180 : roll < 0.5 ? random.normal() * 60 : random.normal() * 8
      place = place.moved(by: roll < 0.3 ? 3 + random.uniform() * 10 : 20 + random.uniform() * 400, heading: heading)
      result.append(Route.Point(coordinate: place, elevation: random.uniform() * 100))
    }
    return try #require(Route(points: result))
  }

  private func settings(_ seed: UInt64, loop: Bool) -> SimulationSettings {
    var random = SplitMix64(seed: seed &+ 99)
    var settings = SimulationSettings.exact
    settings.speed = 5 + random.uniform() * 30
    settings.acceleration = 0.5 + random.uniform() * 3
    settings.braking = 0.5 + random.uniform() * 4
    settings.lateralAcceleration = 0.5 + random.uniform() * 4
    settings.loops = loop
    settings.stops = [
      .init(.distance(500), dwell: .seconds(30)), .init(.distance(1200), dwell: .seconds(45)),
      .init(.distance(1200.5), dwell: .seconds(10)),
    ]
    return settings
  }

  @Test("speed, acceleration, braking and cornering stay within their limits", arguments: 0..<24)
  func limits(_ seed: UInt64) throws {
    let settings = settings(seed, loop: seed % 3 == 0)
    let simulator = try RouteSimulator(route: wandering(seed), settings: settings)
    let limit = try #require(settings.speed)
    let step = 0.05
    let end = simulator.duration?.inSeconds ?? 1500
    var last = try #require(simulator.truth(at: 0))
    expectEqual(last.state.speed, 0)
    for index in 1...Int(min(end, 1500) / step) {
      guard let next = simulator.truth(at: Double(index) * step) else { break }
      let change = (next.state.speed - last.state.speed) / step
      expect(next.state.speed <= limit + 1e-9)
      expect(change <= settings.acceleration + 1e-6)
      expect(change >= -settings.braking - 1e-6)
      // The change of position matches the speed.
      let moved = last.pose.coordinate.distance(to: next.pose.coordinate)
      let fastest = max(next.state.speed, last.state.speed)
      expect(moved <= fastest * step + 0.01)
      if let before = last.pose.heading, let after = next.pose.heading {
        let turn = RoutePath.signed(after - before).magnitude * .pi / 180
        // A stationary vehicle turns on the spot.
        if turn < 3 {
          expect(turn / step * min(next.state.speed, last.state.speed) <= settings.lateralAcceleration * 1.01 + 0.01)
        }
      }
      last = next
    }
  }

  @Test("the vehicle stops at each stop for its dwell time, with speed 0 and a constant heading", arguments: 0..<12)
  func stops(_ seed: UInt64) throws {
    var settings = settings(seed, loop: false)
    settings.stops.removeLast()
    settings.noise = 3
    settings.seed = seed
    let simulator = try RouteSimulator(route: wandering(seed), settings: settings)
    for (distance, dwell) in [(500.0, 30), (1200.0, 45)] {
      let all = (0..<3000).map { ($0, simulator.truth(at: Double($0))) }
      let standing = all.filter { $0.1.map { $0.state.speed == 0 && abs($0.state.distance - distance) < 0.01 } == true }
      // Only whole seconds are counted.
      expect((dwell - 1...dwell + 1).contains(standing.count))
      let fixes = standing.compactMap { simulator.fix(at: .seconds($0.0), startingAt: start) }
      expectEqual(fixes.count, standing.count)
      expectEqual(Set(fixes.map(\.speed)), [0])
      expectEqual(Set(fixes.map(\.heading)).count, 1)
      // The position of a stationary receiver drifts slowly.
      expectEqual(Set(fixes.map(\.coordinate)).count, fixes.count)
      for (last, next) in zip(fixes, fixes.dropFirst()) {
        expect(last.coordinate.distance(to: next.coordinate) < 6)
      }
    }
  }

  @Test("the reported speed matches the true speed", arguments: 0..<6)
  func reportedSpeed(_ seed: UInt64) throws {
    var settings = settings(seed, loop: false)
    settings.noise = 2
    let simulator = try RouteSimulator(route: wandering(seed), settings: settings)
    var compared = 0
    for second in 0..<1000 {
      guard let fix = simulator.fix(at: .seconds(second), startingAt: start),
        let truth = simulator.truth(at: Double(second))
      else { break }
      compared += 1
      let speed = try #require(fix.speed)
      expect(abs(speed - truth.state.speed) < 0.3)
      expectEqual((speed == 0), (truth.state.speed == 0))
    }
    expect(compared > 60)
  }

  @Test("in a tunnel there is no fix, and the first fix after it is less accurate", arguments: [false, true])
  func tunnels(_ loops: Bool) throws {
    var settings = settings(5, loop: loops)
    settings.stops = []
    settings.noise = 2
    settings.tunnels = [.init(from: 300, length: 400), .init(from: 650, length: 200), .init(from: 2000, length: 300)]
    let simulator = try RouteSimulator(route: wandering(5), settings: settings)
    var silent = 0
    var recovering = 0
    var wasInTunnel = false
    for second in 0..<4000 {
      guard let truth = simulator.truth(at: Double(second)) else { break }
      let distance = truth.state.distance
      let isInTunnel = (300..<850).contains(distance) || (2000..<2300).contains(distance)
      let fix = simulator.fix(at: .seconds(second), startingAt: start)
      if isInTunnel {
        expectNil(fix)
        silent += 1
        wasInTunnel = true
      } else if let fix, wasInTunnel {
        // The receiver has to reacquire satellites.
        expectEqual(fix.horizontalAccuracy.map { $0 > 2 * 2 * 2.squareRoot() }, true)
        expectEqual(fix.satellites.map { $0 < 12 }, true)
        expectEqual(fix.hdop.map { $0 > 1 }, true)
        wasInTunnel = false
        recovering += 1
      }
    }
    expect(silent > 20)
    expect(loops ? recovering > 2 : recovering == 2)
  }

  @Test("in an urban canyon the noise is larger, which the reported accuracy reflects")
  func canyon() throws {
    let first = try #require(Coordinate(latitude: 48, longitude: 11))
    let route = try #require(
      Route(points: [Route.Point(coordinate: first), Route.Point(coordinate: first.moved(by: 20_000, heading: 70))]))
    var settings = SimulationSettings.exact
    settings.speed = 5
    settings.noise = 2
    settings.seed = 3
    settings.canyons = [.init(.init(from: 5000, length: 10_000), noise: 20)]
    let simulator = try RouteSimulator(route: route, settings: settings)
    var (inside, outside) = (0.0, 0.0)
    var (insideCount, outsideCount) = (0.0, 0.0)
    for second in 0..<4000 {
      guard let truth = simulator.truth(at: Double(second)) else { break }
      let fix = try #require(simulator.fix(at: .seconds(second), startingAt: start))
      let error = truth.pose.coordinate.distance(to: fix.coordinate)
      let accuracy = try #require(fix.horizontalAccuracy)
      if (5100..<14_900).contains(truth.state.distance) {
        expect(accuracy > 25 && fix.satellites == 7 && fix.hdop.map { $0 > 2 } == true)
        inside += error * error
        insideCount += 1
      } else if truth.state.distance < 5000 || truth.state.distance > 15_000 {
        expect(accuracy < 3 && fix.satellites == 12)
        outside += error * error
        outsideCount += 1
      }
    }
    // The expected means are 2 * (20² + 2²) and 2 * 2².
    expect((400...1300).contains(inside / insideCount))
    expect((3...16).contains(outside / outsideCount))
  }

  @Test("the same seed gives the same drive, byte for byte")
  func repeatable() throws {
    func drive(_ seed: UInt64) throws -> [UInt8] {
      var settings = settings(4, loop: true)
      settings.noise = 2
      settings.seed = seed
      settings.tunnels = [.init(from: 300, length: 400)]
      settings.canyons = [.init(.init(from: 900, length: 400))]
      let simulator = try RouteSimulator(route: wandering(4), settings: settings)
      var writer = NMEAWriter()
      for second in 0..<1000 {
        if let fix = simulator.fix(at: .seconds(second), startingAt: start) { writer.append(fix) }
      }
      return writer.bytes
    }
    try expectEqual(drive(1), drive(1))
    expect(try drive(1) != drive(2))
  }

  @Test("a clock offset of the receiver shifts the times of its fixes")
  func clock() throws {
    var settings = settings(1, loop: false)
    settings.clockOffset = .seconds(-90)
    let simulator = try RouteSimulator(route: wandering(1), settings: settings)
    expectEqual(simulator.fix(at: .seconds(10), startingAt: start)?.timestamp, start - .seconds(80))
  }

  @Test(
    "a pace multiplies the vehicle's true and reported speeds, with a fix for each second of the drive",
    arguments: [2, 2.5, 4])
  func pace(_ pace: Double) throws {
    let plain = try RouteSimulator(route: wandering(3), settings: settings(3, loop: true))
    var changed = settings(3, loop: true)
    changed.pace = pace
    let quick = try RouteSimulator(route: wandering(3), settings: changed)
    expectEqual(quick.period, .seconds(1) / pace)
    for index in stride(from: 0, through: 1000, by: 20) {
      let elapsed = quick.period * index
      let fix = try #require(quick.fix(at: elapsed, startingAt: start))
      let same = try #require(plain.fix(at: .seconds(index), startingAt: start))
      expect(fix.coordinate == same.coordinate && fix.heading == same.heading)
      expectEqual(fix.speed, same.speed.map { $0 * pace })
      expectEqual(fix.timestamp, start + elapsed)
    }
  }

  @Test("at a pace below 1 there is still one fix per second")
  func slowPace() throws {
    let plain = try RouteSimulator(route: wandering(3), settings: settings(3, loop: true))
    var changed = settings(3, loop: true)
    changed.pace = 0.5
    let slow = try RouteSimulator(route: wandering(3), settings: changed)
    for second in 0..<500 {
      let fix = try #require(slow.fix(at: .seconds(2 * second), startingAt: start))
      expectEqual(fix.coordinate, plain.fix(at: .seconds(second), startingAt: start)?.coordinate)
      expectEqual(
        slow.fix(at: .seconds(2 * second + 1), startingAt: start)?.timestamp, start + .seconds(2 * second + 1))
    }
  }

  @Test("the filter accepts every fix of a drive at any pace", arguments: [3.0, 8, 20])
  func anyPace(_ pace: Double) throws {
    var changed = settings(3, loop: true)
    changed.speed = 50 / 3.6
    changed.noise = 2
    changed.pace = pace
    let simulator = try RouteSimulator(route: wandering(3), settings: changed)
    var configuration = FixFilter.Configuration(buildDate: start)
    configuration.pace = pace
    var filter = FixFilter(configuration)
    for index in 0..<3000 {
      let elapsed = simulator.period * index
      let fix = try #require(simulator.fix(at: elapsed, startingAt: start))
      let result = filter.evaluate(fix, at: Moment(boot: .boot + elapsed, wall: start + elapsed))
      if case .failure(let rejection) = result { Issue.record("\(rejection) at \(index)") }
    }
  }

  @Test("a drive with a head start is a drive that began earlier, and at a faster pace the rest is shorter")
  func headStart() throws {
    let plain = try RouteSimulator(route: wandering(3), settings: settings(3, loop: false))
    var changed = settings(3, loop: false)
    changed.headStart = .seconds(50)
    let late = try RouteSimulator(route: wandering(3), settings: changed)
    for second in 0..<50 {
      expectEqual(
        late.fix(at: .seconds(second), startingAt: start)?.coordinate,
        plain.fix(at: .seconds(second + 50), startingAt: start)?.coordinate)
    }
    let whole = try #require(plain.duration)
    expectEqual(late.duration, whole - .seconds(50))
    changed.pace = 4
    let rest = try #require(try RouteSimulator(route: wandering(3), settings: changed).duration)
    expect(abs(rest.inSeconds - (whole.inSeconds - 50) / 4) < 0.002)
    // A loop has no end, so any head start is possible.
    changed.loops = true
    changed.headStart = .seconds(1_000_000)
    expect(try RouteSimulator(route: wandering(3), settings: changed).fix(at: .zero, startingAt: start) != nil)
  }

  @Test("a stop, tunnel, canyon or head start that is not on the route is rejected with a message that names it")
  func places() throws {
    let route = try wandering(1)
    func message(_ change: (inout SimulationSettings) -> Void) -> String {
      var settings = SimulationSettings.exact
      change(&settings)
      do {
        _ = try RouteSimulator(route: route, settings: settings)
        return ""
      } catch {
        return error.message
      }
    }
    expect(message { $0.stops = [.init(.distance(1e6), dwell: .seconds(1))] }.contains("past the end of the route"))
    expect(message { $0.stops = [.init(.waypoint("Depot"), dwell: .seconds(1))] }.contains("no waypoint with a name"))
    expect(message { $0.tunnels = [.init(from: 1e6, length: 5)] }.contains("the tunnel from 1000 km on for 5 m"))
    expect(message { $0.canyons = [.init(.init(from: 0, length: .nan))] }.contains("the urban canyon"))
    expect(message { $0.stops = [.init(.distance(.nan), dwell: .seconds(1))] }.contains("past the end"))
    expect(message { $0.headStart = .seconds(100_000) }.contains("a head start of 100000 s is asked for"))
  }
}
