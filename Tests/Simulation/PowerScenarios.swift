// SPDX-License-Identifier: Apache-2.0
import Expectations
import PositionBacklog
import Delivery
import FleetEngine
import Positioning
import Vehicle
import Testing
import Timekeeping

@testable import SimulatedWorld

struct PowerScenarios {
  @Test(
    "a daemon that is killed every few seconds sends updates at least five seconds apart, and keeps sending them",
    arguments: [6, 9])
  func killedRepeatedly(period: Int) throws {
    // Each kill comes at an effect of the start, of a request, or of its response.
    let acts = stride(from: 50, to: 170, by: period).map {
      (second: $0, act: Scenario.Act.kill(afterEffects: 5 + $0 / period % 7, seconds: 1))
    }
    let world = try World.drive(Scenario(duration: 240, acts: acts, settings: [.interval(5)]))
    expect(world.attempts.count { $0.runNumber > 0 } >= 5 && world.agent.delivery.backlog.count <= 1)
    expect(!world.applied(180..<190).isEmpty)
    expect(world.attempts.count <= 12 * 4 + 2)
  }

  @Test(
    "positions of an outage are lost if the daemon is killed before they are written, as while the disk is full",
    arguments: [true, false])
  func whileAnOutageIsWritten(isKilled: Bool) throws {
    let killed = Scenario(
      seed: 39_063, duration: 453, drive: .steady(14.0),
      faults: [
        Fault(.captivePortal, 210..<222), Fault(.latency(6000), 193..<414),
        Fault(.answers(503, "UNAVAILABLE", retryAfter: nil, retryInfo: nil), 0..<448),
      ],
      acts: [
        (269, .networkUp), (420, .networkUp), (417, .kill(afterEffects: 6, seconds: 15)),
        (30, .kill(afterEffects: 10, seconds: 48)),
      ], tokenLife: 40, noise: 0.0)
    let full = Scenario(
      seed: 37_625, duration: 684, drive: .steady(14.0),
      faults: [
        Fault(.diskFull, 533..<669), Fault(.badConnections(every: 1, .headersTooLarge), 292..<526),
        Fault(.answers(503, "UNAVAILABLE", retryAfter: nil, retryInfo: nil), 41..<53),
        Fault(.refusesCompact(1.0, .page(403)), 540..<650),
      ],
      acts: [
        (57, .powerCut(afterEffects: 0, seconds: 16)), (657, .kill(afterEffects: 4, seconds: 30)),
        (420, .network(true)), (646, .networkUp),
      ], noise: 0.0)
    let world = try World.drive(isKilled ? killed : full)
    expect(!world.lostAt.isEmpty)
  }

  @Test(
    "after an outage, updates are immediately sent every five seconds again, however many attempts failed during it")
  func rhythmAfterOutage() throws {
    let world = try World.drive(
      Scenario(duration: 300, faults: [Fault(.unreachable, 100..<200)], settings: [.interval(5)]))
    let times = world.applied(200..<290).map(\.at)
    expect(times.count >= 16)
    expect(zip(times, times.dropFirst()).allSatisfy { $1 - $0 < 6.5 })
  }

  @Test(
    "after a restart without a fix, positions on disk are delivered within an interval of the network's return",
    arguments: [true, false])
  func withoutReceiver(isPowerCut: Bool) throws {
    let act =
      isPowerCut ? Scenario.Act.powerCut(afterEffects: 0, seconds: 20) : .kill(afterEffects: 0, seconds: 20)
    let world = try World.drive(
      Scenario(
        duration: 600, faults: [Fault(.unreachable, 100..<400), Fault(.noFix, 300..<600)], acts: [(310, act)],
        settings: [.commitInterval(5)]))
    let first = try #require(world.applied(400..<600).first)
    expect(first.at < 412 && first.live.time > Scenario.boot + .seconds(285))
    expectNil(first.timeSinceUpdate)
    expect(world.agent.delivery.backlog.isEmpty)
    // The other positions have arrived as well, and none is repeated unnecessarily.
    expect(world.arrivedSeconds.filter { (100..<300).contains($0) }.count >= 18)
    expect(world.applied(440..<600).isEmpty)
  }

  @Test("with a commit interval of 5 s, a power cut during an outage loses only the positions of the last five seconds")
  func inOutage() throws {
    let world = try World.drive(
      Scenario(
        duration: 1500, faults: [Fault(.unreachable, 200..<900)],
        acts: [(600, .powerCut(afterEffects: 0, seconds: 30))],
        settings: [.commitInterval(5)]))
    expect(world.longestGap(10..<598) <= 13)
    expect(world.longestGap(645..<1480) <= 13)
    expect(world.lostInCuts.count <= 1)
    expectEqual(world.events(.backlogRestored).count, 1)
    expectEqual(world.agent.delivery.pendingCount, 0)
  }

  @Test("in a long outage, a power cut loses at most the positions of the last minute", arguments: 0..<13)
  func inLongOutage(part: Int) throws {
    let cut = 600 + 5 * part
    let world = try World.drive(
      Scenario(
        duration: 1500, faults: [Fault(.unreachable, 200..<900)], acts: [(cut, .powerCut(afterEffects: 0, seconds: 30))]
      ))
    expect(world.longestGap(10..<(cut - 60)) <= 13)
    expect(world.lostInCuts.allSatisfy { $0.id >= Scenario.boot + .seconds(cut - 60) })
    expectEqual(world.agent.delivery.pendingCount, 0)
  }

  @Test("in a long outage, positions are committed to disk once a minute")
  func collected() throws {
    let lost = try (0..<13).map { part in
      try World.drive(
        Scenario(
          duration: 700, faults: [Fault(.unreachable, 200..<700)],
          acts: [(600 + 5 * part, .powerCut(afterEffects: 0, seconds: 30))])
      ).lostInCuts.count
    }
    expect(lost.max() ?? 0 >= 5 && lost.min() == 0, "\(lost)")
  }

  @Test(
    "in the first two minutes of an outage, a power cut loses only the positions of the last five seconds",
    arguments: 0..<4)
  func beforeLongOutage(part: Int) throws {
    let world = try World.drive(
      Scenario(
        duration: 900, faults: [Fault(.unreachable, 200..<500)],
        acts: [(290 + 9 * part, .powerCut(afterEffects: 0, seconds: 10))]))
    expect(world.lostInCuts.count <= 1)
    expectEqual(world.agent.delivery.pendingCount, 0)
  }

  @Test("once a server is reached after a long outage, positions are on disk within five seconds again")
  func afterLongOutage() throws {
    let steady = try World.drive(
      Scenario(duration: 900, faults: [Fault(.unreachable, 200..<600)], settings: [.batch(1)]))
    let reached = try #require(steady.applied(600..<900).first).at
    let world = try World.drive(
      Scenario(
        duration: 1500, faults: [Fault(.unreachable, 200..<600)],
        acts: [(Int(reached) + 7, .powerCut(afterEffects: 0, seconds: 10))], settings: [.batch(1)]))
    expectEqual(world.events(.backlogRestored).count, 1)
    expect(world.lostInCuts.count <= 1)
    expect(world.lostInCuts.allSatisfy { $0.id > Scenario.boot + .seconds(600) })
  }

  @Test(
    "late responses to abandoned requests prove that the server is reachable: a power cut loses only the last 5 s",
    arguments: [300, 340, 380])
  func lateResponses(cut: Int) throws {
    let world = try World.drive(
      Scenario(
        duration: 700, faults: [Fault(.answersLate, 100..<600)],
        acts: [(cut, .powerCut(afterEffects: 0, seconds: 10))]))
    expect(world.lostInCuts.count <= 1)
  }

  @Test("the position where the vehicle stops in a long outage is on disk at once", arguments: [418, 430, 455])
  func stopInLongOutage(cut: Int) throws {
    let world = try World.drive(
      Scenario(
        duration: 900, drive: .stretches([(400, 14), (10_000, 0)]), faults: [Fault(.unreachable, 200..<700)],
        acts: [(cut, .powerCut(afterEffects: 0, seconds: 30))]))
    expect(world.lostInCuts.isEmpty)
    expect(world.longestGap(10..<410) <= 13)
    expectEqual(world.agent.delivery.pendingCount, 0)
  }

  @Test("a power cut on a good network loses no position that was sent")
  func online() throws {
    let world = try World.drive(Scenario(duration: 900, acts: [(400, .powerCut(afterEffects: 0, seconds: 20))]))
    expect(world.longestGap(10..<390) <= 13)
    expect(!world.applied(420..<426).isEmpty)
    expect(world.longestGap(425..<880) <= 13)
  }

  @Test("at whatever effect the power is cut, only positions of the last seconds are lost", arguments: 0..<40)
  func anyBoundary(effects: Int) throws {
    let world = try World.drive(
      Scenario(
        duration: 700, faults: [Fault(.unreachable, 100..<297), Fault(.loss(0.3), 300..<420)],
        acts: [(298, .powerCut(afterEffects: effects, seconds: 10))], settings: [.commitInterval(5)]))
    expect(world.lostInCuts.count <= 1)
    expectEqual(world.agent.delivery.pendingCount, 0)
  }

  @Test("despite a power cut every two minutes during an hour on a bad network, the track is delivered")
  func often() throws {
    let acts = stride(from: 120, to: 3500, by: 120).enumerated().map {
      ($1, Scenario.Act.powerCut(afterEffects: $0 % 9, seconds: 8))
    }
    let world = try World.drive(Scenario(duration: 4200, faults: [Fault(.loss(0.5), 0..<3600)], acts: acts))
    expect(world.runNumber == acts.count)
    expect(world.lostInCuts.count <= acts.count)
    expect(world.longestGap(10..<3480) <= 45)
    expectEqual(world.agent.delivery.pendingCount, 0)
  }

  @Test("despite power cuts while a full backlog is thinned repeatedly, the track stays within the reported error")
  func whileThinned() throws {
    let acts = [900, 1502, 2111, 2803, 3404].enumerated().map {
      ($1, Scenario.Act.powerCut(afterEffects: $0 % 3, seconds: 8))
    }
    let world = try World.drive(
      Scenario(
        duration: 4500, faults: [Fault(.unreachable, 100..<4000)], acts: acts, noise: 3,
        settings: [.maxLocations(60), .commitInterval(5)]))
    expect(world.runNumber == acts.count)
    expect(world.removals.contains { $0.reason == .thinned })
    expectEqual(world.agent.delivery.pendingCount, 0)
  }

  @Test("positions that a killed run left on disk stay there if the next run ends before it reads them")
  func thinnedAndUnread() throws {
    let world = try World.drive(
      Scenario(
        duration: 420, drive: .random, faults: [Fault(.unreachable, 100..<420)],
        acts: [(400, .kill(afterEffects: 0, seconds: 17))], settings: [.maxLocations(3), .commitInterval(5)]))
    expect(world.removals.contains { $0.reason == .thinned })
    // A run reads the file when its first request has ended, or after some seconds.
    expect(world.copy.isEmpty && world.unrestored["truck-1"]?.count == 3)
  }

  @Test("a bad position is isolated and all others are delivered, even if the power is cut during the isolation")
  func whileBisecting() throws {
    let steady = try World.drive(Scenario(duration: 1500, faults: [Fault(.unreachable, 200..<900)]))
    // Positions of the outage only: after a power cut, later positions are reported at other times.
    let past = steady.server.applied.flatMap(\.past).map(World.second).filter { $0 < 900 }.sorted()
    for cut in [908, 915, 931, 960] {
      let world = try World.drive(
        Scenario(
          duration: 2500, faults: [Fault(.unreachable, 200..<900), Fault(.rejectsPositions([past[31]]), 0..<2500)],
          acts: [(cut, .powerCut(afterEffects: 1, seconds: 8))], settings: [.commitInterval(5)]))
      expectEqual(world.removals.filter { $0.reason == .rejected }.count, 1)
      expectEqual(world.agent.delivery.pendingCount, 0)
      expectEqual(past.filter { !world.arrivedSeconds.contains($0) }, [past[31]])
    }
  }

  @Test("when a machine without a real-time clock loses power, queued positions keep their times")
  func withoutClock() throws {
    let world = try World.drive(
      Scenario(
        duration: 1500, faults: [Fault(.unreachable, 200..<900)],
        acts: [(600, .powerCut(afterEffects: 0, seconds: 30)), (610, .clockStep(-1_700_000_000))], wallError: nil,
        settings: [.commitInterval(5)]))
    expect(world.longestGap(10..<598) <= 13)
    expectEqual(world.agent.delivery.pendingCount, 0)
  }

  @Test("a date that a wrong machine clock has given, and not the receiver, removes no queued position")
  func datelessWithoutClock() throws {
    let world = try World.drive(
      Scenario(
        duration: 1500, faults: [Fault(.unreachable, 200..<1200)],
        acts: [(600, .powerCut(afterEffects: 0, seconds: 30)), (610, .clockStep(-86_400))], wallError: 0,
        settings: [.commitInterval(5)], isDateless: true))
    expect(!world.removals.contains { [.misdated, .expired].contains($0.reason) })
  }

  @Test("while the disk is full, positions stay in memory and none is lost; the journal reports the fault and its end")
  func diskFull() throws {
    let world = try World.drive(
      Scenario(duration: 1500, faults: [Fault(.unreachable, 200..<900), Fault(.diskFull, 300..<600)]))
    expectEqual(world.events(.backlogInMemory).count, 1)
    expectEqual(world.events(.backlogOnDisk).count, 1)
    expect(world.longestGap(10..<1480) <= 13)
    expectEqual(world.agent.delivery.pendingCount, 0)
  }

  @Test("positions of a vehicle that is configured again while the disk is full stay in the file when the run ends")
  func unreadAtEnd() throws {
    let world = try World.drive(
      Scenario(
        seed: 52_996, duration: 469, drive: .steady(14.0),
        faults: [Fault(.unreachable, 183..<215), Fault(.diskFull, 177..<392), Fault(.latency(6000), 91..<92)],
        acts: [(426, .sourceEnded), (94, .reload(vehicle: "truck-2")), (219, .reload(vehicle: "truck-1"))], noise: 0.0))
    expect(world.finishedAt != nil && world.pending["truck-1"]?.count == 1)
  }

  @Test("a power cut while the disk is full loses only positions recorded since the disk filled up")
  func diskFullAndCut() throws {
    let world = try World.drive(
      Scenario(
        duration: 1500, faults: [Fault(.unreachable, 200..<900), Fault(.diskFull, 500..<900)],
        acts: [(600, .powerCut(afterEffects: 0, seconds: 30))], settings: [.commitInterval(5)]))
    expect(world.longestGap(10..<490) <= 13)
    expect((8...12).contains(world.lostInCuts.count))
  }

  @Test("a temporary disk failure loses no position, and a power cut after it only those of the last seconds")
  func diskFails() throws {
    let world = try World.drive(
      Scenario(
        duration: 1500, faults: [Fault(.unreachable, 200..<1200), Fault(.diskFails, 300..<500)],
        acts: [(900, .powerCut(afterEffects: 0, seconds: 10))], settings: [.commitInterval(5)]))
    expectEqual(world.events(.backlogInMemory).count, 1)
    expectEqual(world.events(.backlogOnDisk).count, 1)
    expect(world.lostInCuts.count <= 1)
    expectEqual(world.agent.delivery.pendingCount, 0)
  }

  @Test("a backlog file that is damaged in an outage is renamed, and a new one gets all positions in memory")
  func diskDamaged() throws {
    let world = try World.drive(
      Scenario(
        duration: 1500, faults: [Fault(.unreachable, 200..<1200), Fault(.diskDamaged, 500..<510)],
        acts: [(900, .powerCut(afterEffects: 0, seconds: 10))], settings: [.commitInterval(5)]))
    expectEqual(world.disk.setAside, 1)
    expectEqual(world.events(.storeSetAside).count, 1)
    expect(world.longestGap(5..<890) <= 13)
    expect(world.lostInCuts.count <= 1)
    expectEqual(world.agent.delivery.pendingCount, 0)
  }

  @Test(
    "a backlog file deleted in an outage is rewritten from memory, and a later power cut loses only the last seconds")
  func diskDeleted() throws {
    let world = try World.drive(
      Scenario(
        duration: 1500, faults: [Fault(.unreachable, 200..<1200), Fault(.diskDeleted, 500..<520)],
        acts: [(900, .powerCut(afterEffects: 0, seconds: 10))], settings: [.commitInterval(5)]))
    expectEqual(world.disk.deletions, 1)
    expectEqual(world.events(.storeReplaced).count, 1)
    expect(world.longestGap(5..<890) <= 13)
    expect(world.lostInCuts.count <= 1)
    expectEqual(world.agent.delivery.pendingCount, 0)
  }

  @Test(
    "a power cut while a deleted backlog file is rewritten loses its contents, but nothing recorded later",
    arguments: 0..<6)
  func diskDeletedAndCut(effects: Int) throws {
    let world = try World.drive(
      Scenario(
        duration: 900, faults: [Fault(.unreachable, 200..<700), Fault(.diskDeleted, 500..<520)],
        acts: [(500, .powerCut(afterEffects: effects, seconds: 10))], settings: [.commitInterval(5)]))
    expectEqual(world.disk.deletions, 1)
    expect(world.longestGap(525..<880) <= 13)
    expectEqual(world.agent.delivery.pendingCount, 0)
  }

  @Test("a backlog file that is deleted just before the daemon stops in an outage is complete for the next run")
  func deletedBeforeEnd() throws {
    let world = try World.drive(
      Scenario(
        duration: 600, faults: [Fault(.unreachable, 200..<600), Fault(.diskDeleted, 500..<600)],
        acts: [(500, .stop(within: 0))]))
    expectEqual(world.disk.deletions, 1)
    expect(world.disk.held["truck-1"]?.count ?? 0 >= 29)
  }

  @Test("after reloads to another vehicle and back with a power cut in between, each vehicle gets its own positions")
  func cutAndReload() throws {
    let world = try World.drive(
      Scenario(
        duration: 1500, faults: [Fault(.unreachable, 200..<500)],
        acts: [
          (300, .reload(vehicle: "truck-2")), (400, .powerCut(afterEffects: 0, seconds: 10)),
          (700, .reload(vehicle: "truck-1")),
        ], settings: [.commitInterval(5)]))
    expect(world.applied(500..<700).allSatisfy { $0.vehicle == "truck-2" })
    expect(world.applied(702..<1500).allSatisfy { $0.vehicle == "truck-1" })
    expect(world.applied(700..<1500).flatMap(\.past).count { (200..<300).contains(World.second(of: $0)) } >= 8)
    expectEqual(world.agent.delivery.pendingCount, 0)
  }

  @Test("a power cut after an outage that an attempt has to detect postpones the next update by the time without power")
  func cutAfterSilence() throws {
    let world = try World.drive(
      Scenario(
        seed: 13_120_494, duration: 204, drive: .steady(0), faults: [Fault(.silent, 161..<162)],
        acts: [(68, .powerCut(afterEffects: 7, seconds: 10))], noise: 0, hasInstallationFaults: true,
        hasCertificates: true))
    expect(world.applied(187..<192).count == 1)
  }

  @Test("after a suspend of an hour, an update is sent within two seconds of the resume")
  func suspend() throws {
    let world = try World.drive(Scenario(duration: 4500, acts: [(300, .suspend(3600))]))
    expect(world.applied(301..<3900).isEmpty)
    expectEqual(world.applied(3900..<3902).count, 1)
    expect(world.longestGap(3904..<4480) <= 13)
  }

  @Test("after a suspend in which the token has expired, a new one is fetched", arguments: [600, 3600])
  func suspendedPastToken(lifetime: Int) throws {
    let world = try World.drive(
      Scenario(duration: 6000, acts: [(300, .suspend(4000))], tokenLife: lifetime))
    expect(!world.applied(4300..<4304).isEmpty)
    expect(world.events(.offline).isEmpty)
  }

  @Test("a suspend at any time during a request loses no position", arguments: 0..<10)
  func suspendInFlight(offset: Int) throws {
    let world = try World.drive(
      Scenario(
        duration: 900, faults: [Fault(.latency(700), 0..<900), Fault(.unreachable, 100..<250)],
        acts: [(251 + offset, .suspend(60))]))
    expect(world.longestGap(10..<250) <= 13)
    expectEqual(world.agent.delivery.pendingCount, 0)
  }

  @Test("a clock step during a suspend does not affect updates")
  func suspendAndStep() throws {
    let world = try World.drive(
      Scenario(duration: 1500, acts: [(300, .suspend(300)), (450, .clockStep(86_400 * 400))]))
    expectEqual(world.applied(600..<603).count, 1)
    expect(world.longestGap(604..<1480) <= 13)
  }

  @Test("a clock that is set more than a year ahead during a suspend removes no queued position")
  func suspendAndStepInOutage() throws {
    let world = try World.drive(
      Scenario(
        duration: 1500, faults: [Fault(.unreachable, 200..<900)],
        acts: [(300, .suspend(300)), (450, .clockStep(86_400 * 400))]))
    expect(world.removals.allSatisfy { $0.reason == .delivered })
    expect(world.longestGap(10..<298) <= 13 && world.longestGap(604..<1480) <= 13)
    expectEqual(world.agent.delivery.pendingCount, 0)
  }

  @Test("a vehicle that drives away during a suspend is not reported where it was parked, even while dates are wrong")
  func drivenWhileSuspended() throws {
    _ = try World.drive(
      Scenario(
        seed: 95_679, duration: 355, drive: .city, acts: [(205, .suspend(147)), (354, .clockSet)],
        wallError: 946_080_000, noise: 0.0, isDateless: true, hasCertificates: true))
  }

  @Test(
    "a daemon that is killed repeatedly reuses its cached token, and fetches the next one only shortly before expiry")
  func killed() throws {
    let acts = stride(from: 120, to: 3500, by: 120).enumerated().map {
      ($1, Scenario.Act.kill(afterEffects: $0 % 9, seconds: 8))
    }
    let world = try World.drive(Scenario(duration: 3600, acts: acts, tokenLife: 3060))
    expect(world.runNumber == acts.count)
    expectEqual(world.boots, 0)
    // One token is fetched at the start, and one in the last ten minutes of the first token's lifetime.
    expectEqual(world.fetches.count, 2, "\(world.fetches)")
    expectEqual(world.events(.tokenRestored).count, acts.count)
    expect(world.events(.tokenNotRestored).isEmpty)
  }

  @Test("a cached token of a previous boot is discarded, and each boot requests a new one")
  func otherBoot() throws {
    let world = try World.drive(
      Scenario(
        duration: 1500,
        acts: [(300, .powerCut(afterEffects: 0, seconds: 20)), (700, .powerCut(afterEffects: 3, seconds: 20))]))
    expectEqual(world.fetches.count, 3)
    expect(world.events(.tokenRestored).isEmpty)
    expectEqual(
      world.events(.tokenNotRestored),
      Array(repeating: "The cached token is discarded: it was stored before the last reboot", count: 2))
  }

  @Test("a cached token that expired while the daemon was not running is discarded")
  func expiredMeanwhile() throws {
    let world = try World.drive(
      Scenario(duration: 900, acts: [(200, .kill(afterEffects: 0, seconds: 400))], tokenLife: 300))
    expectEqual(world.events(.tokenNotRestored).map { $0.hasSuffix("it has expired") }, [true])
    expect(!world.applied(600..<620).isEmpty)
  }

  @Test("after a kill on a good network the first update succeeds even if the token provider is down")
  func providerDownAfterKill() throws {
    let world = try World.drive(
      Scenario(
        duration: 900, faults: [Fault(.providerDown, 150..<900)], acts: [(200, .kill(afterEffects: 0, seconds: 10))]))
    expect(!world.applied(210..<215).isEmpty)
    expect(world.longestGap(215..<890) <= 12)
    expectEqual(world.fetches.count, 1)
  }

  @Test(
    "the position of a stop in a long outage is not written to disk if the full backlog drops it at once, as the oldest"
  )
  func droppedStop() throws {
    let world = try World.drive(
      Scenario(
        seed: 27_327, duration: 254, drive: .random, faults: [Fault(.answersLost, 56..<260)],
        acts: [(70, .powerCut(afterEffects: 0, seconds: 6))], wallError: -779_128, noise: 0,
        settings: [.maxLocations(1)], isDateless: true))
    expect(world.removals.contains { $0.reason == .full && Int($0.at.nanoseconds / 1_000_000_000) == 241 })
  }

  @Test("in a burst of fixes, a position reported before the stop is not taken for the position of the stop")
  func stopInBurst() throws {
    _ = try World.drive(
      Scenario(
        seed: 10_040_377, duration: 450, drive: .random,
        faults: [Fault(.heldBack, 198..<449), Fault(.latency(6000), 217..<340)],
        acts: [
          (39, .powerCut(afterEffects: 0, seconds: 47)), (163, .goOffline), (314, .resume), (21, .pause),
          (226, .reload(vehicle: "truck-2")),
        ], noise: 0, settings: [.trips(reportsState: true, offlineOnStop: true), .interval(5)],
        hasInstallationFaults: true))
  }

  @Test("positions in a deleted backlog file are lost if the settings name another vehicle before the next commit")
  func deletedBeforeOtherVehicle() throws {
    let world = try World.drive(
      Scenario(
        seed: 10_569_273, duration: 514, drive: .steady(0), faults: [Fault(.diskDeleted, 302..<303)],
        acts: [
          (447, .powerCut(afterEffects: 0, seconds: 6)), (127, .network(true)), (133, .network(false)),
          (247, .reload(vehicle: "truck-2")), (313, .reload(vehicle: "truck-1")),
        ], noise: 0, hasInstallationFaults: true))
    expectEqual(world.events(.storeReplaced).count, 1)
  }

  @Test("the place of a stop is on disk although a clock that was ahead had given its timestamp to another position")
  func stopWithTakenTimestamp() throws {
    let world = try World.drive(
      Scenario(
        seed: 564_489, duration: 213, drive: .city, faults: [Fault(.ahead(18), 106..<111)],
        acts: [(131, .suspend(79)), (131, .network(false))], wallError: 946_080_000, noise: 0, isDateless: true,
        hasCertificates: true))
    expect(world.wasParked == true)
  }

  @Test("a stop whose timestamp is taken is on disk even if nothing else happens in that step")
  func stopWithTakenTimestampAlone() throws {
    let world = try World.drive(
      Scenario(
        seed: 441_472, duration: 421, drive: .random,
        faults: [
          Fault(.nameServersDead, 210..<413), Fault(.ahead(18), 319..<327),
          Fault(.otherDaemon(vehicle: "truck-1"), 0..<236),
        ], noise: 0))
    expect(world.wasParked == true)
  }

  @Test("if another vehicle is named while the daemon starts again, the floor of 5 s does not hold for the first one")
  func anotherVehicleWhileStarting() throws {
    let world = try World.drive(
      Scenario(
        seed: 11_450_482, duration: 635, drive: .steady(0),
        faults: [Fault(.swapped, 629..<630), Fault(.settingsWrong(mayConcernVehicle: false), 604..<605)],
        acts: [
          (630, .reload(vehicle: "truck-2")), (604, .reload(vehicle: "truck-1")), (223, .reload(vehicle: "truck-2")),
          (616, .deleteDirectory(noticedAfter: 10_645)), (213, .powerCut(afterEffects: 0, seconds: 6)),
        ], noise: 0, hasInstallationFaults: true))
    let updates = world.server.applied.suffix(2)
    expectEqual(updates.map(\.vehicle), ["truck-2", "truck-2"])
    expect(updates.allSatisfy { (626..<631).contains($0.at) })
  }
}
