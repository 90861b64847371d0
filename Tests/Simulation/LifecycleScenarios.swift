// SPDX-License-Identifier: Apache-2.0
import Expectations
import PositionBacklog
import Delivery
import FleetEngine
import Vehicle
import Observability
import Testing
import Timekeeping

@testable import SimulatedWorld

struct LifecycleScenarios {
  @Test(
    "after a reload to another vehicle, the previous one's positions stay on disk, and only the new vehicle's are sent")
  func anotherVehicle() throws {
    let world = try World.drive(
      Scenario(duration: 600, faults: [Fault(.unreachable, 200..<300)], acts: [(290, .reload(vehicle: "truck-2"))]))
    expect(world.applied(290..<600).allSatisfy { $0.vehicle == "truck-2" })
    expect(world.disk.held["truck-1"]?.count ?? 0 >= 8)
    expect(world.removals.allSatisfy { $0.reason == .delivered })
    expect(!world.applied(300..<312).isEmpty)
    expect(world.applied(300..<600).flatMap(\.past).allSatisfy { World.second(of: $0) >= 289 })
  }

  @Test("when a vehicle is configured again, its stored positions are delivered")
  func backAgain() throws {
    let world = try World.drive(
      Scenario(
        duration: 900, faults: [Fault(.unreachable, 200..<300)],
        acts: [(290, .reload(vehicle: "truck-2")), (500, .reload(vehicle: "truck-1"))]))
    let late = world.applied(500..<900)
    expect(late.allSatisfy { $0.vehicle == "truck-1" })
    expect(late.flatMap(\.past).count { (200..<290).contains(World.second(of: $0)) } >= 8)
    expect(world.copy.isEmpty)
    expect(world.applied(290..<500).flatMap(\.past).allSatisfy { World.second(of: $0) >= 289 })
  }

  @Test(
    "a vehicle configured again without a fix is reported at its newest stored position, even if a newer one was sent")
  func backAgainWithoutFix() throws {
    let world = try World.drive(
      Scenario(
        seed: 10_177_299, duration: 86, drive: .steady(14),
        faults: [
          Fault(.deniesPast, 33..<34), Fault(.answers(413, "INVALID_ARGUMENT"), 23..<24), Fault(.unplugged, 51..<79),
          Fault(.serverClock(3600), 45..<52),
        ],
        acts: [(51, .reload(vehicle: "truck-2")), (71, .reload(vehicle: "truck-1"))], noise: 0, isDateless: true,
        hasInstallationFaults: true, hasCertificates: true))
    let live = world.server.applied.filter { $0.vehicle == "truck-1" }.map { World.second(of: $0.live) }
    expectEqual(live.suffix(2), [45, 33])
  }

  @Test("until the store of the previous vehicle is closed, updates are sent for that vehicle, with its token")
  func requestBeforeNewSettings() throws {
    let world = try World.drive(
      Scenario(
        seed: 10_192_014, duration: 167, drive: .city,
        acts: [(165, .reload(vehicle: "truck-2")), (164, .deleteDirectory(noticedAfter: 3550))], noise: 0,
        settings: [.commitInterval(1)], hasModem: true, hasInstallationFaults: true, hasCertificates: true))
    expectEqual(world.attempts.suffix(2).map(\.vehicle), ["truck-1", "truck-2"])
  }

  @Test("after a reload just before the store writes, each vehicle gets its own stored positions")
  func reloadAtCommit() throws {
    // The position of second 335 is queued at second 336, and is due to be written at the moment of the reload.
    let world = try World.drive(
      Scenario(
        seed: 6419, duration: 600, drive: .city,
        faults: [Fault(.answers(403, "PERMISSION_DENIED"), 321..<339)],
        acts: [(331, .reload(vehicle: "truck-2")), (341, .reload(vehicle: "truck-1"))], noise: 0))
    expectNil(world.unrestored["truck-1"])
    expectEqual(world.agent.delivery.pendingCount, 0)
  }

  @Test("after a reload just after the start, before the file was opened, each vehicle gets its own stored positions")
  func reloadBeforeRestore() throws {
    // The file is opened at second 112 for a position of truck-2, which is due to be read then, in the same call as
    // truck-1 is configured again.
    let world = try World.drive(
      Scenario(
        seed: 11_530_254, duration: 113, drive: .steady(0),
        acts: [
          (105, .reload(vehicle: "truck-2")), (110, .reload(vehicle: "truck-1")),
          (17, .powerCut(afterEffects: 0, seconds: 6)), (103, .kill(afterEffects: 0, seconds: 2)),
          (42, .edit(isTokenWrong: true, confirm: 120)),
        ], noise: 0, settings: [.commitInterval(1)], hasModem: true, hasInstallationFaults: true,
        hasCertificates: true))
    let kept = world.pending.mapValues { $0.keys.map { ($0 - Scenario.boot).inSeconds }.sorted() }
    expectEqual(kept, ["truck-1": [49, 59, 108], "truck-2": [108]])
  }

  @Test("on a good network, the first update after a reload to another vehicle is sent within two seconds")
  func quickReload() throws {
    let world = try World.drive(Scenario(duration: 400, acts: [(300, .reload(vehicle: "truck-2"))]))
    expectEqual(world.applied(300..<302).map(\.vehicle), ["truck-2"])
    expectEqual(world.fetches.count, 2)
  }

  @Test("a stop on a good network sends the newest position, and the daemon exits in time")
  func stop() throws {
    let world = try World.drive(Scenario(duration: 400, acts: [(307, .stop(within: 5))]))
    let end = try #require(world.finishedAt)
    expect(end <= World.time(312))
    expectEqual(world.undelivered, 0)
    expect(world.server.applied.last.map { World.second(of: $0.live) } ?? 0 >= 306)
  }

  @Test("on a stop without a network the daemon exits in time, and reports the number of undelivered positions")
  func stopWithoutNetwork() throws {
    for kind in [Fault.Kind.unreachable, .silent] {
      let world = try World.drive(
        Scenario(duration: 400, faults: [Fault(kind, 200..<400)], acts: [(307, .stop(within: 3))]))
      let end = try #require(world.finishedAt)
      expect(end <= World.time(310))
      let undelivered = try #require(world.undelivered)
      expect((10...14).contains(undelivered))
      // The next start reads all of them, including the newest.
      expectEqual(world.copy.count, undelivered)
      expectEqual(world.ending?.isStored, true)
      expect(world.copy.values.contains { $0.location.time >= Scenario.boot + .seconds(306) })
    }
  }

  @Test("at a stop without a network, positions are reported as stored for the next start only if they are on disk")
  func stopWithFullDisk() throws {
    for (end, isStored) in [(400, false), (305, true)] {
      let world = try World.drive(
        Scenario(
          duration: 400, faults: [Fault(.unreachable, 200..<400), Fault(.diskFull, 250..<end)],
          acts: [(307, .stop(within: 3))]))
      expectEqual(world.ending?.isStored, isStored)
      expect(world.undelivered ?? 0 >= 10)
    }
  }

  @Test("when the source ends, all its positions are delivered, including the backlog, and the daemon exits")
  func drain() throws {
    let world = try World.drive(
      Scenario(duration: 600, faults: [Fault(.unreachable, 200..<310)], acts: [(300, .sourceEnded)]))
    let end = try #require(world.finishedAt)
    expect(end <= World.time(345))
    expectEqual(world.undelivered, 0)
    expect(world.longestGap(5..<299) <= 13)
  }

  @Test("if the source ends while there is no network, the daemon exits a minute later")
  func drainWithoutNetwork() throws {
    let world = try World.drive(
      Scenario(
        duration: 600, faults: [Fault(.silent, 200..<600), Fault(.noFix, 300..<600)], acts: [(300, .sourceEnded)]))
    expectEqual(world.finishedAt, World.time(360))
    expect(world.undelivered ?? 0 >= 9)
  }

  @Test("a full backlog is thinned, and the whole track is delivered within the error that the status reports")
  func fullBacklog() throws {
    let world = try World.drive(
      Scenario(
        duration: 4000, faults: [Fault(.unreachable, 100..<3700)], noise: 3, settings: [.maxLocations(100)]))
    expect(world.removals.contains { $0.reason == .thinned })
    expect(!world.removals.contains { $0.reason == .full })
    let sentence = " thinned out: the backlog is full, and the remaining positions describe the track within "
    expect(world.events(.positionsDropped).contains { $0.contains(sentence) })
    expect(world.agent.delivery.backlog.isEmpty)
    expect(world.agent.delivery.backlog.thinnedWithin < 100)
    expect(world.agent.snapshot(at: world.moment).statusLine.contains("thinned within"))
  }
}
