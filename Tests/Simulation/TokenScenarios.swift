// SPDX-License-Identifier: Apache-2.0
import Expectations
import Vehicle
import Testing
import Timekeeping

@testable import SimulatedWorld

struct TokenScenarios {
  @Test("an outage of the token provider that is shorter than the last fifth of the token's lifetime has no effect")
  func shortOutage() throws {
    let world = try World.drive(
      Scenario(duration: 2400, faults: [Fault(.providerDown, 480..<590)], tokenLife: 600))
    expect(world.events(.offline).isEmpty)
    expect(world.longestGap(10..<2380) <= 12)
    expect((236...241).contains(world.server.applied.count))
  }

  @Test("without a token positions are queued, and all are delivered when the token provider is back")
  func downPastExpiry() throws {
    let world = try World.drive(
      Scenario(duration: 2400, faults: [Fault(.providerDown, 400..<1500)], tokenLife: 600))
    expect(world.applied(602..<1500).isEmpty)
    expect(!world.applied(1500..<1625).isEmpty)
    expect(world.longestGap(10..<2380) <= 13)
    // From 850 s on, at most one token is requested each minute.
    expect(
      (1..<world.fetches.count).allSatisfy { index in
        let (before, fetch) = (World.seconds(world.fetches[index - 1]), World.seconds(world.fetches[index]))
        return !(850.0..<1500).contains(before) || fetch - before >= 59
      })
    expect(world.events(.tokenFailed).count <= 3)
  }

  @Test(
    "while the token provider returns no valid token, no update is sent, and retries are not at short intervals",
    arguments: [Fault.Kind.providerForeign, .providerStale, .providerWebPage, .providerAnswers(403)])
  func unusable(kind: Fault.Kind) throws {
    let world = try World.drive(Scenario(duration: 4500, faults: [Fault(kind, 0..<3600)]))
    expectEqual(world.attempts(0..<3600), 0)
    expect(world.fetches.count < 60)
    expect(!world.applied(3600..<3905).isEmpty)
    expect(!world.events(.tokenFailed).isEmpty)
  }

  @Test("a clock step is reported once, and so is its correction; updates and token requests continue as usual")
  func clockSteps() throws {
    let world = try World.drive(
      Scenario(duration: 1500, acts: [(500, .clockStep(3600)), (900, .clockStep(-3600))], tokenLife: 300))
    expectEqual(world.events(.clockWrong).count, 1)
    expect(world.events(.clockWrong).allSatisfy { $0.contains("60 min ahead") })
    expectEqual(world.events(.clockRight).count, 1)
    expect(world.longestGap(5..<1490) <= 12)
    expect((6...8).contains(world.fetches.count))
  }

  @Test("a machine clock that is in 1970 or 2038 at boot is reported with its error", arguments: [nil, 378_691_200])
  func wrongAtBoot(error: Int64?) throws {
    let world = try World.drive(Scenario(duration: 900, wallError: error, tokenLife: 300))
    expectEqual(world.events(.clockWrong).count, 1)
    expect(
      world.events(.clockWrong).allSatisfy { $0.contains(error == nil ? "20787 days behind" : "4383 days ahead") })
    expect(world.longestGap(5..<890) <= 12)
  }

  @Test("tokens with a lifetime of forty seconds are renewed in time throughout a drive")
  func shortLife() throws {
    let world = try World.drive(Scenario(duration: 1200, tokenLife: 40))
    expect(world.longestGap(5..<1190) <= 12)
    expect(world.fetches.count <= 42)
  }

  @Test("if a token's expiry is computed from the receiver's time, it is late by at most the receiver's delay")
  func receiverDelay() throws {
    _ = try World.drive(
      Scenario(
        seed: 75_260, duration: 603, drive: .steady(14),
        faults: [Fault(.answers(503, "UNAVAILABLE"), 368..<578), Fault(.providerUndated(backdating: 2), 525..<526)],
        acts: [
          (417, .kill(afterEffects: 10, seconds: 81)), (22, .powerCut(afterEffects: 0, seconds: 16)),
          (344, .powerCut(afterEffects: 0, seconds: 49)),
        ], tokenLife: 40, noise: 0))
  }

  @Test(
    "if the current token expires during the wait after invalid tokens, that does not cause an additional fetch")
  func expiresDuringWait() throws {
    let world = try World.drive(
      Scenario(
        seed: 389_959, duration: 405, drive: .steady(14), faults: [Fault(.providerClock(7200), 254..<293)],
        tokenLife: 300, noise: 0, settings: [.interval(5)], hasCertificates: true))
    expectEqual(world.fetches.filter { World.time(289) < $0 }.count, 1)
  }

  @Test("new settings with a wrong token provider that are used during an outage delay the first update after it")
  func wrongProviderInOutage() throws {
    let world = try World.drive(
      Scenario(
        seed: 10_000_001, duration: 300, drive: .steady(14), faults: [Fault(.silent, 100..<240)],
        acts: [(150, .edit(isTokenWrong: true, confirm: 180))], tokenLife: 120, noise: 0, hasInstallationFaults: true))
    expect(world.applied(240..<266).isEmpty)
  }

  @Test(
    "a token without a `Date` is used for as long as it was issued early, and no longer",
    arguments: 1...10 as ClosedRange<UInt64>)
  func backdated(seed: UInt64) throws {
    _ = try World.drive(
      Scenario(
        seed: seed, duration: 60, drive: .steady(14),
        faults: [
          Fault(.providerUndated(backdating: 2), 0..<5), Fault(.behind(5), 0..<10), Fault(.providerDown, 20..<60),
        ], tokenLife: 40, noise: 0, settings: [.interval(5)]))
  }
}
