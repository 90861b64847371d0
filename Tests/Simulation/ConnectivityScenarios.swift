// SPDX-License-Identifier: Apache-2.0
import Expectations
import PositionBacklog
import Delivery
import Vehicle
import Testing
import Timekeeping

@testable import SimulatedWorld

/// A machine whose kernel reports changes of the network, and which is suspended.
struct ConnectivityScenarios {
  @Test("in a known outage of an hour, an attempt is made every three minutes; updates resume within 2 s of its end")
  func knownOutage() throws {
    let world = try World.drive(
      Scenario(
        duration: 4200, faults: [Fault(.unreachable, 300..<3900)],
        acts: [(1, .network(true)), (300, .network(false)), (3900, .network(true))]))
    expect(world.attempts(301..<3900) <= 20)
    expect(!world.applied(3900..<3902).isEmpty)
    expectEqual(world.events(.networkLost).count, 1)
    expectEqual(world.events(.networkBack).count, 1)
    expect(world.longestGap(10..<4180) <= 13)
    expect(world.agent.delivery.backlog.isEmpty)
  }

  @Test("a machine that reaches Fleet Engine without a default route sends updates as usual")
  func hostRoute() throws {
    let world = try World.drive(Scenario(duration: 1200, acts: [(1, .network(false))]))
    expect((118...122).contains(world.server.applied.count))
  }

  @Test("after a silent outage without a default route, updates resume within three minutes plus a request's deadline")
  func hostRouteOutage() throws {
    let world = try World.drive(
      Scenario(duration: 2400, faults: [Fault(.silent, 300..<600)], acts: [(1, .network(false))]))
    expect(!world.applied(600..<800).isEmpty)
    expect(world.longestGap(10..<2380) <= 13)
  }

  @Test("after a change of address, a request without a response is cancelled before its deadline")
  func handover() throws {
    let world = try World.drive(
      Scenario(
        duration: 600, faults: [Fault(.silent, 300..<312)], acts: [(1, .network(true)), (312, .networkUp)]))
    expect(!world.applied(312..<314).isEmpty)
    expectEqual(world.drops.count, 1)
  }

  @Test("an interface that flaps every second for a quarter of an hour causes no storm of requests or log messages")
  func flapping() throws {
    var scenario = Scenario(duration: 1200)
    scenario.acts = (60...960).map { ($0, .network($0 % 2 == 0)) }
    let world = try World.drive(scenario)
    expect(world.attempts.count <= 12 * 20)
    expect(world.events(.networkLost).count <= 3)
    expect(world.longestGap(10..<1180) <= 13)
  }

  @Test(
    "after a suspend the first update arrives within 2 s, whether or not a request was in flight",
    arguments: [30, 3600, 40_000], [0, 1])
  func suspend(length: Int, offset: Int) throws {
    let start = 305 + offset
    let world = try World.drive(Scenario(duration: start + length + 300, acts: [(start, .suspend(length))]))
    expect(!world.applied((start + length)..<(start + length + 2)).isEmpty)
    expectEqual(world.events(.resumed).count, 1)
    expect(world.events(.sourceLost).isEmpty && world.events(.fixLost).isEmpty)
    expectEqual(world.drops.count, 1)
  }

  @Test("a request that hangs when the machine is suspended does not delay the first update after the resume")
  func suspendInFlight() throws {
    let world = try World.drive(
      Scenario(duration: 1500, faults: [Fault(.silent, 300..<330)], acts: [(312, .suspend(600))]))
    expect(!world.applied(912..<914).isEmpty)
  }
}
