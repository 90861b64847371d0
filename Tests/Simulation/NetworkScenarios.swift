// SPDX-License-Identifier: Apache-2.0
import Daemon
import Expectations
import PositionBacklog
import Delivery
import Vehicle
import Testing
import Timekeeping

@testable import SimulatedWorld

struct NetworkScenarios {
  @Test("a steady drive on a good network sends an update every ten seconds, and renews the token once in an hour")
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
    "in an outage positions are queued; updates resume within 26 s of its end, and no position is missing",
    arguments: [Fault.Kind.unreachable, .unresolved, .nameServersDead, .silent])
  func outage(kind: Fault.Kind) throws {
    let world = try World.drive(Scenario(duration: 1500, faults: [Fault(kind, 300..<900)]))
    expect(world.applied(301..<900).isEmpty)
    // A request may hang until its deadline.
    expect(!world.applied(900..<926).isEmpty)
    expect(world.longestGap(10..<1480) <= 13)
    expect(world.agent.delivery.backlog.isEmpty)
    expectEqual(world.events(.online).count, 2)
    expectEqual(world.events(.offline).count, 1)
    expect(world.attempts(300..<900) <= 120)
  }

  @Test("when the network returns, updates resume within 10 s")
  func networkUp() throws {
    let world = try World.drive(
      Scenario(duration: 700, faults: [Fault(.unreachable, 300..<603)], acts: [(603, .networkUp)]))
    // The limit of requests per minute may still apply.
    expect(!world.applied(603..<613).isEmpty)
  }

  @Test(
    "an interface that flaps every second causes no storm of requests",
    arguments: [Fault.Kind.unreachable, .providerDown])
  func flapping(kind: Fault.Kind) throws {
    var scenario = Scenario(duration: 900, faults: [Fault(kind, 0..<900)])
    scenario.acts = (1..<900).map { ($0, .networkUp) }
    let world = try World.drive(scenario)
    expect(world.attempts.count + world.fetches.count <= 12 * 15)
  }

  @Test("if name servers do not respond, requests time out, and no position is lost")
  func deadNameServers() throws {
    let world = try World.drive(Scenario(duration: 600, faults: [Fault(.nameServersDead, 0..<300)]))
    expect(world.applied(0..<300).isEmpty)
    expect(!world.applied(300..<330).isEmpty)
    expect(world.longestGap(5..<590) <= 13)
  }

  @Test("a captive portal is distinguished from Fleet Engine, and requests are retried with a growing backoff")
  func captivePortal() throws {
    let world = try World.drive(Scenario(duration: 4000, faults: [Fault(.captivePortal, 300..<2100)]))
    expect(world.events(.offline).contains { $0.contains("(untrusted)") })
    expect(world.attempts(300..<2100) < 60)
    expect(!world.applied(2100..<2415).isEmpty)
    expect(world.longestGap(10..<3600) <= 13)
  }

  @Test(
    "in a tunnel without satellites or a network no position is invented, and none from before or after it is missing")
  func tunnel() throws {
    let world = try World.drive(
      Scenario(duration: 900, faults: [Fault(.silent, 300..<420), Fault(.noFix, 302..<419)]))
    expect(!world.applied(420..<450).isEmpty)
    expect(world.longestGap(10..<302) <= 13)
    expect(world.longestGap(420..<880) <= 13)
    expectEqual(world.events(.fixLost).count, 1)
    expectEqual(world.events(.fixRegained).count, 1)
  }

  @Test("if a third of the requests or their responses is lost, every position is delivered")
  func loss() throws {
    let world = try World.drive(Scenario(duration: 3600, faults: [Fault(.loss(0.33), 0..<3500)]))
    expect(world.longestGap(30..<3500) <= 16)
    expect(world.agent.delivery.backlog.isEmpty)
  }

  @Test("if a response is lost after the server has applied the update, no position is lost")
  func answerLost() throws {
    let world = try World.drive(Scenario(duration: 600, faults: [Fault(.answersLost, 200..<202)]))
    expect(
      world.attempts.contains { attempt in
        attempt.status == nil && world.server.applied.contains { $0.request == attempt.id }
      })
    expect(world.longestGap(5..<590) <= 13)
    expect(world.agent.delivery.backlog.isEmpty)
  }

  @Test("when a certificate is not yet valid, the journal says that the clock may be behind")
  func certificateNotYetValid() throws {
    let world = try World.drive(Scenario(duration: 900, faults: [Fault(.certificateNotYetValid, 100..<300)]))
    expect(world.events(.offline).contains { $0.contains("clock, which may be behind") })
    expect(!world.applied(300..<370).isEmpty)
  }

  @Test(
    "a reload to another vehicle cancels a request that hangs, and the new vehicle's first update is accepted at once")
  func otherVehicleWhileHanging() throws {
    let world = try World.drive(
      Scenario(
        seed: 603_492, duration: 65, drive: .steady(14), faults: [Fault(.silent, 32..<51)],
        acts: [(62, .reload(vehicle: "truck-2"))], noise: 0, baud: 4800, isAutobaud: true))
    expectEqual(world.server.applied.last.map { $0.vehicle }, "truck-2")
    expectEqual(world.server.applied.last.map { World.second(of: $0.live) }, 61)
  }

  @Test("a position that is requested while it takes 14 s to arrive does not delay the next heartbeat")
  func requestedWhileSending() throws {
    let world = try World.drive(
      Scenario(
        seed: 11_192_314, duration: 141, drive: .steady(14),
        faults: [Fault(.slow(14), 50..<73), Fault(.mute, 65..<138)],
        acts: [(81, .ask(.sendNow))], noise: 0, hasInstallationFaults: true, hasCertificates: true))
    expect(world.server.applied.contains { (119..<122).contains($0.at) })
  }

  @Test("a position that is to be repeated while it takes 14 s to arrive does not delay the next heartbeat")
  func repeatedWhileSending() throws {
    let world = try World.drive(
      Scenario(
        seed: 12_158_748, duration: 414, drive: .steady(0),
        faults: [
          Fault(.noTime, 340..<353), Fault(.answers(503, "UNAVAILABLE", retryAfter: "30"), 127..<288),
          Fault(.unresolved, 182..<202), Fault(.slow(14), 266..<354),
        ],
        acts: [
          (188, .reload(vehicle: "truck-1")), (23, .powerCut(afterEffects: 0, seconds: 30)), (281, .ask(.reload)),
        ],
        tokenLife: 40, noise: 0, hasInstallationFaults: true))
    let arrivals = world.server.applied.map(\.at).filter { $0 > 330 }
    expect(zip(arrivals, arrivals.dropFirst()).allSatisfy { $1 - $0 < 52 } && arrivals.last ?? 0 > 380, "\(arrivals)")
  }

  @Test("if the server refuses the first request after an outage unread, the next one is sent within 8 s")
  func refusedAfterReturn() throws {
    let world = try World.drive(
      Scenario(seed: 1_473_450, duration: 340, drive: .steady(14), faults: [Fault(.unresolved, 282..<307)], noise: 0))
    let attempts = world.attempts.filter { World.seconds($0.at) > 307 }.prefix(2)
    expectEqual(attempts.map(\.isAccepted), [false, true])
    expect(zip(attempts, attempts.dropFirst()).allSatisfy { $1.at - $0.at <= .milliseconds(8200) })
  }
}
