// SPDX-License-Identifier: Apache-2.0
import Expectations
import Observability
import Vehicle
import Testing
import Timekeeping

@testable import SimulatedWorld

/// Drives whose updates use the daemon's own HTTP/2 client.
struct HTTP2Scenarios {
  @Test("if a server sometimes sends GOAWAY or refuses a request unread, no position is lost and no outage is reported")
  func refusals() throws {
    var scenario = Scenario(duration: 3000)
    scenario.seed = 3
    let world = try World.drive(scenario)
    let (carried, connections) = (world.line?.carried ?? 0, world.line?.connections ?? 0)
    expect(carried > 250)
    expect(connections > 10)
    expect(world.agent.statistics.attempts > world.agent.statistics.accepted)
    expect(world.violations.isEmpty)
    expect(!world.events.contains { $0.event.kind == .offline })
  }

  @Test("a daemon that is restarted after a kill opens a new connection")
  func killed() throws {
    let world = try World.drive(
      Scenario(
        seed: 176_712, duration: 219, drive: .steady(14),
        faults: [
          Fault(.closedUnanswered(0.3, appliedWithin: 1), 216..<217), Fault(.refusesCompact(1, .page(502)), 188..<193),
        ], acts: [(133, .kill(afterEffects: 9, seconds: 12)), (15, .pause), (188, .resume)], noise: 0))
    expectEqual(world.runNumber, 1)
    expectEqual(world.applied(203..<219).count, 1)
  }
}
