// SPDX-License-Identifier: Apache-2.0
import Delivery
import Daemon
import Expectations
import Positioning
import Vehicle
import FixSources
import Testing
import Timekeeping

@testable import SimulatedWorld

/// Faults of the line between receiver and daemon.
struct LineScenarios {
  @Test(
    "one fix per second is read from a receiver, whatever sentences it sends, and in whatever order",
    arguments: NMEADialect.allCases)
  func dialects(dialect: NMEADialect) throws {
    let world = try World.drive(Scenario(duration: 300, dialect: dialect, baud: 38_400))
    expectEqual(world.agent.statistics.fixes, 299)
    expect(world.agent.statistics.rejected.isEmpty)
    expect(world.longestGap(5..<290) <= 11)
  }

  @Test("one fix per second is read from a receiver that sends datagrams", arguments: NMEADialect.allCases)
  func datagrams(dialect: NMEADialect) throws {
    let world = try World.drive(Scenario(duration: 300, dialect: dialect, isNetworked: true))
    expectEqual(world.agent.statistics.fixes, 299)
    expect(world.agent.statistics.rejected.isEmpty)
    expect(world.longestGap(5..<290) <= 11)
  }

  @Test(
    "one fix per second is read from a receiver in a modem, whose last sentences ModemManager stores",
    arguments: NMEADialect.allCases)
  func modem(dialect: NMEADialect) throws {
    let world = try World.drive(Scenario(duration: 300, dialect: dialect, hasModem: true))
    expect(world.agent.statistics.fixes >= 296)
    expect(world.agent.statistics.rejected.isEmpty)
    expect(world.longestGap(8..<290) <= 11)
  }

  @Test(
    "after noise, unplugging or repeated data, a modem is read again without a restart, and no position is read twice")
  func badModem() throws {
    let faults = [Fault(.noise(0.005), 100..<300), Fault(.unplugged, 400..<500), Fault(.mute, 600..<700)]
    let world = try World.drive(Scenario(duration: 900, faults: faults, hasModem: true))
    expect(world.longestGap(302..<395) <= 13)
    expect(world.longestGap(515..<595) <= 13)
    expect(world.longestGap(715..<890) <= 13)
    let rejected = world.agent.statistics.rejected
    expect(rejected[.duplicate] == nil && rejected[.outOfOrder] == nil && rejected[.frozen] == nil)
    expect(world.events(.sourceLost).contains { $0.contains("ModemManager has no modem") })
    expect(world.events(.sourceLost).contains { $0.contains("has frozen") })
  }

  @Test("after noise, an outage of the local network and silence, datagrams are read again without a restart")
  func badDatagrams() throws {
    let faults = [Fault(.noise(0.005), 100..<300), Fault(.unplugged, 400..<500), Fault(.mute, 600..<700)]
    let world = try World.drive(Scenario(duration: 900, faults: faults, isNetworked: true))
    expect(world.longestGap(302..<395) <= 13)
    expect(world.longestGap(515..<595) <= 13)
    expect(world.longestGap(705..<890) <= 13)
    expect(world.events(.sourceLost).contains { $0.contains("has received nothing") })
  }

  @Test(
    "noise makes only the affected fixes unusable, and causes no wrong fix", arguments: [0.0005, 0.005, 0.02],
    NMEADialect.allCases)
  func noise(part: Double, dialect: NMEADialect) throws {
    let world = try World.drive(Scenario(duration: 900, faults: [Fault(.noise(part), 100..<800)], dialect: dialect))
    let lost = 899 - Int(world.agent.statistics.fixes)
    expect(lost < 700)
    if part >= 0.005 { expect(lost > 0) }
    expect(world.longestGap(5..<100) <= 11)
    expect(world.longestGap(804..<890) <= 13)
  }

  @Test("lost bytes make only the sentences that contained them unusable")
  func bytesLost() throws {
    let world = try World.drive(Scenario(duration: 900, faults: [Fault(.bytesLost(0.01), 100..<800)]))
    expect((400..<899).contains(Int(world.agent.statistics.fixes)))
    expect(world.longestGap(5..<890) <= 20)
    expect(world.events(.sourceLost).isEmpty)
  }

  @Test("a line with only noise is reopened repeatedly, and read again once the noise has ended")
  func nothingButNoise() throws {
    let world = try World.drive(Scenario(duration: 900, faults: [Fault(.noise(0.5), 300..<600)]))
    expect(world.events(.sourceLost).contains { $0.contains("sends bytes but no complete NMEA sentence") })
    expectEqual(world.events(.fixLost).count, 1)
    // Each attempt waits for sentences for at most 10 s.
    expect(!world.applied(600..<613).isEmpty)
    expect(world.longestGap(612..<890) <= 13)
  }

  @Test("an unplugged receiver is detected at once, and the first update follows within three seconds of its return")
  func unplugged() throws {
    let world = try World.drive(Scenario(duration: 900, faults: [Fault(.unplugged, 300..<600)]))
    expectEqual(world.events(.sourceLost).first?.contains("/dev/gps0 was unplugged"), true)
    expectEqual(world.events(.sourceOpened).count, 2)
    expect(world.longestGap(5..<298) <= 11)
    expect(!world.applied(600..<603).isEmpty)
    expect(world.longestGap(603..<890) <= 13)
  }

  @Test("a receiver that is plugged in after the start is read at once")
  func pluggedInLate() throws {
    let world = try World.drive(Scenario(duration: 300, faults: [Fault(.unplugged, 0..<100)]))
    expect(world.applied(0..<100).isEmpty)
    expect(!world.applied(100..<103).isEmpty)
  }

  @Test(
    "a plug that disconnects every few seconds for a quarter of an hour causes no gap of more than 20 s in the track")
  func loosePlug() throws {
    let faults = stride(from: 100, to: 1000, by: 9).map { Fault(.unplugged, $0..<($0 + 3)) }
    let world = try World.drive(Scenario(duration: 1200, faults: faults))
    expect(world.longestGap(5..<1190) <= 20)
    expectEqual(world.agent.delivery.pendingCount, 0)
  }

  @Test("a receiver that falls silent is reopened, and reported as silent")
  func mute() throws {
    let world = try World.drive(Scenario(duration: 900, faults: [Fault(.mute, 300..<600)]))
    expect(world.events(.sourceLost).contains { $0.contains("is open but silent") })
    expect(!world.applied(600..<613).isEmpty)
  }

  @Test("after a suspend, the valid sentences that a modem stored during a second with noise are read")
  func keptWhileSuspended() throws {
    let world = try World.drive(
      Scenario(
        seed: 10_007_153, duration: 211, drive: .steady(14.0), faults: [Fault(.noise(0.005), 193..<203)],
        acts: [(203, .suspend(2))], noise: 0.0, hasModem: true, hasInstallationFaults: true))
    expect(world.agent.statistics.fixes >= 150)
  }

  @Test(
    "the first complete epoch of a modem after a pause is used with all its sentences, even after incomplete epochs")
  func wholeAfterNoise() throws {
    let world = try World.drive(
      Scenario(
        seed: 12_192, duration: 185, drive: .steady(14.0),
        faults: [Fault(.noise(0.02), 18..<174), Fault(.noFix, 37..<45)], acts: [(170, .pause), (180, .resume)],
        noise: 0.0, hasModem: true))
    expectEqual(World.second(of: try #require(world.server.applied.last).live), 180)
  }

  @Test("of an epoch that reached a modem incomplete over a garbled line, the received sentences are used")
  func keptSinceNoise() throws {
    _ = try World.drive(
      Scenario(
        seed: 399_008, duration: 180, drive: .steady(14.0),
        faults: [Fault(.heldBack, 170..<172), Fault(.speed(4800), 151..<169)], noise: 0.0, hasModem: true))
  }

  @Test(
    "the first fix of a modem that had stored damaged sentences is used with the sentences that have arrived",
    arguments: [91, 113])
  func modemAfterNoise(free: Int) throws {
    let world = try World.drive(
      Scenario(
        seed: 787_764, duration: free + 15, drive: .steady(14.0),
        faults: [Fault(.bytesLost(0.1), 62..<93), Fault(.otherDaemon(vehicle: "truck-1"), 0..<free)],
        acts: [(63, .reload(vehicle: "truck-2")), (88, .reload(vehicle: "truck-1"))], noise: 0.0, hasModem: true,
        hasCertificates: true))
    expect(!world.applied(free..<free + 15).isEmpty)
  }

  @Test(
    "a modem that was unplugged is read again, whether or not a recording would have ended before the daemon started")
  func modemAfterEnd() throws {
    let world = try World.drive(
      Scenario(
        seed: 10_951_524, duration: 168, drive: .steady(14),
        faults: [Fault(.unplugged, 90..<91), Fault(.credentialMissing, 0..<42)],
        acts: [(48, .sourceEnded)], noise: 0, hasModem: true, hasInstallationFaults: true, hasCertificates: true))
    expect(!world.applied(100..<120).isEmpty)
  }

  @Test(
    "the first epoch after noise has all its sentences, even if every epoch before it had lost its last sentence",
    arguments: [
      Scenario(
        seed: 97_038, duration: 250, drive: .steady(14.0),
        faults: [Fault(.swapped, 41..<248), Fault(.noise(0.02), 221..<235)], noise: 0.0, dialect: .dateLast),
      Scenario(
        seed: 348_122, duration: 191, drive: .steady(14.0), faults: [Fault(.bytesLost(0.1), 59..<172, of: 1)],
        acts: [(102, .pause), (169, .suspend(7)), (169, .resume)], noise: 0.0, dialect: .dateLast,
        secondReceiver: .init(lag: 400, metresOff: 0)),
    ])
  func wholeAfterDamage(scenario: Scenario) throws {
    _ = try World.drive(scenario)
  }

  @Test("a position without a time, which a modem stored from a garbled line and keeps repeating, is not used")
  func untimedInGarbledLine() throws {
    let world = try World.drive(
      Scenario(
        seed: 65_138, duration: 180, drive: .steady(0.0),
        faults: [Fault(.noTime, 128..<159), Fault(.noise(0.3), 34..<154)],
        acts: [(51, .kill(afterEffects: 6, seconds: 7))],
        noise: 0.0, dialect: .dateLast, hasModem: true))
    expectNil(world.agent.statistics.rejected[.noTime])
  }

  @Test("an epoch with the first date of GPS time gets the date of an epoch that it overtook in the network")
  func overtakenDate() throws {
    let world = try World.drive(
      Scenario(
        seed: 57_494, duration: 90, drive: .steady(14.0),
        faults: [Fault(.swapped, 57..<61), Fault(.undated, 60..<61)], wallError: 946_080_000, noise: 0.0,
        dialect: .usual, isNetworked: true, hasCertificates: true))
    expect(world.longestGap(5..<88) <= 14)
  }

  @Test("if an epoch arrives late with the same time as the next one, only one epoch is lost")
  func sameTime() throws {
    let world = try World.drive(
      Scenario(
        seed: 41_914, duration: 60, drive: .steady(14.0),
        faults: [Fault(.swapped, 18..<21), Fault(.ahead(2), 20..<21)], noise: 0.0, hasCertificates: true))
    expect(world.longestGap(5..<58) <= 11)
  }

  @Test("a receiver whose baud rate differs from the configured one is reported, and is read once the rates agree")
  func wrongBaudRate() throws {
    let world = try World.drive(Scenario(duration: 600, faults: [Fault(.speed(4800), 0..<300)]))
    expect(world.agent.statistics.fixes <= 300)
    expect(world.applied(0..<300).isEmpty)
    expect(world.events(.sourceLost).allSatisfy { $0.contains("check source.baud") })
    expect(!world.events(.sourceLost).isEmpty)
    expect(!world.applied(300..<313).isEmpty)
  }

  @Test(
    "without a baud rate in the settings, the receiver's baud rate is detected within one round of probing",
    arguments: [4800, 9600, 38_400, 115_200, 921_600])
  func autobaud(baud: Int) throws {
    let world = try World.drive(Scenario(duration: 120, baud: baud, isAutobaud: true))
    let index = BaudProbe.rates.firstIndex(of: baud) ?? 0
    let first = try #require(world.server.applied.first).at
    expect(first < Double(index) * 2.5 + 3)
    expectEqual(world.events(.sourceOpened).first?.contains("at \(baud) baud, detected"), true)
  }

  @Test("a receiver that loses its baud rate setting, as one with an empty backup battery does, is detected again")
  func forgottenBaudRate() throws {
    let world = try World.drive(
      Scenario(duration: 900, faults: [Fault(.speed(9600), 300..<900)], baud: 115_200, isAutobaud: true))
    expect(world.longestGap(20..<298) <= 11)
    // This takes ten seconds of silence, a second until the port is opened again, and at most two wrong baud rates
    // before the right one.
    expect(!world.applied(300..<325).isEmpty)
    expect(world.longestGap(325..<890) <= 13)
  }

  @Test("a modem that was unplugged is read again when it is back, even in a run whose recordings have ended")
  func unpluggedModem() throws {
    let world = try World.drive(
      Scenario(
        seed: 10_105_048, duration: 505, drive: .random, faults: [Fault(.unplugged, 418..<419)],
        acts: [(38, .powerCut(afterEffects: 5, seconds: 6)), (99, .sourceEnded)], noise: 0, hasModem: true,
        hasInstallationFaults: true))
    expect(!world.applied(440..<505).isEmpty)
  }

  @Test("the first epoch of a burst has the date of the epoch before it if its own date was lost")
  func undatedInBurst() throws {
    _ = try World.drive(
      Scenario(
        seed: 288_704, duration: 85, drive: .steady(0),
        faults: [Fault(.heldBack, 76..<80), Fault(.bytesLost(0.1), 80..<81), Fault(.ahead(1_650_000_000), 75..<76)],
        noise: 0, dialect: .dateLast, hasCertificates: true))
  }

  @Test("a damaged sentence of a modem with a valid checksum gets the corrected time if its date is wrong, too")
  func collisionWithWrongDate() throws {
    let world = try World.drive(
      Scenario(
        seed: 12_074_954, duration: 183, drive: .city,
        faults: [
          Fault(.noise(0.02), 28..<185), Fault(.ahead(1_650_000_000), 152..<181), Fault(.credentialMissing, 36..<120),
        ], acts: [(36, .kill(afterEffects: 2, seconds: 6)), (111, .ask(.reload))], noise: 0, settings: [.interval(5)],
        dialect: .own, hasModem: true, hasInstallationFaults: true, hasCertificates: true))
    expectEqual(world.fixesOfCollisions, 1)
  }

  @Test(
    "a sentence that lost two equal digits has a valid checksum, so its wrong fix is not detected, even without a date")
  func collisionWithoutDate() throws {
    let world = try World.drive(
      Scenario(
        seed: 10_232_021, duration: 198, drive: .random,
        faults: [Fault(.bytesLost(0.1), 143..<182), Fault(.settingsDeleted, 57..<68), Fault(.settingsDeleted, 0..<56)],
        acts: [(174, .deleteDirectory(noticedAfter: 4464))], dialect: .dateLast, hasInstallationFaults: true))
    expectEqual(world.fixesOfCollisions, 1)
  }

  @Test("when several positions without a time arrive late, the last one does not get the time of the next epoch")
  func heldBackWithoutTime() throws {
    let world = try World.drive(
      Scenario(
        seed: 537_803, duration: 174, drive: .steady(14),
        faults: [Fault(.heldBack, 147..<157), Fault(.noTime, 147..<156), Fault(.noFix, 156..<158)], noise: 0))
    expectEqual(world.agent.statistics.rejected[.noTime], 9)
  }

  @Test("a modem's first fix, if it is read in the middle of an epoch, is used only after the sentence with its speed")
  func firstOfEnabledModem() throws {
    let world = try World.drive(
      Scenario(
        seed: 620_861, duration: 87, drive: .steady(14), acts: [(69, .kill(afterEffects: 6, seconds: 6))], noise: 0,
        settings: [.interval(5)], dialect: .dateLast, hasModem: true))
    expectEqual(world.applied(76..<87).map { World.second(of: $0.live) }, [85])
  }

  @Test("a position without a date that a modem stored before a suspend keeps its own time")
  func keptOverSuspend() throws {
    let world = try World.drive(
      Scenario(
        seed: 654_021, duration: 481, drive: .steady(0), faults: [Fault(.ahead(90), 427..<447)],
        acts: [(436, .suspend(9))], noise: 0, isDateless: true, hasModem: true))
    expect(world.agent.statistics.acceptedFixes > 400)
  }

  @Test(
    "while a baud rate is being found, a change of it discards what has arrived, such as half an epoch of a suspend")
  func suspendedWhileDetecting() throws {
    let world = try World.drive(
      Scenario(
        seed: 606_567, duration: 6, drive: .steady(14), acts: [(1, .suspend(2))], noise: 0, isAutobaud: true))
    expectEqual(world.agent.statistics.fixes, 0)
  }

  @Test(
    "the first epoch after noise can lack its speed, however long after it: after suspends, or if data is held back",
    arguments: [
      ([], [(127, .suspend(1))]), ([], [(127, .suspend(10)), (130, .suspend(1))]),
      ([Fault(.swapped, 127..<131)], []), ([Fault(.heldBack, 127..<129)], []),
    ] as [([Fault], [(second: Int, act: Scenario.Act)])])
  func firstAfterNoise(faults: [Fault], acts: [(second: Int, act: Scenario.Act)]) throws {
    let world = try World.drive(
      Scenario(
        seed: 270_665, duration: 145, drive: .steady(14),
        faults: [Fault(.noFix, 7..<15), Fault(.bytesLost(0.1), 2..<127)] + faults, acts: acts, noise: 0,
        dialect: .dateLast))
    expect(!world.applied(120..<145).isEmpty)
  }
}
