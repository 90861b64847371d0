// SPDX-License-Identifier: Apache-2.0
import Expectations
import PositionBacklog
import Delivery
import Vehicle
import Testing
import Timekeeping

@testable import SimulatedWorld

/// A load balancer with one bad backend: requests on a connection to it fail, and every other connection is good.
/// With HTTP/2 frames (seed 3) and without.
struct BadConnectionScenarios {
  private static func drive(every: Int, _ kind: Fault.BadConnection, seed: UInt64) throws -> World {
    var scenario = Scenario(duration: 1300, faults: [Fault(.badConnections(every: every, kind), 200..<900)])
    scenario.seed = seed
    return try World.drive(scenario)
  }

  @Test(
    "one bad connection costs at most 15 s when it resets requests, and two backoffs when it answers with 5xx",
    arguments: Fault.BadConnection.allCases, [3, 4, 6, 7] as [UInt64])
  func one(kind: Fault.BadConnection, seed: UInt64) throws {
    let world = try Self.drive(every: 1000, kind, seed: seed)
    expect(world.attempts.count > world.server.applied.count)
    let times = world.applied(190..<990).map(\.at)
    let hole = zip(times, times.dropFirst()).map { $1 - $0 }.max() ?? 1000
    let isError = kind == .internalError || kind == .unavailable
    expect(hole <= (isError ? 10 + 15 + 30 : 15) + 1)
    expect(world.longestGap(10..<980) <= 13)
  }

  @Test("a server that is bad on every connection gets few requests and few connections, and then everything")
  func everyConnection() throws {
    for kind in Fault.BadConnection.allCases {
      let world = try Self.drive(every: 1, kind, seed: 4)
      // As often as during minutes of 503.
      expect(world.attempts(200..<900) < 90, "\(kind)")
      // Two at once, then one in five minutes.
      expect(world.connections.count <= 1 + 2 + 2, "\(kind)")
      // A server that accepts requests unread is not Fleet Engine: the backoff grows to five minutes.
      expect(!world.applied(900..<(kind == .answeredEarly ? 1210 : 960)).isEmpty, "\(kind)")
      expect(world.agent.delivery.backlog.isEmpty, "\(kind)")
    }
  }
}
