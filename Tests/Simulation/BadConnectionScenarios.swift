// SPDX-License-Identifier: Apache-2.0
import Expectations
import PositionBacklog
import Delivery
import Vehicle
import Testing
import Timekeeping

@testable import SimulatedWorld

/// A load balancer with a bad backend: requests on connections to that backend fail. Seeds that are divisible by 3 use
/// HTTP/2 frames, other seeds do not.
struct BadConnectionScenarios {
  private static func drive(every: Int, _ kind: Fault.BadConnection, seed: UInt64) throws -> World {
    var scenario = Scenario(duration: 1300, faults: [Fault(.badConnections(every: every, kind), 200..<900)])
    scenario.seed = seed
    return try World.drive(scenario)
  }

  @Test(
    "one bad connection interrupts updates for at most 15 s, or for two backoffs if its responses are 5xx",
    arguments: Fault.BadConnection.allCases, [3, 4, 6, 7] as [UInt64])
  func one(kind: Fault.BadConnection, seed: UInt64) throws {
    let world = try Self.drive(every: 1000, kind, seed: seed)
    expect(world.attempts.count > world.server.applied.count)
    let times = world.applied(190..<990).map(\.at)
    let interruption = zip(times, times.dropFirst()).map { $1 - $0 }.max() ?? 1000
    let isError = kind == .internalError || kind == .unavailable
    expect(interruption <= (isError ? 10 + 15 + 30 : 15) + 1)
    expect(world.longestGap(10..<980) <= 13)
  }

  @Test(
    "if every connection to a server is bad, it gets few requests and connections, and all positions once it recovers")
  func everyConnection() throws {
    for kind in Fault.BadConnection.allCases {
      let world = try Self.drive(every: 1, kind, seed: 4)
      // Requests are as frequent as during minutes of 503.
      expect(world.attempts(200..<900) < 90, "\(kind)")
      // Two new connections are opened at once, and then one every five minutes.
      expect(world.connections.count <= 1 + 2 + 2, "\(kind)")
      // A server that accepts requests before it has read them is not Fleet Engine: the backoff grows to five minutes.
      expect(!world.applied(900..<(kind == .answeredEarly ? 1210 : 960)).isEmpty, "\(kind)")
      expect(world.agent.delivery.backlog.isEmpty, "\(kind)")
    }
  }
}
