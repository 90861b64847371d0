// SPDX-License-Identifier: Apache-2.0
import Daemon
import Expectations
import PositionBacklog
import Delivery
import Positioning
import Vehicle
import Testing
import Timekeeping

@testable import SimulatedWorld

struct ReceiverScenarios {
  @Test("a single fix with a timestamp in the future is rejected, and updates continue")
  func oneStampFromTheFuture() throws {
    let world = try World.drive(Scenario(duration: 600, faults: [Fault(.ahead(31_536_000), 300..<301)]))
    expectEqual(world.agent.statistics.rejected, [.future: 1])
    expect(world.longestGap(5..<590) <= 12)
  }

  @Test("if the first timestamp is in the future, correct ones are accepted within seconds")
  func firstStampFromTheFuture() throws {
    let world = try World.drive(Scenario(duration: 600, faults: [Fault(.ahead(31_536_000), 1..<2)]))
    expect(world.longestGap(7..<590) <= 14)
    expect(world.agent.delivery.backlog.isEmpty)
  }

  @Test("a queued position with a wrong timestamp is removed when the time is corrected")
  func wrongStampInBacklog() throws {
    let world = try World.drive(
      Scenario(duration: 600, faults: [Fault(.ahead(86_400), 1..<2), Fault(.unreachable, 0..<200)]))
    expectEqual(world.removals.filter { $0.reason == .misdated }.count, 1)
    expect(world.agent.delivery.backlog.isEmpty)
    expect(world.longestGap(7..<590) <= 14)
  }

  @Test("epochs without a time that arrive together and in the wrong order yield one fix each")
  func untimedSwapped() throws {
    _ = try World.drive(
      Scenario(
        seed: 126_239, duration: 218, drive: .steady(14.0),
        faults: [Fault(.swapped, 202..<203), Fault(.noTime, 202..<204)], noise: 0.0, dialect: .usual,
        hasCertificates: true))
    _ = try World.drive(
      Scenario(
        seed: 92_161, duration: 305, drive: .steady(0.0),
        faults: [Fault(.noTime, 300..<302), Fault(.swapped, 196..<311)], noise: 0.0, dialect: .usual))
  }

  @Test("a jump of five kilometres is rejected; if it persists, the new position is accepted")
  func jump() throws {
    let once = try World.drive(Scenario(duration: 300, faults: [Fault(.jump(5000), 100..<101)]))
    expectEqual(once.agent.statistics.rejected, [.impossibleSpeed: 1])
    let forGood = try World.drive(Scenario(duration: 300, faults: [Fault(.jump(5000), 100..<400)]))
    expectEqual(forGood.agent.statistics.rejected, [.impossibleSpeed: 4])
    expect(forGood.longestGap(5..<290) <= 16)
  }

  @Test(
    "if a parked vehicle's positions jump, the old position is reported for some seconds, whatever the new timestamps")
  func heldThroughJump() throws {
    for scenario in [
      Scenario(
        seed: 25_731, duration: 280, drive: .random,
        faults: [Fault(.ahead(90), 146..<168), Fault(.unplugged, 254..<255)],
        noise: 0.0, secondReceiver: .init(metresOff: 60)),
      Scenario(
        seed: 27_054, duration: 516, drive: .random,
        faults: [
          Fault(.jump(5000), 488..<506), Fault(.loss(0.33), 493..<494), Fault(.answers(500, "INTERNAL"), 249..<259),
          Fault(.ahead(50_000_000), 478..<510),
        ],
        acts: [(369, .powerCut(afterEffects: 0, seconds: 32))], wallError: 1_576_800_000, noise: 0.0,
        hasCertificates: true),
    ] {
      let world = try World.drive(scenario)
      expect(!world.applied((scenario.duration - 6)..<scenario.duration).isEmpty)
    }
  }

  @Test(
    "without a fix the last position is repeated with its age, and new positions follow at once when the fix is back")
  func lostAndBack() throws {
    let world = try World.drive(Scenario(duration: 900, faults: [Fault(.noFix, 300..<600)]))
    let repeats = world.applied(320..<600)
    expect((5...6).contains(repeats.count))
    expectEqual(Set(repeats.map(\.live)).count, 1)
    let ages = repeats.compactMap(\.timeSinceUpdate)
    expect(ages.count == repeats.count && ages == ages.sorted())
    expectEqual(world.events(.fixLost).count, 1)
    expect(!world.applied(600..<606).isEmpty)
  }

  @Test("a vehicle parked for hours sends heartbeats with unchanged coordinates, a new time and a growing age")
  func parked() throws {
    let world = try World.drive(Scenario(duration: 7200, drive: .stretches([(300, 14), (1, 0)])))
    let parked = world.applied(400..<7200)
    expect((134...138).contains(parked.count))
    expectEqual(Set(parked.map { [$0.live.latitude, $0.live.longitude] }).count, 1)
    expectEqual(Set(parked.map(\.live.time)).count, parked.count)
    let ages = parked.compactMap(\.timeSinceUpdate)
    expect(ages.count == parked.count && ages == ages.sorted())
  }

  @Test("in stop-and-go traffic, each start is reported within 12 s")
  func city() throws {
    let world = try World.drive(Scenario(duration: 3600, drive: .city))
    expect(world.longestGap(5..<3590) <= 52)
    // A start is detected after 3 s, and reported within the minimum interval of 5 s.
    let starts = stride(from: 70, to: 3500, by: 70)
    for start in starts {
      expect(!world.applied(start..<(start + 12)).isEmpty, "set off at \(start) s")
    }
  }

  @Test("an epoch that is sent twice yields one fix; fixes out of order are rejected and counted, and updates continue")
  func disorder() throws {
    let world = try World.drive(
      Scenario(duration: 900, faults: [Fault(.twice, 100..<200), Fault(.swapped, 300..<400)]))
    expectEqual(world.agent.statistics.rejected, [.outOfOrder: 50])
    // One fix is missing: the one that waits for its successor when the disorder ends.
    expectEqual(world.agent.statistics.fixes, 900 - 1)
    expect(world.longestGap(5..<890) <= 13)
  }

  @Test("if the fixes of a minute arrive at once, all but those of the last seconds are rejected as stale")
  func heldBack() throws {
    let world = try World.drive(Scenario(duration: 400, faults: [Fault(.heldBack, 100..<160)]))
    expect((world.agent.statistics.rejected[.stale] ?? 0) >= 45)
    expect(!world.applied(160..<166).isEmpty)
    // Of an epoch with a wrong date, the sentence with the date is lost.
    _ = try World.drive(
      Scenario(
        seed: 11_541_794, duration: 513, drive: .steady(14.0),
        faults: [
          Fault(.heldBack, 447..<465), Fault(.noise(0.02), 330..<477), Fault(.behind(86_400), 449..<450),
          Fault(.credentialMissing, 0..<288),
        ], acts: [(191, .ask(.reload))], noise: 0.0, dialect: .dateLast, hasInstallationFaults: true,
        hasCertificates: true))
  }

  @Test(
    "a machine clock that is wrong at boot, or jumps by decades, does not affect updates and token requests",
    arguments: [nil, 0, 1_576_800_000, -1_576_800_000])
  func wallClock(error: Int64?) throws {
    let steps: [(second: Int, act: Scenario.Act)] = [
      (500, .clockStep(1_576_800_000)), (900, .clockStep(-3_000_000_000)),
    ]
    let world = try World.drive(Scenario(duration: 1500, acts: steps, wallError: error, tokenLife: 300))
    expect(world.longestGap(5..<1490) <= 12)
    expect(world.events(.offline).isEmpty)
    expect((6...8).contains(world.fetches.count))
  }

  @Test(
    "a receiver without a date is used once the machine's clock is plausible, and follows the clock when it is set",
    arguments: [nil, -864_000, -820_000, 86_400, 31_536_000] as [Int64?])
  func dateless(error: Int64?) throws {
    let world = try World.drive(
      Scenario(duration: 600, acts: [(200, .clockSet)], wallError: error, isDateless: true))
    expect(world.longestGap(205..<590) <= 14)
    let isRefused = error == nil
    // At the start, its fixes are rejected for two seconds.
    let rejected = world.agent.statistics.rejected[.noDate] ?? 0
    expect(isRefused ? rejected == 199 : (1...2).contains(rejected), "\(rejected)")
    expectEqual(world.agent.statistics.rejected.count, 1)
    expectEqual(world.events(.fixRejected).count, (isRefused ? 1 : 0))
  }

  @Test(
    "a fix without a date, half a day from the machine's clock, gets the date that is nearer to the clock",
    arguments: [
      Scenario(
        seed: 65_109, duration: 152, drive: .steady(14.0),
        faults: [Fault(.latency(6000), 112..<147), Fault(.ahead(50_000_000), 143..<148)],
        acts: [(89, .powerCut(afterEffects: 6, seconds: 9))], wallError: 22_236, noise: 0.0, isDateless: true,
        hasCertificates: true),
      Scenario(
        seed: 105_789, duration: 90, drive: .steady(14.0),
        faults: [Fault(.unreachable, 57..<89), Fault(.ahead(50_000_000), 85..<90)],
        acts: [(8, .powerCut(afterEffects: 0, seconds: 47)), (37, .clockStep(82_008)), (82, .clockStep(-49_992))],
        noise: 0.0, isDateless: true, hasCertificates: true),
      Scenario(
        seed: 117_069, duration: 199, drive: .steady(14.0), faults: [Fault(.ahead(1_650_000_000), 188..<193)],
        acts: [(147, .clockStep(16_963)), (192, .clockStep(-54_792)), (73, .clockSet), (63, .network(false))],
        wallError: 315_360_000, noise: 0.0, isDateless: true, hasCertificates: true),
    ])
  func datelessAndWrong(scenario: Scenario) throws {
    let world = try World.drive(scenario)
    expect(world.agent.statistics.acceptedFixes > 0)
  }

  @Test("epochs without a time that arrive in one burst are distinguished by their first sentence, and none is used")
  func untimedBurst() throws {
    let world = try World.drive(
      Scenario(
        seed: 218_178, duration: 465, drive: .steady(14),
        faults: [Fault(.heldBack, 447..<449), Fault(.noTime, 448..<450)], noise: 0, dialect: .usual))
    expectEqual(world.agent.statistics.rejected[.noTime], 2)
  }
}
