// SPDX-License-Identifier: Apache-2.0
import PositionBacklog
import Delivery
import Expectations
import Vehicle
import Positioning
import Testing
import Timekeeping

@testable import SimulatedWorld

/// Two receivers that disagree. In every scenario, the simulation checks that live positions never go back in time.
struct SourcesScenarios {
  @Test(
    "no fix is rejected after failover to a receiver whose clock lags, or after failback",
    arguments: [0, 400, 3000, 8000])
  func lag(milliseconds: Int) throws {
    let world = try World.drive(
      Scenario(
        duration: 900, faults: [Fault(.unplugged, 300..<600)], secondReceiver: .init(lag: milliseconds)))
    expectEqual(world.events(.sourceChosen).count, 3)
    expect(world.agent.statistics.rejected.isEmpty)
    expect(world.longestGap(5..<298) <= 11)
    // The disconnection is detected at once, and the second receiver is already good. That receiver's clock may have to
    // catch up.
    expect(!world.applied(300..<(312 + milliseconds / 1000)).isEmpty)
    // At failback from a clock that lags, the timestamps jump ahead by that lag.
    expect(world.longestGap(312..<890) <= 12 + milliseconds / 1000)
    expectEqual(world.agent.delivery.pendingCount, 0)
  }

  @Test(
    "after failover to a receiver whose clock lags by half a minute, its fixes are accepted once five of them agree")
  func contradicted() throws {
    let world = try World.drive(
      Scenario(duration: 900, faults: [Fault(.unplugged, 300..<600)], secondReceiver: .init(lag: 30_000)))
    expectEqual(world.events(.sourceChosen).count, 3)
    expect(!world.applied(306..<322).isEmpty)
    expect(!world.applied(615..<640).isEmpty)
  }

  @Test("a second receiver whose positions are wrong is not used as long as the first is good")
  func farOffUnused() throws {
    let alone = try World.drive(Scenario(duration: 600))
    let world = try World.drive(Scenario(duration: 600, secondReceiver: .init(metresOff: 5000)))
    expectEqual(world.server.applied.map(\.live), alone.server.applied.map(\.live))
    expectEqual(world.events(.sourceChosen).count, 1)
  }

  @Test("after failover to a receiver whose positions are wrong, they are reported unchanged")
  func farOff() throws {
    let world = try World.drive(
      Scenario(duration: 900, faults: [Fault(.noFix, 300..<600)], secondReceiver: .init(metresOff: 5000)))
    expect(world.agent.statistics.rejected.isEmpty)
    expect(!world.applied(310..<322).isEmpty)
    expect(world.longestGap(5..<890) <= 23)
  }

  @Test("with the first receiver on a noisy line and the second on a good one, the track is complete")
  func noisy() throws {
    let world = try World.drive(
      Scenario(
        duration: 900, faults: [Fault(.noise(0.3), 200..<700)], secondReceiver: .init(lag: 400)))
    expect(world.longestGap(5..<890) <= 23)
    expect(world.events(.fixLost).isEmpty)
  }

  @Test("while two receivers fail in turn for twenty minutes, updates never stop")
  func flicker() throws {
    let faults = stride(from: 100, to: 1300, by: 60).flatMap {
      [Fault(.noFix, $0..<($0 + 30)), Fault(.unplugged, ($0 + 30)..<($0 + 60), of: 1)]
    }
    let world = try World.drive(Scenario(duration: 1500, faults: faults, secondReceiver: .init(lag: 3000)))
    expect(world.longestGap(5..<1490) <= 30)
    expectEqual(world.agent.delivery.pendingCount, 0)
  }

  @Test("positions that the first receiver dates years ahead while no other time is known are dropped as misdated")
  func rolledOver() throws {
    let world = try World.drive(
      Scenario(
        seed: 52_934, duration: 148, drive: .steady(14), faults: [Fault(.undated, 71..<131)],
        acts: [(20, .powerCut(afterEffects: 12, seconds: 26))], wallError: -2_000_000, noise: 0,
        secondReceiver: .init(lag: 3000), hasCertificates: true))
    expectEqual(world.removals.count { $0.reason == .misdated }, 6)
    expect(!world.applied(138..<140).isEmpty)
  }

  @Test("a queued position of an earlier run with a date years ahead keeps no receiver waiting")
  func queuedAhead() throws {
    let world = try World.drive(
      Scenario(
        seed: 179_079, duration: 222, drive: .steady(14),
        faults: [Fault(.unplugged, 134..<158), Fault(.speed(38_400), 62..<138, of: 1)],
        acts: [(55, .powerCut(afterEffects: 11, seconds: 52)), (108, .clockSet)], wallError: 169_332_772, noise: 0,
        isDateless: true, isAutobaud: true, secondReceiver: .init(lag: 400), hasCertificates: true))
    expectEqual(world.seconds(of: .sourceChosen).count { $0 > 170 }, 1)
    expect(world.attempts(172..<222) >= 4)
  }
}
