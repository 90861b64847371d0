// SPDX-License-Identifier: Apache-2.0
import Expectations
import PositionBacklog
import Delivery
import Vehicle
import Testing
import Timekeeping

@testable import SimulatedWorld

struct NetworkScenarios {
  @Test("a steady drive on a good network reports every ten seconds, with one token an hour")
  func steadyDrive() throws {
    let world = try World.drive(Scenario(duration: 3500))
    expect((348...352).contains(world.server.applied.count))
    expectEqual(world.fetches.count, 2)
    expectEqual(world.attempts.count, world.server.applied.count)
    expect(world.events(.offline).isEmpty)
  }

  @Test("the first update is sent as soon as there is a fix and a token")
  func firstUpdateAtOnce() throws {
    let world = try World.drive(Scenario(duration: 30))
    let first = try #require(world.server.applied.first)
    expect(first.at < 1.1 + 0.4)
  }

  @Test(
    "in an outage positions are queued; after it the newest is live within an interval, and none is missing",
    arguments: [Fault.Kind.unreachable, .unresolved, .nameServersDead, .silent])
  func outage(kind: Fault.Kind) throws {
    let world = try World.drive(Scenario(duration: 1500, faults: [Fault(kind, 300..<900)]))
    expect(world.applied(301..<900).isEmpty)
    // A request may hang until its own deadline.
    expect(!world.applied(900..<926).isEmpty)
    expect(world.longestGap(10..<1480) <= 13)
    expect(world.agent.delivery.backlog.isEmpty)
    expectEqual(world.events(.online).count, 2)
    expectEqual(world.events(.offline).count, 1)
    expect(world.attempts(300..<900) <= 120)
  }

  @Test("a network that returns is used at once")
  func networkUp() throws {
    let world = try World.drive(
      Scenario(duration: 700, faults: [Fault(.unreachable, 300..<603)], acts: [(603, .networkUp)]))
    // The limit of requests per minute may still apply.
    expect(!world.applied(603..<613).isEmpty)
  }

  @Test("an interface that flaps every second causes no storm", arguments: [Fault.Kind.unreachable, .providerDown])
  func flapping(kind: Fault.Kind) throws {
    var scenario = Scenario(duration: 900, faults: [Fault(kind, 0..<900)])
    scenario.acts = (1..<900).map { ($0, .networkUp) }
    let world = try World.drive(scenario)
    expect(world.attempts.count + world.fetches.count <= 12 * 15)
  }

  @Test("name servers that do not answer delay only the requests, which time out")
  func deadNameServers() throws {
    let world = try World.drive(Scenario(duration: 600, faults: [Fault(.nameServersDead, 0..<300)]))
    expect(world.applied(0..<300).isEmpty)
    expect(!world.applied(300..<330).isEmpty)
    expect(world.longestGap(5..<590) <= 13)
  }

  @Test("a captive portal is distinguished from Fleet Engine, and retried with a growing backoff")
  func captivePortal() throws {
    let world = try World.drive(Scenario(duration: 4000, faults: [Fault(.captivePortal, 300..<2100)]))
    expect(world.events(.offline).contains { $0.contains("(untrusted)") })
    expect(world.attempts(300..<2100) < 60)
    expect(!world.applied(2100..<2415).isEmpty)
    expect(world.longestGap(10..<3600) <= 13)
  }

  @Test("in a tunnel without sky and network no position is invented, and after it none is missing")
  func tunnel() throws {
    let world = try World.drive(
      Scenario(duration: 900, faults: [Fault(.silent, 300..<420), Fault(.noFix, 302..<419)]))
    expect(!world.applied(420..<450).isEmpty)
    expect(world.longestGap(10..<302) <= 13)
    expect(world.longestGap(420..<880) <= 13)
    expectEqual(world.events(.fixLost).count, 1)
    expectEqual(world.events(.fixRegained).count, 1)
  }

  @Test("with a packet loss of a third every position is delivered")
  func loss() throws {
    let world = try World.drive(Scenario(duration: 3600, faults: [Fault(.loss(0.33), 0..<3500)]))
    expect(world.longestGap(30..<3500) <= 16)
    expect(world.agent.delivery.backlog.isEmpty)
  }

  @Test("a response that is lost after the server has applied the update costs a repetition and no position")
  func answerLost() throws {
    let world = try World.drive(Scenario(duration: 600, faults: [Fault(.answersLost, 200..<202)]))
    expect(world.longestGap(5..<590) <= 13)
    expect(world.agent.delivery.backlog.isEmpty)
  }

  @Test("a certificate from the future is reported as a clock that is behind")
  func certificateNotYetValid() throws {
    let world = try World.drive(Scenario(duration: 900, faults: [Fault(.certificateNotYetValid, 100..<300)]))
    expect(world.events(.offline).contains { $0.contains("clock, which may be behind") })
    expect(!world.applied(300..<370).isEmpty)
  }

  @Test("a reload for another vehicle ends a request that hangs, and its first update is accepted at once")
  func otherVehicleWhileHanging() throws {
    let world = try World.drive(
      Scenario(
        seed: 603_492, duration: 65, drive: .steady(14), faults: [Fault(.silent, 32..<51)],
        acts: [(62, .reload(vehicle: "truck-2"))], noise: 0, baud: 4800, isAutobaud: true))
    expectEqual(world.server.applied.last.map { $0.vehicle }, "truck-2")
    expectEqual(world.server.applied.last.map { World.second(of: $0.live) }, 61)
  }
}
