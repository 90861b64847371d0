// SPDX-License-Identifier: Apache-2.0
import Expectations
import Testing
import Timekeeping

import DriveTesting
@testable import FixSources
@testable import Positioning
@testable import SimulatedDrives

struct DriveSessionTests {
  private static let buildDate = Timestamp(seconds: 1_795_000_000)

  private func session() throws -> DriveSession {
    let start = try #require(Coordinate(latitude: 48, longitude: 11))
    let points = [start, start.moved(by: 100, heading: 0)].map { Route.Point(coordinate: $0) }
    var settings = SimulationSettings.exact
    settings.speed = 10
    let simulator = try RouteSimulator(route: try #require(Route(points: points)), settings: settings)
    return DriveSession(name: "a.gpx", simulator: simulator, buildDate: DriveSessionTests.buildDate)
  }

  private func moment(_ second: Int, wall: Int64 = 1_796_083_200) -> Moment {
    Moment(boot: .boot + .seconds(second), wall: Timestamp(seconds: wall + Int64(second)))
  }

  private func times(_ effects: [SourceEffect]) -> [Int64] {
    effects.compactMap {
      if case .report(.fix(let fix)) = $0 { fix.timestamp.map { $0.milliseconds / 1000 } } else { nil }
    }
  }

  @Test("a simulated drive reports its name, one fix per second, and its end once")
  func drive() throws {
    var session = try session()
    expectNil(session.nextDeadline)
    expectEqual(session.handle(.deadline, at: moment(0)), [])
    let first = session.handle(.start, at: moment(0))
    expectEqual(first.first, .report(.reading("the simulated route a.gpx")))
    expectEqual(times(first), [1_796_083_200])
    expectEqual(session.handle(.start, at: moment(0)), [])
    var second = 0
    while let deadline = session.nextDeadline {
      second += 1
      expectEqual(deadline, .boot + .seconds(second))
      expectEqual(session.handle(.deadline, at: Moment(boot: deadline - .milliseconds(1), wall: .init(seconds: 0))), [])
      let reports = session.handle(.deadline, at: moment(second))
      expect(times(reports) == [1_796_083_200 + Int64(second)] || reports == [.report(.ended)])
      expectEqual((reports == [.report(.ended)]), (session.nextDeadline == nil))
    }
    expect((11...20).contains(second))
    expectEqual(session.handle(.deadline, at: moment(second + 1)), [])
  }

  @Test("after a suspend a simulated drive continues at the current position, and skips the fixes in between")
  func catchUp() throws {
    var session = try session()
    _ = session.handle(.start, at: moment(0))
    _ = session.handle(.deadline, at: moment(1))
    expectEqual(times(session.handle(.deadline, at: moment(7))), [1_796_083_207])
    expectEqual(session.nextDeadline, .boot + .seconds(8))
  }

  @Test("if the wall clock is not set, a simulated drive starts at the build date")
  func clockUnset() throws {
    var session = try session()
    expectEqual(times(session.handle(.start, at: moment(5, wall: 0))), [1_795_000_000])
    expectEqual(times(session.handle(.deadline, at: moment(6, wall: 0))), [1_795_000_001])
  }
}
