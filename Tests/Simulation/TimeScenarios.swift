// SPDX-License-Identifier: Apache-2.0
import Expectations
import PositionBacklog
import Delivery
import Vehicle
import Testing
import Timekeeping

@testable import SimulatedWorld

/// Wrong time references, and the time that the daemon computes from them.
struct TimeScenarios {
  /// Expects that the first correct fix reaches Fleet Engine within one interval, and that no update is ignored.
  private func expectRecovery(of world: World, at second: Int, sourceLocation: SourceLocation = #_sourceLocation) {
    let first = world.applied(second..<(second + 12)).first {
      !$0.isIgnored && $0.live.time >= Scenario.boot + .seconds(second)
    }
    expect(first != nil, sourceLocation: sourceLocation)
    expect(!world.server.applied.contains { $0.isIgnored }, sourceLocation: sourceLocation)
    expect(world.longestGap(15..<(world.scenario.duration - 15)) <= 16, sourceLocation: sourceLocation)
  }

  @Test(
    "with a receiver that is seconds to decades ahead, no position from the future is sent, and no update is ignored",
    arguments: [18, 3600, 86_400, 50_000_000, 1_650_000_000], [1, 100])
  func aheadReceiver(seconds: Int, from: Int) throws {
    for length in [5, 25, 120] {
      let world = try World.drive(Scenario(duration: 400, faults: [Fault(.ahead(seconds), from..<(from + length))]))
      expectRecovery(of: world, at: from + length)
    }
  }

  @Test("a position that was dropped for its wrong time is not part of the track that is thinned later")
  func droppedAndThinned() throws {
    let world = try World.drive(
      Scenario(
        seed: 92_159, duration: 130, drive: .steady(14.0),
        faults: [Fault(.ahead(18), 33..<38), Fault(.undated, 5..<40), Fault(.unreachable, 46..<110)],
        wallError: 1_576_800_000, noise: 0.0, settings: [.maxLocations(2)], hasCertificates: true))
    let reasons = world.removals.map(\.reason)
    let dropped = try #require(reasons.firstIndex(of: .misdated))
    expect(reasons[dropped...].contains(.thinned), "\(reasons)")
    // Here the misdated position was delivered before the thinning; the vehicle was there at the reported time too.
    let delivered = try World.drive(
      Scenario(
        seed: 374_056, duration: 227, drive: .steady(0),
        faults: [
          Fault(.answers(400, "INVALID_ARGUMENT"), 106..<136), Fault(.providerUndated(backdating: 60), 101..<102),
          Fault(.ahead(18), 97..<100), Fault(.otherDaemon(vehicle: "truck-1"), 0..<93),
        ],
        acts: [(25, .kill(afterEffects: 0, seconds: 36))], settings: [.maxLocations(3)]))
    expectEqual(delivered.removals.map(\.reason), [.delivered, .thinned, .thinned])
  }

  @Test("a position whose impossible date was corrected, but whose time of day is wrong, is removed as misdated")
  func impossibleDate() throws {
    let parked = try World.drive(
      Scenario(
        seed: 94_379, duration: 300, drive: .steady(0.0),
        faults: [Fault(.providerStale, 145..<188), Fault(.ahead(1_650_000_000), 202..<207)],
        acts: [(66, .powerCut(afterEffects: 6, seconds: 41)), (104, .goOffline)], wallError: nil, noise: 0.0,
        settings: [.trips(reportsState: true, offlineOnStop: true)], hasCertificates: true))
    expectEqual(parked.removals.map(\.reason).filter { $0 == .misdated }.count, 1)
    _ = try World.drive(
      Scenario(
        seed: 99_209, duration: 62, drive: .steady(14.0), faults: [Fault(.ahead(1_650_000_000), 7..<55)],
        wallError: 1_576_800_000, noise: 0.0, secondReceiver: .init(lag: 0, metresOff: 60.0), hasCertificates: true))
  }

  @Test("if the clock of a receiver jumps, its time before the jump corrects it, even if responses took 12 s")
  func jumpsInSlowNetwork() throws {
    let ahead = 1_650_000_000
    _ = try World.drive(
      Scenario(
        seed: 138_154, duration: 269, faults: [Fault(.latency(6000), 128..<256), Fault(.ahead(ahead), 234..<239)],
        acts: [(97, .powerCut(afterEffects: 0, seconds: 49))], noise: 0.0, hasCertificates: true))
    _ = try World.drive(
      Scenario(
        seed: 10_001_974, duration: 339,
        faults: [
          Fault(.latency(6000), 228..<318), Fault(.ahead(ahead), 301..<306), Fault(.credentialMissing, 0..<193),
        ],
        acts: [(178, .reload(vehicle: "truck-2"))], noise: 0.0, hasInstallationFaults: true, hasCertificates: true))
  }

  @Test(
    "a receiver whose clock error changes for some seconds is corrected again, and no position has an old timestamp")
  func leapsAgain() throws {
    _ = try World.drive(
      Scenario(
        seed: 119_589, duration: 445, drive: .steady(14.0),
        faults: [Fault(.ahead(18), 438..<443), Fault(.ahead(18), 429..<446)], noise: 0.0, isDateless: true,
        hasCertificates: true))
    let world = try World.drive(
      Scenario(
        seed: 123_264, duration: 190, drive: .steady(14.0),
        faults: [Fault(.behind(86_400), 163..<187), Fault(.ahead(18), 168..<173)], noise: 0.0, hasCertificates: true))
    expect(world.applied(177..<190).allSatisfy { $0.at - Double(World.second(of: $0.live)) < 5 })
  }

  @Test("a receiver that learns the leap seconds without a time source is not corrected by them any longer")
  func leapsWithWrongClock() throws {
    let fast = try World.drive(
      Scenario(
        seed: 645_305, duration: 138, drive: .steady(14.0),
        faults: [Fault(.latency(6000), 4..<122), Fault(.ahead(18), 0..<107)], acts: [(82, .clockStep(967_684_644))],
        noise: 0.0, settings: [.interval(5)]))
    let silent = try World.drive(
      Scenario(
        seed: 589_675, duration: 85, drive: .steady(14.0),
        faults: [Fault(.providerUndated(backdating: 0), 30..<31), Fault(.ahead(18), 29..<71), Fault(.silent, 32..<74)],
        acts: [(70, .clockStep(-1_425_594_129)), (8, .powerCut(afterEffects: 0, seconds: 18))], noise: 0.0))
    for world in [fast, silent] {
      let newest = try #require(world.applied(75..<138).last)
      expect(newest.at - Double(World.second(of: newest.live)) < 5)
    }
  }

  @Test("a receiver clock whose error was known, and that jumps without a time source, is corrected by the jump")
  func jumpsWithoutTimeSource() throws {
    let world = try World.drive(
      Scenario(
        seed: 10_137_679, duration: 216, drive: .steady(14.0),
        faults: [
          Fault(.slow(20), 137..<204), Fault(.ahead(18), 208..<213), Fault(.ahead(3600), 138..<204),
          Fault(.settingsUnusable, 0..<138),
        ], noise: 0.0, hasInstallationFaults: true, hasCertificates: true))
    let newest = try #require(world.applied(205..<216).last)
    expect(abs(newest.at - Double(World.second(of: newest.live))) < 20)
    // A provider's clock is two hours behind, and then the receiver, which has no date, is ahead by the leap seconds.
    _ = try World.drive(
      Scenario(
        seed: 10_246_959, duration: 471, drive: .steady(0.0),
        faults: [
          Fault(.providerClock(-7200), 392..<393), Fault(.ahead(18), 458..<463),
          Fault(.badConnections(every: 1, .internalError), 384..<470),
        ], acts: [(392, .clockSet)], noise: 0.0, isDateless: true, hasInstallationFaults: true, hasCertificates: true))
  }

  @Test(
    "a receiver clock that jumps before Fleet Engine's first response is outvoted by the machine's clock and a token's iat"
  )
  func leapsWithoutServer() throws {
    _ = try World.drive(
      Scenario(
        seed: 110_572, duration: 189, drive: .steady(14.0),
        faults: [
          Fault(.answersLate, 5..<22), Fault(.ahead(31_536_000), 176..<181),
          Fault(.providerUndated(backdating: 0), 1..<2), Fault(.ahead(3600), 1..<5),
        ], acts: [(176, .resume), (24, .pause)], noise: 0.0))
  }

  @Test("while every clock is wrong, timestamps have the error of the only server that has responded")
  func allClocksWrong() throws {
    let world = try World.drive(
      Scenario(
        seed: 720_664, duration: 140, drive: .steady(14.0),
        faults: [
          Fault(.providerClock(-7200), 7..<8), Fault(.ahead(50_000_000), 61..<66), Fault(.unreachable, 12..<67),
        ], wallError: 1_576_800_000, noise: 0.0, hasCertificates: true))
    let first = try #require(world.applied(67..<140).first)
    expect(abs(first.at - 7200 - Double(World.second(of: first.live))) < 20)
    let later = world.applied(80..<140)
    expect(!later.isEmpty && later.allSatisfy { abs($0.at - Double(World.second(of: $0.live))) < 5 })
  }

  @Test("a slow first response corrects a receiver clock that jumped before it, to within the response's delay")
  func leaptBeforeSlowResponse() throws {
    let world = try World.drive(
      Scenario(
        seed: 44_254, duration: 537, drive: .steady(14.0),
        faults: [Fault(.latency(6000), 503..<513), Fault(.ahead(50_000_000), 513..<524)],
        acts: [(426, .powerCut(afterEffects: 5, seconds: 62))], noise: 0.0, hasCertificates: true))
    expect((14...15).contains(world.slowestResponse.wholeSeconds))
    let corrected = try #require(world.applied(520..<530).first)
    expect((0...16).contains(Int(corrected.at) - World.second(of: corrected.live)))
    // The same holds for a receiver without a date.
    _ = try World.drive(
      Scenario(
        seed: 304_959, duration: 119, drive: .steady(14.0),
        faults: [
          Fault(.behind(1000), 109..<120), Fault(.latency(6000), 100..<107),
          Fault(.otherDaemon(vehicle: "truck-1"), 0..<91),
        ], noise: 0.0, isDateless: true, hasCertificates: true))
  }

  @Test("after a slow response a receiver's clock is corrected by that of the other receiver, which was used before")
  func correctedByOtherReceiver() throws {
    let world = try World.drive(
      Scenario(
        seed: 11_527_304, duration: 408, drive: .steady(14.0),
        faults: [Fault(.slow(14), 370..<392), Fault(.noTime, 258..<389), Fault(.ahead(50_000_000), 388..<411)],
        acts: [(291, .suspend(79)), (239, .powerCut(afterEffects: 0, seconds: 32))], wallError: 946_080_000, noise: 0.0,
        secondReceiver: .init(lag: 3000, metresOff: 0.0), hasInstallationFaults: true, hasCertificates: true))
    expect(world.events.contains { if case .receiverClock = $0.event { true } else { false } })
    expect(world.removals.allSatisfy { $0.reason == .delivered })
  }

  @Test("slow responses that are an hour ahead correct a receiver clock that jumps later, so its positions may be late")
  func leapsAfterSlowResponses() throws {
    let world = try World.drive(
      Scenario(
        seed: 114_779, duration: 335, drive: .steady(14.0),
        faults: [Fault(.slow(14), 278..<303), Fault(.ahead(90), 308..<324), Fault(.serverClock(3600), 279..<302)],
        noise: 0.0, hasCertificates: true))
    expect(!world.applied(324..<335).isEmpty)
  }

  @Test(
    "if the provider sends no Date, the machine's clock and the token's iat together outvote a receiver clock that is ahead",
    arguments: [18, 3600, 50_000_000], [5, 25, 120])
  func undatedProvider(ahead: Int, length: Int) throws {
    for backdating in [0, 2] as [Int64] {
      let faults = [Fault(.providerUndated(backdating: backdating), 0..<400), Fault(.ahead(ahead), 0..<length)]
      let world = try World.drive(Scenario(duration: 400, faults: faults))
      expectRecovery(of: world, at: length)
      expect(!world.server.applied.contains { World.second(of: $0.live) > Int($0.at) + 5 })
      expect(try #require(world.server.applied.first).at < 10)
    }
  }

  @Test(
    "if the provider sends no Date and the machine's clock is wrong, the receiver's time is used at once",
    arguments: [18, -18, 3600, -3600, 946_080_000, nil] as [Int64?], [0, 2, 60] as [Int64])
  func undatedProviderAndClock(wallError: Int64?, backdating: Int64) throws {
    let faults = [Fault(.providerUndated(backdating: backdating), 0..<400)]
    let world = try World.drive(Scenario(duration: 400, faults: faults, wallError: wallError))
    expect(try #require(world.server.applied.first).at < 4)
    for applied in world.server.applied { expect(abs(applied.at - Double(World.second(of: applied.live))) < 5) }
  }

  @Test(
    "if machine clock and iat agree on a past time, Fleet Engine's first response corrects it; no position is dropped",
    arguments: [60, 1200] as [Int64])
  func staleClockAndToken(seconds: Int64) throws {
    let faults = [Fault(.providerUndated(backdating: seconds), 0..<400), Fault(.unreachable, 100..<200)]
    // One update is known to have a wrong time, so only the others are checked.
    let world = try World.run(
      Scenario(
        duration: 400, faults: faults, acts: [(150, .kill(afterEffects: 0, seconds: 6))], wallError: -seconds))
    let wrong = world.server.applied.filter { abs($0.at - Double(World.second(of: $0.live))) >= 5 }
    expect(wrong.count == 1 && wrong.allSatisfy { $0.at < 10 })
    expect(!world.removals.contains { $0.reason == .misdated })
    expect(!world.server.applied.contains { $0.isIgnored })
    expect(world.agent.delivery.backlog.isEmpty)
  }

  @Test("a provider that is half a minute behind removes no position that was queued before its first response")
  func providerHalfAMinuteBehind() throws {
    // One update is known to have a wrong time.
    let world = try World.run(
      Scenario(
        duration: 700, faults: [Fault(.unreachable, 0..<400), Fault(.providerClock(-30), 0..<700)], wallError: 600))
    expect(!world.removals.contains { $0.reason == .misdated })
  }

  @Test(
    "after a kill right after the first update of a boot, the next run knows the time, and sends no future position")
  func aheadAndKilled() throws {
    let world = try World.drive(
      Scenario(
        duration: 120, faults: [Fault(.ahead(18), 1..<60)], acts: [(10, .kill(afterEffects: 0, seconds: 6))],
        hasCertificates: true))
    expectEqual(world.attempts.count { $0.runNumber == 0 }, 1)
    expect(world.applied(15..<30).count >= 1)
    expect(!world.server.applied.contains { $0.isIgnored })
  }

  @Test("a receiver that does not know the leap seconds is reported, and reported again when its clock is right")
  func leapSeconds() throws {
    let world = try World.drive(Scenario(duration: 400, faults: [Fault(.ahead(18), 1..<200)]))
    expectEqual(world.events(.receiverClock).count, 2)
    expectEqual(world.events(.receiverClock).first?.contains("18 s ahead, it has no leap seconds yet"), true)
    expect(!world.applied(5..<20).isEmpty)
  }

  @Test("a receiver that reports local time is corrected to the second, even if each response takes 12 s")
  func localTime() throws {
    let world = try World.drive(
      Scenario(
        seed: 1660, duration: 55, drive: .steady(14.0),
        faults: [
          Fault(.latency(6000), 10..<34), Fault(.ahead(3600), 0..<44), Fault(.refusesCompact(1.0, .page(400)), 6..<7),
        ],
        acts: [(17, .powerCut(afterEffects: 0, seconds: 6))], noise: 0.0, settings: [.interval(5)]))
    expectEqual(world.events(.receiverClock).first?.contains("is 60 min ahead"), true)
  }

  @Test(
    "the time of day of a receiver with the first date of GPS time is used, whatever the machine's clock shows",
    arguments: [0, nil, 86_400] as [Int64?], [1, 100])
  func undatedReceiver(wallError: Int64?, from: Int) throws {
    for length in [1, 5, 120, 400] {
      let faults = [Fault(.undated, from..<(from + length))]
      let world = try World.drive(Scenario(duration: 400, faults: faults, wallError: wallError))
      expectRecovery(of: world, at: min(from + length, 380))
    }
  }

  @Test(
    "a receiver with the first date of GPS time and a wrong time of day gets the date of the machine's clock",
    arguments: [
      Scenario(
        seed: 27_119, duration: 330, drive: .steady(0.0),
        faults: [
          Fault(.undated, 303..<304), Fault(.ahead(3600), 303..<304), Fault(.otherDaemon(vehicle: "truck-1"), 0..<232),
        ],
        acts: [(153, .powerCut(afterEffects: 12, seconds: 88))], wallError: -86_400, noise: 0.0, hasCertificates: true),
      Scenario(
        seed: 205_879, duration: 575, drive: .steady(14.0),
        faults: [Fault(.undated, 525..<526), Fault(.ahead(50_000_000), 525..<526)],
        acts: [(438, .powerCut(afterEffects: 6, seconds: 73))], noise: 0.0, hasCertificates: true),
    ])
  func undatedAndWrong(scenario: Scenario) throws {
    let world = try World.drive(scenario)
    expect(!world.applied((scenario.duration - 26)..<scenario.duration).isEmpty)
  }

  @Test(
    "one wrong time of Fleet Engine or the token provider is outvoted at its next correct response",
    arguments: [3600, -3600, 1_000_000, 3_155_760_000, -3_155_760_000] as [Int64],
    [0, nil, -864_000] as [Int64?])
  func wrongServerTime(seconds: Int64, wallError: Int64?) throws {
    for (fault, from) in [
      (Fault.Kind.serverClock(seconds), 95), (.serverClock(seconds), 0), (.providerClock(seconds), 0),
    ] {
      let faults = [Fault(fault, from..<(from + 12))]
      let world = try World.drive(
        Scenario(duration: 400, faults: faults, wallError: wallError, tokenLife: 120, hasCertificates: true))
      expectRecovery(of: world, at: from + 24)
    }
  }

  @Test("the `Date` of a single response of the token provider puts no correct position into the future")
  func providerAhead() throws {
    for (wallError, seconds) in [(nil, 900), (nil, 1800), (-864_000, 1800)] as [(Int64?, Int64)] {
      for from in [0, 20] {
        let world = try World.drive(
          Scenario(
            duration: 200, faults: [Fault(.providerClock(seconds), 0..<100), Fault(.noFix, 0..<from)],
            wallError: wallError, hasCertificates: true))
        expect(!world.server.applied.contains { $0.isIgnored || $0.live.time > Scenario.boot + .seconds($0.at) })
        expect(try #require(world.server.applied.first).at < Double(from + 3))
      }
    }
  }

  @Test(
    "two responses of a token provider that is 30 min ahead put positions into the future until Fleet Engine responds"
  )
  func providerAheadTwice() throws {
    let world = try World.drive(
      Scenario(
        duration: 200, drive: .steady(14),
        faults: [Fault(.providerClock(1800), 0..<100), Fault(.slow(20), 0..<100)],
        acts: [(30, .reload(vehicle: "truck-2"))], wallError: nil, noise: 0, hasCertificates: true))
    let ahead = world.server.applied.filter { $0.live.time > Scenario.boot + .seconds($0.at + 1000) }.map(\.at)
    expect(!ahead.isEmpty && ahead.allSatisfy { 35 < $0 && $0 < 125 }, "\(ahead)")
  }

  @Test(
    "a receiver that is less ahead than the token's request took is not contradicted by the `iat` alone, only by Fleet Engine"
  )
  func issuedDuringSlowRequest() throws {
    let world = try World.drive(
      Scenario(
        seed: 10_475_860, duration: 320, drive: .steady(0.0),
        faults: [
          Fault(.latency(6000), 96..<257), Fault(.providerUndated(backdating: 0), 267..<268),
          Fault(.ahead(18), 215..<267),
          Fault(.refusesCompact(1.0, .page(406)), 0..<289),
        ],
        acts: [
          (95, .goOffline), (181, .powerCut(afterEffects: 3, seconds: 41)), (51, .kill(afterEffects: 5, seconds: 1)),
        ], noise: 0.0, settings: [.trips(reportsState: true, offlineOnStop: false)], hasInstallationFaults: true))
    let ahead = world.server.applied.filter { $0.live.time > Scenario.boot + .seconds($0.at + 5) }.map(\.at)
    expect(ahead.count == 1 && 268 < ahead[0] && ahead[0] < 269, "\(ahead)")
  }

  @Test("a server's clock that is an hour ahead also corrects the lag of a second receiver without a date")
  func laggingReceiverWithWrongServer() throws {
    let world = try World.drive(
      Scenario(
        seed: 10_989_699, duration: 320, drive: .steady(14.0),
        faults: [Fault(.noFix, 310..<321), Fault(.serverClock(3600), 294..<310)], noise: 0.0, isDateless: true,
        secondReceiver: .init(lag: 8000, metresOff: 0.0), hasInstallationFaults: true, hasCertificates: true))
    expectEqual(world.server.applied.last?.live.time, Scenario.boot + .milliseconds(3_919_200))
  }

  @Test(
    "a wrong machine clock does not affect the verification of certificates if the receiver knows the time",
    arguments: [315_360_000, 946_080_000, -3_000_000, nil] as [Int64?])
  func certificates(wallError: Int64?) throws {
    let world = try World.drive(Scenario(duration: 400, wallError: wallError, hasCertificates: true))
    expect(world.longestGap(40..<390) <= 14)
  }

  @Test(
    "if the machine's clock is years ahead, the first update waits for 5 s of steady receiver time, and at most 3 s more",
    arguments: [315_360_000, 946_080_000] as [Int64])
  func firstUpdate(wallError: Int64) throws {
    let world = try World.drive(Scenario(duration: 60, wallError: wallError, hasCertificates: true))
    let first = try #require(world.server.applied.first).at
    expect(first >= 5 && first < 8)
  }

  @Test(
    "a receiver that is years ahead does not affect the verification of certificates if the machine's clock is right")
  func certificatesAndReceiver() throws {
    let faults = [Fault(.ahead(315_360_000), 0..<400)]
    let world = try World.drive(Scenario(duration: 400, faults: faults, hasCertificates: true))
    expect(world.longestGap(40..<390) <= 14)
  }

  @Test("if the token provider is half an hour behind, a vehicle without a fix loses none of its stored positions")
  func providerBehind() throws {
    let world = try World.drive(
      Scenario(
        duration: 600,
        faults: [Fault(.unreachable, 100..<400), Fault(.noFix, 300..<600), Fault(.providerClock(-1800), 300..<600)],
        acts: [(310, .powerCut(afterEffects: 0, seconds: 20))]))
    expect(!world.removals.contains { $0.reason == .misdated })
    expect(world.arrivedSeconds.filter { (100..<300).contains($0) }.count >= 18)
    expect(world.agent.delivery.backlog.isEmpty)
  }

  @Test(
    "when a receiver learns the leap seconds, its new clock error is corrected, and no position has an old timestamp",
    arguments: [3600, 50_000_000])
  func leapSecondsLater(seconds: Int) throws {
    let faults = [Fault(.ahead(seconds), 128..<300), Fault(.ahead(18), 128..<180)]
    let world = try World.drive(Scenario(duration: 400, faults: faults))
    expectRecovery(of: world, at: 300)
    let late = world.applied(190..<300).filter { $0.at - Double(World.second(of: $0.live)) > 5 }
    expect(late.isEmpty)
  }

  @Test("thinning is not affected by positions with timestamps in the future, which are removed as misdated")
  func thinnedAndMisdated() throws {
    for from in [573, 583] {
      let world = try World.drive(
        Scenario(
          seed: 2699, duration: 619, faults: [Fault(.silent, 477..<598), Fault(.ahead(18), from..<594)],
          acts: [(491, .powerCut(afterEffects: 3, seconds: 39))], noise: 0, settings: [.maxLocations(8)],
          hasCertificates: true))
      expect(world.removals.contains { $0.reason == .thinned } && world.removals.contains { $0.reason == .misdated })
      // A clock jump is not taken for a detour of the vehicle, which would be 180 m long.
      expect(world.agent.delivery.backlog.thinnedWithin < 60)
    }
  }

  @Test("a receiver whose clock is ahead in this run does not cause positions of the previous run to be thinned")
  func thinnedAcrossRuns() throws {
    let world = try World.drive(
      Scenario(
        seed: 30_199, duration: 135, drive: .steady(14.0),
        faults: [
          Fault(.unresolved, 76..<135), Fault(.ahead(18), 72..<131),
          Fault(.badConnections(every: 1, .internalError), 22..<45),
        ],
        acts: [(42, .powerCut(afterEffects: 0, seconds: 38))], noise: 0.0, settings: [.maxLocations(5)], hasModem: true,
        hasCertificates: true))
    expect(world.removals.contains { $0.reason == .thinned })
  }

  @Test(
    "if Fleet Engine is an hour behind and the only usable receiver lags by 8 s, the token provider's time is used",
    arguments: [
      (
        Scenario(
          seed: 202_219, duration: 644, faults: [Fault(.noTime, 577..<650), Fault(.serverClock(-3600), 560..<645)],
          noise: 0, secondReceiver: .init(lag: 8000), hasCertificates: true), 15..<630
      ),
      (
        Scenario(
          seed: 118_674, duration: 292, faults: [Fault(.noFix, 263..<296), Fault(.serverClock(-3600), 262..<282)],
          acts: [(25, .powerCut(afterEffects: 0, seconds: 33))], noise: 0, secondReceiver: .init(lag: 8000),
          hasCertificates: true), 90..<278
      ),
    ])
  func laggingReceiver(scenario: Scenario, seconds: Range<Int>) throws {
    let world = try World.drive(scenario)
    expect(world.longestGap(seconds) <= 22)
  }

  @Test("positions that an unconfirmed time suppresses are sent when that time expires, even while a run drains")
  func expiresWhileDraining() throws {
    let world = try World.drive(
      Scenario(
        seed: 4939, duration: 63, faults: [Fault(.ahead(18), 1..<2)], acts: [(2, .sourceEnded)], wallError: nil,
        noise: 0, hasCertificates: true))
    expectEqual(world.applied(61..<62).count, 1)
  }

  @Test(
    "a position whose time the servers contradict is not repeated, so nothing is sent until the next fix",
    arguments: [
      (
        Scenario(
          seed: 34_538, duration: 90, drive: .steady(0),
          faults: [
            Fault(.speed(38400), 2..<64), Fault(.providerUndated(backdating: 60), 1..<2),
            Fault(.ahead(50_000_000), 1..<2),
          ], noise: 0), 2..<64
      ),
      (
        Scenario(
          seed: 13_734, duration: 490, drive: .steady(14),
          faults: [
            Fault(.behind(1000), 221..<227), Fault(.noTime, 227..<474), Fault(.serverClock(-3600), 332..<385),
          ], noise: 0, hasCertificates: true), 383..<474
      ),
    ])
  func contradicted(scenario: Scenario, seconds: Range<Int>) throws {
    let world = try World.drive(scenario)
    expectEqual(world.attempts(seconds), 0)
    expect(!world.applied(seconds.upperBound..<seconds.upperBound + 16).isEmpty)
  }

  @Test(
    "a time that a server gave only once and the receiver contradicts expires after a minute, and one update is ahead",
    arguments: [
      (
        Scenario(
          seed: 27_738, duration: 200, drive: .steady(14),
          faults: [
            Fault(.noFix, 120..<187), Fault(.providerUndated(backdating: 0), 0..<70), Fault(.ahead(3600), 0..<118),
          ], wallError: 1_576_800_000, noise: 0), 180
      ),
      (
        Scenario(
          seed: 30_371, duration: 90, drive: .steady(0),
          faults: [Fault(.noise(0.3), 3..<59), Fault(.ahead(18), 0..<78)],
          wallError: -86_400, noise: 0, hasModem: true), 63
      ),
      (
        Scenario(
          seed: 30_371, duration: 90, drive: .steady(0),
          faults: [
            Fault(.noise(0.3), 3..<61), Fault(.providerUndated(backdating: 60), 1..<2), Fault(.ahead(18), 0..<78),
          ], wallError: -86_400, noise: 0), 63
      ),
    ])
  func givenOnce(scenario: Scenario, second: Int) throws {
    let world = try World.drive(scenario)
    let ahead = world.server.applied.filter { Double(World.second(of: $0.live)) > $0.at && $0.at > 60 }
    expectEqual(ahead.map { Int($0.at) }, [second])
  }

  @Test(
    "a position from the future that was accepted before the time was known is repeated, to deliver older positions")
  func repeatedFromFuture() throws {
    let world = try World.drive(
      Scenario(
        seed: 197_050, duration: 101, drive: .steady(14),
        faults: [
          Fault(.answers(429, "RESOURCE_EXHAUSTED", retryAfter: "45", retryInfo: nil), 32..<33),
          Fault(.ahead(90), 94..<95), Fault(.providerUndated(backdating: 60), 92..<93), Fault(.ahead(18), 92..<98),
        ], acts: [(56, .powerCut(afterEffects: 0, seconds: 34))], noise: 0, settings: [.interval(5)]))
    expectEqual(Set(world.applied(92..<98).map(\.live.time)).count, 1)
    expectEqual(world.agent.delivery.pendingCount, 0)
  }

  @Test(
    "a position with a wrong date from the machine's clock or an earlier fix is corrected, or removed and counted",
    arguments: [
      Scenario(
        seed: 215_439, duration: 88, drive: .steady(14), faults: [Fault(.ahead(50_000_000), 67..<79)],
        acts: [(70, .clockStep(26_828))], wallError: 946_080_000, noise: 0, isDateless: true,
        secondReceiver: .init(lag: 0, metresOff: 5000), hasCertificates: true),
      Scenario(
        seed: 10_021_809, duration: 209, drive: .steady(14),
        faults: [Fault(.ahead(1_650_000_000), 196..<197), Fault(.credentialMissing, 0..<144)],
        acts: [(196, .clockStep(-29_128))], noise: 0, isDateless: true, hasInstallationFaults: true,
        hasCertificates: true),
      Scenario(
        seed: 10_019_534, duration: 102, drive: .city,
        faults: [Fault(.latency(6000), 0..<95), Fault(.undated, 93..<94), Fault(.behind(86_400), 83..<89)], noise: 0,
        hasInstallationFaults: true, hasCertificates: true),
      Scenario(
        seed: 255_974, duration: 250, drive: .steady(14),
        faults: [Fault(.ahead(90), 136..<242), Fault(.ahead(3600), 145..<146), Fault(.serverClock(3600), 211..<227)],
        noise: 0, hasCertificates: true),
      Scenario(
        seed: 10_105_359, duration: 481, drive: .steady(14),
        faults: [Fault(.heldBack, 437..<443), Fault(.ahead(1_650_000_000), 432..<438)], noise: 0, isDateless: true,
        hasInstallationFaults: true, hasCertificates: true),
      Scenario(
        seed: 10_162_419, duration: 426, drive: .steady(0),
        faults: [Fault(.heldBack, 387..<393), Fault(.ahead(50_000_000), 382..<388)], noise: 0, isDateless: true,
        hasInstallationFaults: true, hasCertificates: true),
    ])
  func datedByAnother(scenario: Scenario) throws { _ = try World.drive(scenario) }

  @Test(
    "a daemon that is killed as the second response arrives knows only the first response's time, which is not stored")
  func killedAtSecondResponse() throws {
    let world = try World.drive(
      Scenario(
        seed: 10_165_952, duration: 155, drive: .steady(14),
        faults: [Fault(.providerUndated(backdating: 60), 105..<106), Fault(.ahead(3600), 0..<153)],
        acts: [
          (29, .powerCut(afterEffects: 7, seconds: 58)), (135, .kill(afterEffects: 4, seconds: 6)), (109, .pause),
          (139, .resume),
        ], noise: 0, hasInstallationFaults: true))
    expectEqual(world.runNumber, 2)
  }

  @Test("a daemon that is killed after the first response does not know the time after its restart")
  func killedAfterFirstResponse() throws {
    let world = try World.drive(
      Scenario(
        seed: 10_027_417, duration: 25, drive: .steady(0),
        faults: [Fault(.providerUndated(backdating: 60), 8..<9), Fault(.ahead(18), 7..<23)],
        acts: [(2, .kill(afterEffects: 12, seconds: 6))], noise: 0, baud: 115_200, isAutobaud: true,
        hasInstallationFaults: true))
    expectEqual(world.runNumber, 1)
  }

  @Test(
    "if a queued position that only one time contradicts is sent early, those of a lagging receiver are then ignored",
    arguments: [
      // With an `iat` as that time, the position is up to 7 s early.
      (
        Scenario(
          seed: 284_617, duration: 21, drive: .steady(14),
          faults: [Fault(.mute, 5..<11), Fault(.providerUndated(backdating: 0), 1..<2), Fault(.ahead(18), 0..<12)],
          noise: 0, secondReceiver: .init(lag: 3000, metresOff: 0)), [19, 15]
      ),
      (
        Scenario(
          seed: 284_617, duration: 21, drive: .steady(14), faults: [Fault(.mute, 5..<11), Fault(.ahead(14), 0..<12)],
          noise: 0, secondReceiver: .init(lag: 3000, metresOff: 0)), [15, 14]
      ),
    ])
  func queuedBeforeTime(scenario: Scenario, live: [Int]) throws {
    let world = try World.drive(scenario)
    expectEqual(world.server.applied.map { World.second(of: $0.live) }, live)
  }

  @Test("until the fifth fix, a receiver clock whose error becomes smaller is corrected by the previous error")
  func smallerError() throws {
    _ = try World.drive(
      Scenario(
        seed: 10_238_199, duration: 268, drive: .city,
        faults: [Fault(.ahead(18), 210..<267), Fault(.ahead(18), 252..<257)],
        acts: [(225, .powerCut(afterEffects: 6, seconds: 10))], noise: 0, isDateless: true, hasInstallationFaults: true,
        hasCertificates: true))
  }

  @Test("the simulation checks no thinned position that was queued before its timestamp, even of a parked vehicle")
  func thinnedWhileStationary() throws {
    let scenarios = [
      Scenario(
        seed: 10_192_154, duration: 179, drive: .random,
        faults: [Fault(.ahead(18), 36..<158), Fault(.settingsWrong(mayConcernVehicle: false), 0..<24)],
        acts: [(12, .edit(isTokenWrong: true, confirm: 180))], noise: 0, settings: [.maxLocations(2)],
        hasInstallationFaults: true,
        hasCertificates: true),
      Scenario(
        seed: 10_192_154, duration: 169, drive: .random,
        faults: [Fault(.ahead(18), 36..<158), Fault(.settingsWrong(mayConcernVehicle: false), 0..<36)],
        acts: [(12, .edit(isTokenWrong: true, confirm: 180))], settings: [.maxLocations(2)],
        hasInstallationFaults: true,
        hasCertificates: true),
    ]
    for scenario in scenarios {
      let world = try World.drive(scenario)
      expect(world.removals.contains { $0.reason == .thinned })
    }
  }

  @Test("a position that is an hour old by a server's wrong clock is not repeated; updates resume with the next fixes")
  func hourOldByServer() throws {
    let world = try World.drive(
      Scenario(
        seed: 399_114, duration: 190, drive: .steady(14),
        faults: [Fault(.ahead(90), 109..<115), Fault(.mute, 115..<178), Fault(.serverClock(3600), 110..<122)], noise: 0,
        hasCertificates: true))
    expect(!world.applied(185..<190).isEmpty)
  }

  @Test("if all queued positions are from the future, the oldest is sent, even if it is the only one of this run")
  func oldestOfFuture() throws {
    let world = try World.drive(
      Scenario(
        seed: 10_301_339, duration: 385, drive: .steady(14),
        faults: [
          Fault(.ahead(18), 364..<369), Fault(.ahead(1_650_000_000), 265..<270), Fault(.credentialMissing, 0..<225),
        ],
        acts: [(272, .powerCut(afterEffects: 0, seconds: 88)), (53, .deleteDirectory(noticedAfter: 14443))], noise: 0,
        settings: [.interval(5)], hasInstallationFaults: true, hasCertificates: true))
    expectEqual(world.applied(368..<369).map { World.second(of: $0.live) }, [382])
  }

  @Test("a time that only one response of a run has given is not known to the next run")
  func oneTimeOfEachRun() throws {
    let world = try World.drive(
      Scenario(
        seed: 10_396_412, duration: 23, drive: .steady(14),
        faults: [Fault(.providerUndated(backdating: 60), 1..<2), Fault(.ahead(50_000_000), 0..<20)],
        acts: [(9, .kill(afterEffects: 0, seconds: 6)), (4, .deleteDirectory(noticedAfter: 1582))], noise: 0,
        hasInstallationFaults: true))
    expect(!world.applied(20..<23).isEmpty)
  }

  @Test("a position from the future that is sent once its time has come is not repeated")
  func queuedFromFuture() throws {
    let world = try World.drive(
      Scenario(
        seed: 674_750, duration: 95, drive: .steady(0),
        faults: [Fault(.providerForeign, 8..<9), Fault(.noise(0.3), 10..<81), Fault(.ahead(18), 8..<9)], noise: 0,
        baud: 115_200, isAutobaud: true))
    expectEqual(world.applied(0..<95).map { World.second(of: $0.live) }, [26, 91])
  }

  @Test("after a burst of a minute, whose clock also jumped, the first position is where the vehicle is")
  func standstillInBurst() throws {
    let world = try World.drive(
      Scenario(
        seed: 10_882_084, duration: 106, drive: .city,
        faults: [Fault(.heldBack, 28..<95), Fault(.ahead(3600), 63..<66), Fault(.credentialMissing, 0..<16)],
        wallError: 315_360_000, noise: 0.0, hasInstallationFaults: true, hasCertificates: true))
    expectEqual(world.applied(0..<106).map { World.second(of: $0.live) }, [103])
  }

  @Test("a receiver whose error grows from 13 s to 18 s is corrected anew, exactly")
  func errorGrows() throws {
    let world = try World.drive(
      Scenario(
        seed: 10_941_004, duration: 319, drive: .steady(14),
        faults: [Fault(.behind(5), 272..<278), Fault(.ahead(18), 268..<325)],
        acts: [(312, .kill(afterEffects: 3, seconds: 6)), (260, .powerCut(afterEffects: 0, seconds: 10))], noise: 0,
        isNetworked: true, hasInstallationFaults: true, hasCertificates: true))
    expectEqual(Set(world.applied(290..<312).map { Int($0.at) - World.second(of: $0.live) }), [0])
  }

  @Test("a date that a receiver repeated for seconds and contradicted only once still dates its fixes without a date")
  func contradictedOnce() throws {
    let world = try World.drive(
      Scenario(
        seed: 10_976_022, duration: 126, drive: .steady(14),
        faults: [
          Fault(.noise(0.02), 29..<145), Fault(.ahead(50_000_000), 87..<102),
          Fault(.otherDaemon(vehicle: "truck-1"), 0..<121),
        ],
        acts: [
          (45, .reload(vehicle: "truck-2")), (113, .reload(vehicle: "truck-1")),
          (43, .edit(isTokenWrong: true, confirm: 120)),
        ], noise: 0, dialect: .dateLast, hasInstallationFaults: true))
    expect(world.server.applied.isEmpty)
  }

  @Test("when the first response shows that the newest fix was a year ahead, that fix is removed, not sent")
  func yearAheadBeforeFirstResponse() throws {
    let world = try World.drive(
      Scenario(
        seed: 11_220_462, duration: 272, drive: .random,
        faults: [Fault(.ahead(31_536_000), 176..<182), Fault(.providerStale, 147..<173), Fault(.noFix, 186..<257)],
        acts: [(39, .pause), (57, .resume), (98, .powerCut(afterEffects: 0, seconds: 33))], noise: 0,
        hasInstallationFaults: true))
    expectEqual(world.removals.filter { $0.reason == .misdated }.count, 1)
    expect(!world.server.applied.contains { World.second(of: $0.live) > 272 })
  }

  @Test(
    "a queued position that was stamped 2 s ahead is removed when a later fix has the same timestamp",
    arguments: [false, true])
  func takenTimestamp(hasModem: Bool) throws {
    let serial = Scenario(
      seed: 120_341, duration: 75, drive: .steady(14),
      faults: [Fault(.ahead(2), 64..<69), Fault(.ahead(18), 0..<72), Fault(.silent, 56..<57)], noise: 0)
    // A modem's fixes are read up to a second later.
    let modem = Scenario(
      seed: 297_570, duration: 120, drive: .steady(14),
      faults: [
        Fault(.ahead(2), 109..<114), Fault(.ahead(50_000_000), 98..<116),
        Fault(.rejectsLivePositions(Set(100...114)), 103..<107),
      ], noise: 0, hasModem: true)
    let world = try World.drive(hasModem ? modem : serial)
    expectEqual(
      world.removals.last { $0.reason == .misdated }.map { $0.record.id - Scenario.boot },
      .seconds(hasModem ? 114 : 68))
  }
}
