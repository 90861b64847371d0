// SPDX-License-Identifier: Apache-2.0
import Daemon
import Expectations
import PositionBacklog
import Delivery
import FleetEngine
import Positioning
import Vehicle
import Testing
import Timekeeping

@testable import SimulatedWorld

struct BackfillScenarios {
  @Test("a server that accepts two past positions, and then does not answer in time, seems to accept only one")
  func fewerAfterLostResponses() throws {
    let world = try World.drive(
      Scenario(
        seed: 662_108, duration: 600, drive: .random,
        faults: [Fault(.latency(6000), 186..<323), Fault(.silent, 41..<112), Fault(.mostPast(2), 133..<175)],
        acts: [(349, .suspend(48))], noise: 0, settings: [.interval(5)]))
    expect(world.server.applied.filter { $0.at > 400 }.allSatisfy { $0.past.count <= 1 })
    expectEqual(world.agent.delivery.pendingCount, 2)
  }

  /// The number of requests in the busiest minute.
  private func busiestMinute(_ world: World) -> Int {
    world.attempts.map { first in
      world.attempts.count { first.at <= $0.at && $0.at - first.at < .seconds(60) }
    }.max() ?? 0
  }

  @Test(
    "after four hours without a network, 1,440 positions are delivered in three minutes, with live updates as usual")
  func fourHours() throws {
    let world = try World.drive(Scenario(duration: 15_600, faults: [Fault(.unreachable, 300..<14_700)]))
    let drained = try #require(world.server.applied.last { !$0.past.isEmpty })
    expect(drained.at < 14_700 + 180)
    expect(world.longestGap(10..<15_580) <= 13)
    // After the network's return there is a live update in every interval, and there are no more requests than usual.
    let after = world.applied(14_700..<15_600)
    expect(zip(after, after.dropFirst()).allSatisfy { $1.at - $0.at < 11 })
    expect(world.attempts(14_720..<14_960) <= 25)
    expect(after.allSatisfy { $0.past.count <= 100 && $0.bytes < 33_500 })
  }

  @Test(
    "at an interval of 5 s, 2,880 positions of a four-hour outage arrive in 3 min, with at most 12 requests a minute")
  func fiveSeconds() throws {
    let world = try World.drive(
      Scenario(duration: 15_600, faults: [Fault(.unreachable, 300..<14_700)], settings: [.interval(5)]))
    let drained = try #require(world.server.applied.last { !$0.past.isEmpty })
    expect(drained.at < 14_700 + 180)
    expect(busiestMinute(world) <= 12)
    expect(world.longestGap(10..<15_580) <= 8)
  }

  @Test("positions beyond the backlog's capacity are thinned, and the track is delivered within the reported error")
  func thinned() throws {
    let world = try World.drive(
      Scenario(duration: 15_600, drive: .city, faults: [Fault(.silent, 300..<14_700)], settings: [.maxLocations(400)]))
    expect(world.removals.contains { $0.reason == .thinned })
    expectEqual(world.agent.delivery.pendingCount, 0)
    expect(world.agent.delivery.backlog.thinnedWithin < 300)
  }

  @Test("a live position that was never queued is not used as a neighbour for thinning until it is accepted")
  func thinnedWhileInFlight() throws {
    let world = try World.drive(
      Scenario(
        seed: 21_610, duration: 432, drive: .steady(14.0),
        faults: [Fault(.silent, 181..<182), Fault(.answersSometimes(0.1, 400, "INVALID_ARGUMENT"), 370..<418)],
        noise: 0.0, settings: [.maxLocations(2)]))
    expectEqual(world.removals.count { $0.reason == .thinned }, 1)
  }

  @Test("thinning does not interpolate across a live position that was accepted after a later position was queued")
  func acceptedAfterNext() throws {
    let world = try World.drive(
      Scenario(
        seed: 83_940, duration: 133, drive: .steady(14.0),
        faults: [
          Fault(.latency(6000), 83..<103), Fault(.answersSometimes(0.4, 400, "INVALID_ARGUMENT"), 35..<122),
          Fault(.closedUnanswered(0.6, appliedWithin: 9), 68..<83),
        ], noise: 0.0, settings: [.maxLocations(4)], hasModem: true))
    expect(world.removals.contains { $0.reason == .thinned })
  }

  @Test(
    "after an hour's outage, on a link of 1,200 bytes a second, the live position arrives first, and then the backlog")
  func slowLink() throws {
    let world = try World.drive(
      Scenario(duration: 9000, faults: [Fault(.silent, 300..<3900), Fault(.bandwidth(1200), 3900..<9000)]))
    expect(!world.applied(3900..<3930).isEmpty)
    let after = world.applied(3930..<9000)
    expect(zip(after, after.dropFirst()).allSatisfy { $1.at - $0.at < 45 })
    expectEqual(world.agent.delivery.pendingCount, 0)
    expect(world.longestGap(10..<8900) <= 16)
  }

  @Test(
    "the number of past positions that a server accepts at a time is detected, and all positions are delivered",
    arguments: [1, 20, 60])
  func pastPositionLimit(most: Int) throws {
    let world = try World.drive(
      Scenario(duration: 12_000, faults: [Fault(.unreachable, 200..<1800), Fault(.mostPast(most), 0..<12_000)]))
    expectEqual(world.agent.delivery.pendingCount, 0)
    expect(!world.removals.contains { $0.reason == .rejected })
    expect(world.attempts(1820..<12_000) - world.applied(1820..<12_000).count <= 20)
    expect(world.longestGap(10..<11_980) <= 13)
  }

  @Test("a server that rejects bodies of more than 8,000 bytes with 413 gets all positions")
  func mostBytes() throws {
    let world = try World.drive(
      Scenario(duration: 4000, faults: [Fault(.unreachable, 200..<1800), Fault(.mostBytes(8000), 0..<4000)]))
    expectEqual(world.agent.delivery.pendingCount, 0)
    expect(!world.removals.contains { $0.reason == .rejected })
    expect(world.longestGap(10..<3980) <= 13)
  }

  @Test("five bad positions are isolated and dropped, all others are delivered, and live updates continue")
  func fiveBadPositions() throws {
    let steady = try World.drive(Scenario(duration: 4000, faults: [Fault(.unreachable, 200..<1800)]))
    let past = steady.server.applied.flatMap(\.past).map(World.second).sorted()
    let rejected = Set([0, 1, 40, 90, 150].map { past[$0] })
    let world = try World.drive(
      Scenario(duration: 4000, faults: [Fault(.unreachable, 200..<1800), Fault(.rejectsPositions(rejected), 0..<4000)]))
    expectEqual(
      Set(world.removals.filter { $0.reason == .rejected }.map { Int(($0.record.id - Scenario.boot).wholeSeconds) }),
      rejected)
    expectEqual(world.agent.delivery.pendingCount, 0)
    let live = world.applied(1830..<4000)
    expect(zip(live, live.dropFirst()).allSatisfy { $1.at - $0.at < 13 })
  }

  @Test("if a position is sent again after a lost response and is rejected, the previous position is sent instead")
  func rejectedAfterLostResponse() throws {
    let world = try World.drive(
      Scenario(
        seed: 112_302, duration: 306, drive: .steady(14.0),
        faults: [
          Fault(.noFix, 286..<306), Fault(.answersSometimes(0.1, 400, "INVALID_ARGUMENT"), 248..<290),
          Fault(.closedUnanswered(0.1, appliedWithin: 13), 287..<288),
        ], acts: [(108, .pause), (237, .resume)], noise: 0.0))
    expect(world.server.applied.last?.isIgnored == true)
  }

  @Test("the previous position is also sent if the compact update is refused as unimplemented")
  func unimplementedAfterLostResponse() throws {
    let world = try World.drive(
      Scenario(
        duration: 140, drive: .steady(14),
        faults: [
          Fault(.noFix, 102..<140), Fault(.closedUnanswered(1, appliedWithin: 1), 101..<102),
          Fault(.refusesCompact(1, .status(501, "UNIMPLEMENTED")), 102..<104),
        ], noise: 0))
    expect(world.server.applied.contains { $0.isIgnored })
  }

  @Test("a thinned position that arrived in a request whose response was lost is not used as a neighbour for thinning")
  func thinnedAfterLostResponse() throws {
    let world = try World.drive(
      Scenario(
        seed: 451_630, duration: 243, drive: .random,
        faults: [
          Fault(.answersLost, 84..<180), Fault(.unreachable, 3..<11),
          Fault(.badConnections(every: 2, .headersTooLarge), 129..<224),
        ], noise: 0, settings: [.maxLocations(7)], hasModem: true))
    expectEqual(world.removals.count { $0.reason == .thinned }, 12)
  }

  @Test("a bad position is isolated despite outages, lost responses, 503 and 429")
  func badPositionInOutages() throws {
    let steady = try World.drive(Scenario(duration: 4000, faults: [Fault(.unreachable, 200..<1200)]))
    let past = steady.server.applied.flatMap(\.past).map(World.second).sorted()
    let bad = past[past.count / 3]
    var faults = [Fault(.unreachable, 200..<1200), Fault(.rejectsPositions([bad]), 0..<4000)]
    for (index, from) in stride(from: 1203, to: 1500, by: 12).enumerated() {
      let kinds: [Fault.Kind] = [
        .answers(503, "UNAVAILABLE"), .unreachable, .answersLost, .answers(429, "RESOURCE_EXHAUSTED", retryAfter: "4"),
      ]
      faults.append(Fault(kinds[index % 4], from..<(from + 7)))
    }
    let world = try World.drive(Scenario(duration: 4000, faults: faults))
    expectEqual(world.removals.filter { $0.reason == .rejected }.count, 1)
    expectEqual(world.agent.delivery.pendingCount, 0)
    expectEqual(past.filter { !world.arrivedSeconds.contains($0) }, [bad])
  }

  @Test("a live position that the server rejects is dropped as rejected, and all others are delivered")
  func badLivePosition() throws {
    let steady = try World.drive(Scenario(duration: 600))
    let second = World.second(of: steady.server.applied[30].live)
    let world = try World.drive(Scenario(duration: 1800, faults: [Fault(.rejectsLivePositions([second]), 0..<1800)]))
    expectEqual(
      world.removals.filter { $0.reason == .rejected }.map { Int(($0.record.id - Scenario.boot).wholeSeconds) },
      [second])
    expectEqual(world.agent.delivery.pendingCount, 0)
    expect(world.longestGap(10..<1780) <= 26)
  }

  @Test("a live position that the server rejects does not block the backlog, even if no fix follows")
  func badLivePositionWithoutFix() throws {
    // The vehicle enters a tunnel in the last seconds of an outage, and the server rejects the newest position.
    let world = try World.drive(
      Scenario(
        duration: 1800,
        faults: [
          Fault(.unreachable, 200..<500), Fault(.noFix, 490..<1400),
          Fault(.rejectsLivePositions([488, 489, 490]), 0..<1800),
        ]))
    let inTime = world.server.applied.filter { $0.at < 700 }.flatMap { $0.past + [$0.live] }.map(World.second)
    for second in stride(from: 210, to: 470, by: 20) {
      expect(inTime.contains { abs($0 - second) <= 10 }, "the position of second \(second)")
    }
    // No more requests are sent than the heartbeat requires.
    expect(world.server.applied.count { $0.at > 700 && $0.at < 1400 } <= 15)
    expectEqual(world.agent.delivery.pendingCount, 0)
    expect(world.removals.contains { $0.reason == .rejected })
  }

  @Test(
    "when requests are rejected at random, no good position is dropped, and nothing stays pending afterwards",
    arguments: [
      .answersSometimes(0.05, 400, "INVALID_ARGUMENT"), .answersSometimes(0.4, 400, "INVALID_ARGUMENT"),
      .answersSometimes(0.2, 403, "PERMISSION_DENIED"), .answersSometimes(0.2, 200, "INTERNAL"),
    ] as [Fault.Kind])
  func refusedAtRandom(kind: Fault.Kind) throws {
    for seed in UInt64(1)...5 {
      var scenario = Scenario(
        duration: 7000,
        faults: [Fault(.unreachable, 100..<400), Fault(kind, 400..<3000), Fault(.unreachable, 1000..<1200)])
      scenario.seed = seed
      let world = try World.drive(scenario)
      expect(!world.removals.contains { $0.reason == .rejected })
      expectEqual(world.agent.delivery.pendingCount, 0)
    }
  }

  @Test("a temporary 403 suspends past positions for minutes, not for the token's lifetime")
  func deniedOnce() throws {
    let world = try World.drive(
      Scenario(duration: 1500, faults: [Fault(.unreachable, 100..<400), Fault(.deniesPast, 400..<412)]))
    let drained = try #require(world.server.applied.last { !$0.past.isEmpty })
    expect(drained.at < 700)
    expectEqual(world.agent.delivery.pendingCount, 0)
    expect(world.longestGap(10..<1480) <= 13)
  }

  @Test("a 200 response with an error in its body is treated as a failure, and no position is lost")
  func errorInBody() throws {
    let world = try World.drive(Scenario(duration: 900, faults: [Fault(.answers(200, "UNAVAILABLE"), 100..<400)]))
    expect(world.applied(100..<400).isEmpty)
    expect(world.longestGap(10..<880) <= 13)
    expectEqual(world.agent.delivery.pendingCount, 0)
  }

  @Test("past positions that are denied for a missing role stay queued, and are delivered once the role is granted")
  func deniedUntilFixed() throws {
    let world = try World.drive(
      Scenario(
        duration: 3000, faults: [Fault(.unreachable, 200..<500), Fault(.deniesPast, 0..<1500)], tokenLife: 600))
    expectEqual(world.agent.delivery.pendingCount, 0)
    expect(world.longestGap(10..<2980) <= 13)
    expect(world.events(.backfillRefused).count <= 6)
  }

  @Test("if a server rejects all past positions, they stay queued until it accepts them")
  func rejectedUntilFixed() throws {
    let world = try World.drive(
      Scenario(
        duration: 5000, faults: [Fault(.unreachable, 200..<500), Fault(.rejectsPast, 0..<3000)], tokenLife: 600))
    expect(!world.removals.contains { $0.reason == .rejected })
    expectEqual(world.agent.delivery.pendingCount, 0)
    expect(world.longestGap(10..<4980) <= 13)
    let live = world.applied(530..<3000)
    expect(zip(live, live.dropFirst()).allSatisfy { $1.at - $0.at < 13 })
  }

  @Test(
    "if a server fails on all past positions after an outage, live updates continue, and no position is lost",
    arguments: [
      .failsPast(500, "INTERNAL"), .failsPast(504, "DEADLINE_EXCEEDED"), .failsPast(409, "ABORTED"), .dropsPast,
    ] as [Fault.Kind])
  func failsUntilFixed(kind: Fault.Kind) throws {
    let world = try World.drive(
      Scenario(duration: 9000, faults: [Fault(.unreachable, 200..<500), Fault(kind, 0..<6000)], tokenLife: 600))
    let live = world.applied(500..<6000)
    let first = try #require(live.first)
    // Four failures at first.
    expect(first.at < 620, "\(first.at)")
    let gaps = zip(live, live.dropFirst()).map { $1.at - $0.at }
    expect(gaps.allSatisfy { $0 <= 60 }, "\(gaps.max() ?? 0)")
    expect(gaps.count { $0 > 13 } < 40, "\(gaps.count { $0 > 13 })")
    expect(world.removals.allSatisfy { $0.reason == .delivered })
    expectEqual(world.agent.delivery.pendingCount, 0)
    expect(world.longestGap(10..<8980) <= 13)
  }

  @Test("a position on which the server fails without an explanation is isolated, and delivered once it can be")
  func failsOnOne() throws {
    let faults = [Fault(.unreachable, 200..<1800)]
    let steady = try World.drive(Scenario(duration: 6000, faults: faults))
    let past = steady.server.applied.flatMap(\.past).map(World.second).sorted()
    let bad = past[40]
    let world = try World.drive(Scenario(duration: 9000, faults: faults + [Fault(.failsPositions([bad]), 0..<6000)]))
    expect(world.removals.allSatisfy { $0.reason == .delivered })
    expectEqual(world.agent.delivery.pendingCount, 0)
    let live = world.applied(1800..<9000)
    expect(zip(live, live.dropFirst()).allSatisfy { $1.at - $0.at <= 60 })
    // All others are delivered in 20 minutes.
    let arrived = Set(world.applied(0..<3000).flatMap { $0.past + [$0.live] }.map(World.second))
    expectEqual(past.filter { !arrived.contains($0) }, [bad])
  }

  @Test(
    "the reported thinning error also holds between positions whose times are wrong by the same amount",
    arguments: [
      Scenario(
        seed: 158_404, duration: 216, drive: .steady(0),
        faults: [Fault(.latency(6000), 81..<213), Fault(.ahead(18), 90..<224)],
        acts: [(86, .goOffline), (86, .powerCut(afterEffects: 0, seconds: 56))], noise: 0,
        settings: [.maxLocations(2), .trips(reportsState: true, offlineOnStop: true)], hasCertificates: true),
      Scenario(
        seed: 197_889, duration: 128, drive: .steady(14),
        faults: [
          Fault(.answers(401, "UNAUTHENTICATED", retryAfter: nil, retryInfo: nil), 111..<113),
          Fault(.latency(6000), 90..<98), Fault(.behind(5), 90..<100), Fault(.ahead(18), 89..<111),
        ], acts: [(90, .clockSet)], wallError: -1_746_455_522, noise: 0, settings: [.maxLocations(3)],
        isDateless: true, hasCertificates: true),
    ])
  func thinnedAmongMisdated(scenario: Scenario) throws {
    let world = try World.drive(scenario)
    expect(world.removals.contains { $0.reason == .thinned })
  }

  @Test("while a detected limit of one past position is in force, each update delivers one queued position")
  func keptPastPositionLimit() throws {
    let world = try World.drive(
      Scenario(
        seed: 263_929, duration: 359, drive: .steady(14),
        faults: [Fault(.unreachable, 174..<222), Fault(.unreachable, 13..<90), Fault(.mostPast(1), 89..<165)], noise: 0,
        hasCertificates: true))
    expect(world.agent.delivery.pendingCount <= 1)
  }

  @Test("if the newest position is rejected and not due, it is treated as reported once the previous one is accepted")
  func rejectedAndNotDue() throws {
    let world = try World.drive(
      Scenario(
        seed: 10_234_314, duration: 544, drive: .random,
        faults: [
          Fault(.heldBack, 514..<520), Fault(.answersSometimes(0.4, 400, "INVALID_ARGUMENT"), 471..<521),
          Fault(.settingsUnreadable, 0..<193), Fault(.settingsWrong(mayConcernVehicle: true), 93..<94),
        ],
        acts: [
          (297, .suspend(81)), (200, .reload(vehicle: "truck-2")), (346, .reload(vehicle: "truck-1")),
          (512, .ask(.reload)),
        ], noise: 0, hasInstallationFaults: true, hasCertificates: true))
    expectEqual(world.applied(519..<520).map { World.second(of: $0.live) }, [512])
  }

  @Test("the reported thinning error ignores a position from the future that is removed later")
  func beforeFuture() throws {
    let world = try World.drive(
      Scenario(
        seed: 10_427_996, duration: 234, drive: .city,
        faults: [
          Fault(.ahead(90), 165..<214), Fault(.slow(20), 171..<211),
          Fault(.settingsWrong(mayConcernVehicle: true), 0..<170),
        ], noise: 0, settings: [.maxLocations(2)], hasInstallationFaults: true))
    expectEqual(world.removals.map(\.reason).filter { $0 != .delivered }, [.full, .full, .thinned, .misdated])
    expectEqual(world.agent.delivery.backlog.thinnedWithin.rounded(), 50)
  }

  @Test("the reported thinning error ignores a removed future position even if its timestamp recurs")
  func beforeFutureThatRecurs() throws {
    let world = try World.drive(
      Scenario(
        seed: 10_427_996, duration: 400, drive: .city,
        faults: [
          Fault(.ahead(75), 165..<214), Fault(.slow(20), 171..<211),
          Fault(.settingsWrong(mayConcernVehicle: true), 0..<170),
        ], noise: 0, settings: [.maxLocations(2)], hasInstallationFaults: true))
    let misdated = world.removals.first { $0.reason == .misdated }
    expect(world.server.applied.contains { $0.live.time == misdated?.record.id })
  }

  @Test("the reported thinning error counts a queued position whose timestamp the server has for another place")
  func timestampThatRecurs() throws {
    let world = try World.drive(
      Scenario(
        seed: 14_047_754, duration: 450, drive: .city,
        faults: [
          Fault(.providerDown, 405..<429), Fault(.ahead(90), 313..<411),
          Fault(.answersSometimes(0.2, 403, "PERMISSION_DENIED"), 261..<427),
          Fault(.closedUnanswered(1.0, appliedWithin: 12), 337..<339), Fault(.providerClock(3_155_760_000), 148..<332),
          Fault(.badConnections(every: 2, .internalError), 200..<594), Fault(.credentialMissing, 0..<262),
        ],
        acts: [
          (439, .kill(afterEffects: 0, seconds: 51)), (75, .ask(.reload)),
          (217, .powerCut(afterEffects: 0, seconds: 16)),
        ], noise: 0, settings: [.maxLocations(3), .interval(5)], baud: 4800, isAutobaud: true,
        hasInstallationFaults: true, hasCertificates: true))
    expectEqual(world.removals.count { $0.reason == .thinned }, 2)
  }

  @Test("if the newest position is rejected after its vehicle is named again, an older one carries the queue")
  func rejectedAfterVehicleAndBack() throws {
    let world = try World.drive(
      Scenario(
        seed: 11_489_723, duration: 243, drive: .steady(14),
        faults: [
          Fault(.loss(0.7), 133..<150), Fault(.heldBack, 129..<248),
          Fault(.answersSometimes(0.1, 400, "INVALID_ARGUMENT"), 151..<231),
          Fault(.badConnections(every: 2, .answeredEarly), 124..<125), Fault(.unreachable, 57..<122),
          Fault(.mostBytes(1000), 102..<247), Fault(.settingsUnreadable, 0..<60),
        ],
        acts: [
          (214, .reload(vehicle: "truck-1")), (165, .reload(vehicle: "truck-2")), (215, .ask(.reload)),
        ], noise: 0, settings: [.interval(5)], hasInstallationFaults: true))
    let carried = world.server.applied.filter { $0.at > 230 }
    expect(carried.count > 1 && Set(carried.map(\.live.time)).count == 1)
  }
}
