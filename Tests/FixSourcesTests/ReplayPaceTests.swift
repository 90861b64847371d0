// SPDX-License-Identifier: Apache-2.0
import Expectations
import Testing
import Timekeeping

@testable import FixSources
@testable import Positioning
@testable import SimulatedDrives

/// The filter's decisions on a recording that is replayed at different paces.
struct ReplayPaceTests {
  private let recorded = Timestamp(seconds: 1_795_000_000)
  private let start = Moment(boot: .boot + .seconds(50), wall: Timestamp(seconds: 1_796_083_200))

  /// A drive of at most ten minutes at 80 km/h with 90-degree corners and a tunnel of 700 m.
  private func drive() throws -> [Fix] {
    var place = try #require(Coordinate(latitude: 48, longitude: 11))
    var points = [Route.Point(coordinate: place)]
    for corner in 0..<12 {
      place = place.moved(by: 900, heading: corner % 2 == 0 ? 0 : 90)
      points.append(Route.Point(coordinate: place))
    }
    var settings = SimulationSettings()
    settings.speed = 80 / 3.6
    settings.loops = false
    settings.tunnels = [.init(from: 2500, length: 700)]
    let simulator = try RouteSimulator(route: try #require(Route(points: points)), settings: settings)
    return (0..<600).compactMap { second in
      guard case .fix(var fix) = simulator.observation(at: .seconds(second), startingAt: recorded) else { return nil }
      fix.quality = .gnss
      return fix
    }
  }

  /// The rejections of the drive's fixes when they are replayed as by `ReplaySession`.
  private func rejections(pace: Double, usesRecordedTimes: Bool = false) throws -> [String] {
    var timeline = ReplayTimeline(pace: pace, shiftsTimes: true, start: start)
    var configuration = FixFilter.Configuration(
      buildDate: Timestamp(seconds: 1_795_219_200), usesRecordedTimes: usesRecordedTimes)
    if pace > 0 { configuration.pace = pace }
    var filter = FixFilter(configuration)
    let fixes = try drive()
    expect(fixes.count > 450 && fixes.count < 590, "a tunnel has no fix")
    return fixes.enumerated().compactMap { index, recorded in
      guard let (fix, due) = timeline.schedule(recorded) else { return "\(index): not played" }
      let now = Moment(boot: due, wall: start.wall + (due - start.boot))
      guard case .failure(let rejection) = filter.evaluate(fix, at: now) else { return nil }
      return "\(index): \(rejection)"
    }
  }

  @Test(
    "at any pace the fixes of a drive with corners and a tunnel are accepted, except at most three after the tunnel",
    arguments: [0.1, 0.5, 1, 1.5, 2, 4, 7, 20, 100, 1000])
  func paces(pace: Double) throws {
    let rejections = try rejections(pace: pace)
    expect(rejections.count <= 3 && rejections.allSatisfy { $0.hasSuffix("unsettled") }, "\(rejections)")
    // At this pace the vehicle is in the tunnel too briefly for a gap.
    if pace >= 20 { expectEqual(rejections, []) }
  }

  @Test("at pace 0 with shifted times every fix is accepted")
  func immediate() throws {
    try expectEqual(rejections(pace: 0, usesRecordedTimes: true), [])
  }

  @Test("a jump is rejected at a fast pace as well as at the recorded pace", arguments: [1.0, 20])
  func jump(pace: Double) throws {
    var timeline = ReplayTimeline(pace: pace, shiftsTimes: true, start: start)
    var configuration = FixFilter.Configuration(buildDate: Timestamp(seconds: 1_795_219_200))
    configuration.pace = pace
    var filter = FixFilter(configuration)
    var wrong: [Int] = []
    for (index, recorded) in try drive().prefix(60).enumerated() {
      var recorded = recorded
      if index == 30 { recorded.coordinate = recorded.coordinate.moved(by: 200, heading: 200) }
      let scheduled = timeline.schedule(recorded)
      let (fix, due) = try #require(scheduled)
      let now = Moment(boot: due, wall: start.wall + (due - start.boot))
      if case .failure = filter.evaluate(fix, at: now) { wrong.append(index) }
    }
    expectEqual(wrong, [30])
  }
}
