// SPDX-License-Identifier: Apache-2.0
import Delivery
import Expectations
import FleetEngine
import Vehicle
import Observability
import Testing
import Timekeeping

@testable import SimulatedWorld

/// In every scenario, the simulation checks that nothing is sent, recorded or fetched during a pause, and that no
/// position from a pause is sent later.
struct PauseScenarios {
  @Test("during a pause nothing is sent, and the first update follows within two seconds of its end")
  func plain() throws {
    let world = try World.drive(Scenario(duration: 900, acts: [(300, .pause), (600, .resume)]))
    expect(world.applied(301..<600).isEmpty)
    expectEqual(world.attempts(300..<600), 0)
    expect(!world.applied(600..<602).isEmpty)
    expect(world.longestGap(10..<298) <= 13)
    expect(world.longestGap(602..<880) <= 13)
    expectEqual(world.events(.paused).count, 1)
    expectEqual(world.events(.pauseEnded), ["The pause has ended after 5 min"])
  }

  @Test("after a pause, positions queued before it are delivered, and none from the pause")
  func backlog() throws {
    let world = try World.drive(
      Scenario(duration: 1200, faults: [Fault(.unreachable, 100..<350)], acts: [(300, .pause), (600, .resume)]))
    expectEqual(world.attempts(300..<600), 0)
    expect(world.longestGap(10..<298) <= 13)
    expect(!world.arrivedSeconds.contains { (301..<599).contains($0) })
    expectEqual(world.agent.delivery.pendingCount, 0)
  }

  @Test("after a power cut at any effect during a pause, the vehicle is still paused", arguments: 0..<3)
  func powerCut(effects: Int) throws {
    // A pause alone causes no effects; each change of address adds one.
    let world = try World.drive(
      Scenario(
        duration: 1200, faults: [Fault(.unreachable, 100..<350)],
        acts: [
          (300, .pause), (400, .powerCut(afterEffects: effects, seconds: 20)), (401, .networkUp), (402, .networkUp),
          (403, .networkUp), (404, .networkUp), (800, .resume),
        ]))
    expectEqual(world.runNumber, 1)
    expectEqual(world.attempts(301..<800), 0)
    expectEqual(world.events(.paused).last?.hasPrefix("Still paused since "), true)
    expect(!world.applied(800..<803).isEmpty)
    expect(world.longestGap(10..<298) <= 13)
    expectEqual(world.agent.delivery.pendingCount, 0)
  }

  @Test(
    "after a power cut during `pause`, whether or not the pause was on disk, updates are sent after `resume`",
    arguments: 0..<3)
  func cutWhilePausing(effects: Int) throws {
    let world = try World.drive(
      Scenario(
        duration: 900,
        acts: [(299, .powerCut(afterEffects: effects, seconds: 10)), (299, .pause), (600, .resume)]))
    expect(!world.applied(600..<880).isEmpty)
    expectEqual(world.agent.isPaused, false)
    expectEqual(world.runNumber, 1)
  }

  @Test(
    "after a power cut during `resume`, the vehicle may still be paused, and a second `resume` ends the pause",
    arguments: 0..<4)
  func cutWhileResuming(effects: Int) throws {
    let world = try World.drive(
      Scenario(
        duration: 900,
        acts: [(300, .pause), (599, .powerCut(afterEffects: effects, seconds: 10)), (600, .resume), (700, .resume)]))
    expectEqual(world.runNumber, 1)
    expectEqual(world.attempts(300..<600), 0)
    expect(!world.applied(700..<710).isEmpty)
    expectEqual(world.applied(610..<650).isEmpty, (effects == 0))
  }

  @Test("a pause survives a reload, a change of network, a suspend and a clock step")
  func disturbed() throws {
    let world = try World.drive(
      Scenario(
        duration: 1500,
        acts: [
          (300, .pause), (350, .reload(vehicle: "truck-1")), (400, .networkUp), (420, .network(false)),
          (450, .network(true)), (500, .suspend(100)), (650, .clockStep(-900_000_000)),
          (700, .reload(vehicle: "truck-2")), (1000, .resume),
        ]))
    expectEqual(world.attempts(300..<1000), 0)
    expect(world.fetches.allSatisfy { $0 < World.time(300) || $0 >= World.time(1000) })
    expectEqual(world.applied(1000..<1003).map(\.vehicle), ["truck-2"])
  }

  @Test("on a stop during a pause the daemon exits at once, without a request")
  func stop() throws {
    let world = try World.drive(
      Scenario(
        duration: 600, faults: [Fault(.unreachable, 200..<290)],
        acts: [(280, .pause), (400, .stop(within: 5))]))
    expectEqual(world.finishedAt, World.time(400))
    expectEqual(world.attempts(280..<600), 0)
    expectEqual(world.undelivered, world.copy.count)
    expect(world.copy.count >= 7)
  }

  @Test("when the source ends during a pause, the daemon exits without a request")
  func sourceEnds() throws {
    let world = try World.drive(Scenario(duration: 600, acts: [(300, .pause), (400, .sourceEnded)]))
    expectEqual(world.finishedAt, World.time(400))
    expectEqual(world.attempts(300..<600), 0)
  }

  @Test(
    "pausing and resuming every second violates no limit of Fleet Engine, even with a request in flight",
    arguments: 0..<10)
  func flapping(offset: Int) throws {
    var acts = [(second: Int, act: Scenario.Act)]()
    for second in stride(from: 300 + offset, to: 360, by: 2) { acts += [(second, .pause), (second + 1, .resume)] }
    let world = try World.drive(Scenario(duration: 600, faults: [Fault(.latency(700), 0..<600)], acts: acts))
    expect(!world.applied(365..<380).isEmpty)
    expectEqual(world.agent.delivery.pendingCount, 0)
  }

  @Test("if there is no fix when a pause ends, nothing is sent until the next fix")
  func noFixAfterwards() throws {
    let world = try World.drive(
      Scenario(duration: 900, faults: [Fault(.noFix, 500..<700)], acts: [(300, .pause), (600, .resume)]))
    expectEqual(world.attempts(300..<700), 0)
    expect(!world.applied(700..<703).isEmpty)
  }

  @Test(
    "if a receiver's clock is an hour ahead when a pause ends, its positions are not sent, even after slow responses")
  func aheadAtTheEnd() throws {
    let world = try World.drive(
      Scenario(
        seed: 137_309, duration: 483, drive: .steady(14.0),
        faults: [Fault(.slow(14), 102..<246), Fault(.ahead(3600), 455..<460)],
        acts: [(74, .powerCut(afterEffects: 0, seconds: 26)), (229, .pause), (456, .resume)], noise: 0.0,
        hasCertificates: true))
    expect(!world.applied(460..<483).isEmpty)
  }

  @Test("after ten minutes of pause without a network, the watchdog is still notified, and the status says `Paused`")
  func watchdog() throws {
    let world = try World(
      Scenario(
        duration: 900, drive: .steady(0), faults: [Fault(.noFix, 400..<900), Fault(.silent, 250..<900)],
        acts: [(300, .pause)]))
    world.run()
    expect(world.violations.isEmpty)
    expect(world.agent.isPaused)
    expect(world.agent.isProgressing(at: world.moment.boot))
    expect(world.agent.snapshot(at: world.moment).statusLine.hasPrefix("Paused since 2026-12-01T00:0"))
    expectEqual(Explanation(world.agent.snapshot(at: world.moment)).reason, "paused")
  }

  @Test("a position of the last second of a pause that arrives after it, in reordered datagrams, is reported")
  func reorderedAtEnd() throws {
    let world = try World.drive(
      Scenario(
        seed: 913_597, duration: 221, drive: .steady(14.0),
        faults: [Fault(.swapped, 160..<221), Fault(.bytesLost(0.1), 177..<217)],
        acts: [(66, .powerCut(afterEffects: 0, seconds: 41)), (168, .pause), (211, .resume)], noise: 0.0))
    expectEqual(world.applied(211..<212).map { World.second(of: $0.live) }, [210])
  }

  @Test("a fix from before the pause that stays in the port's buffer over a suspend may be sent after the pause")
  func bufferedOverSuspend() throws {
    let world = try World.drive(
      Scenario(
        seed: 766_557, duration: 286, drive: .steady(0.0),
        acts: [(72, .suspend(25)), (95, .pause), (131, .resume), (244, .clockSet), (96, .suspend(176))],
        wallError: nil, noise: 0.0, isDateless: true, dialect: .usual))
    expectEqual(world.server.applied.first?.live.time, Scenario.boot + .seconds(97))
  }
}
