// SPDX-License-Identifier: Apache-2.0
import Daemon
import Expectations
import Vehicle
import Delivery
import Positioning
import Testing
import Timekeeping

@testable import SimulatedWorld

/// A recording in place of a receiver.
struct RecordingScenarios {
  @Test("when a recording in a pipe ends, all its positions are delivered, including the backlog")
  func pipe() throws {
    let world = try World.drive(
      Scenario(
        duration: 600, faults: [Fault(.unreachable, 200..<310)], acts: [(300, .sourceEnded)], recording: .pipe))
    let end = try #require(world.finishedAt)
    expect(end <= World.time(345))
    expectEqual(world.ending?.result, .delivered)
    expect(world.longestGap(5..<299) <= 13)
  }

  @Test("an epoch in a pipe that is complete only when the next epoch begins is reported at that time, however late")
  func late() throws {
    let world = try World.drive(
      Scenario(
        seed: 10_003_688, duration: 622, drive: .steady(14.0),
        faults: [Fault(.twice, 570..<571), Fault(.heldBack, 580..<581)], noise: 0.0, recording: .pipe,
        hasInstallationFaults: true))
    expect(world.longestGap(5..<620) <= 13)
  }

  @Test(
    "a recording from a pipe that is replayed late has a gap where the replay was during a suspend or a pause",
    arguments: [[(340, .suspend(60))], [(340, .pause), (370, .resume)]] as [[(Int, Scenario.Act)]])
  func interruptedLate(acts: [(Int, Scenario.Act)]) throws {
    let world = try World.drive(
      Scenario(
        seed: 10_000_001, duration: 600, drive: .steady(14),
        faults: [Fault(.credentialMissing, 0..<100), Fault(.heldBack, 20..<180)], acts: acts, noise: 0,
        recording: .pipe, hasInstallationFaults: true))
    expect(world.longestGap(200..<400) >= 30)
  }

  @Test("a file is replayed as fast as its positions are processed, but not during a pause")
  func file() throws {
    let world = try World.drive(
      Scenario(
        duration: 600, acts: [(0, .pause), (100, .resume)], dialect: .own,
        recording: .file(1800, isInaccurate: false)))
    let end = try #require(world.finishedAt)
    expect(end > World.time(100) && end < World.time(130))
    expectEqual(world.ending?.result, .delivered)
    expectEqual(world.agent.statistics.fixes, 1800)
    expect(world.applied(0..<100).isEmpty && !world.applied(100..<130).isEmpty)
  }

  @Test("a file whose positions are all rejected is read to its end, and nothing is sent")
  func rejected() throws {
    let world = try World.drive(
      Scenario(duration: 60, dialect: .own, recording: .file(20_000, isInaccurate: true)))
    expectEqual(world.ending?.result, .rejected)
    expectEqual(world.agent.statistics.rejected, [.inaccurate: 20_000])
    expect(world.attempts.isEmpty)
  }

  @Test(
    "in a pipe, the last epoch of a pause is complete only when the next one begins, so it is reported after the pause")
  func epochAcrossResume() throws {
    let world = try World.drive(
      Scenario(
        seed: 10_012_492, duration: 247, drive: .steady(14), faults: [Fault(.bytesLost(0.1), 223..<224)],
        acts: [(133, .pause), (224, .resume)], noise: 0, recording: .pipe, hasInstallationFaults: true))
    expect(!world.applied(224..<247).isEmpty)
  }

  @Test("from a pipe, a pause's last undamaged epoch is reported after the pause, even if noise damages later epochs")
  func epochBeforeNoise() throws {
    let world = try World.drive(
      Scenario(
        seed: 10_144_322, duration: 263, drive: .steady(14), faults: [Fault(.noise(0.02), 240..<247)],
        acts: [(200, .pause), (247, .resume)], noise: 0, recording: .pipe, hasInstallationFaults: true))
    expectEqual(world.applied(200..<250).map { World.second(of: $0.live) }, [245])
  }

  @Test("in a pipe, an epoch that noise made incomplete may end only with the first epoch after a suspend")
  func incompleteOverSuspend() throws {
    _ = try World.drive(
      Scenario(
        seed: 10_144_322, duration: 351, drive: .steady(14), faults: [Fault(.noise(0.02), 318..<343)],
        acts: [(343, .suspend(1))], noise: 0, dialect: .dateLast, recording: .pipe, hasInstallationFaults: true))
  }

  @Test("epochs that arrive from a pipe in one burst are replayed at their own pace")
  func burstInPipe() throws {
    _ = try World.drive(
      Scenario(
        seed: 10_022_884, duration: 149, drive: .steady(14),
        faults: [Fault(.heldBack, 143..<146), Fault(.credentialMissing, 108..<127)],
        acts: [(85, .kill(afterEffects: 0, seconds: 18))], noise: 0, recording: .pipe, hasInstallationFaults: true,
        hasCertificates: true))
  }

  @Test("in a pipe, the last epoch before a suspend ends after it; a vehicle moved meanwhile is at its new place")
  func movedDuringSuspend() throws {
    let world = try World.drive(
      Scenario(
        seed: 13_135_643, duration: 389, drive: .steady(0),
        faults: [Fault(.jump(300), 275..<291), Fault(.bytesLost(0.1), 188..<308)],
        acts: [(291, .suspend(86)), (51, .powerCut(afterEffects: 0, seconds: 10)), (351, .sourceEnded)], noise: 0,
        recording: .pipe, hasInstallationFaults: true))
    expectEqual(world.server.applied.suffix(2).map { World.second(of: $0.live) }, [290, 377])
  }

  @Test(
    "a sentence that lost two equal bytes still has a valid checksum, and its epoch in a pipe may end seconds later")
  func collisionInPipe() throws {
    _ = try World.drive(
      Scenario(
        seed: 10_053_816, duration: 97, drive: .steady(14), faults: [Fault(.bytesLost(0.1), 56..<100)], noise: 0,
        recording: .pipe, hasInstallationFaults: true))
  }

  @Test("in a pipe, an epoch with a checksum collision ends four seconds later if the next three epochs are damaged")
  func collisionBeforeDamage() throws {
    let world = try World.drive(
      Scenario(
        seed: 10_036_334, duration: 567, drive: .city,
        faults: [Fault(.bytesLost(0.1), 560..<564), Fault(.credentialMissing, 0..<168)],
        acts: [(149, .kill(afterEffects: 1, seconds: 2))], dialect: .dateLast, recording: .pipe,
        hasInstallationFaults: true,
        hasCertificates: true))
    expectEqual(world.fixesOfCollisions, 1)
  }

  @Test("a wrong time in a sentence with a valid checksum delays the positions after it by at most a minute")
  func wrongTimeInPipe() throws {
    let world = try World.drive(
      Scenario(
        seed: 10_091_904, duration: 154, drive: .steady(14),
        faults: [Fault(.bytesLost(0.1), 120..<148), Fault(.settingsUnreadable, 0..<73)], noise: 0, recording: .pipe,
        hasInstallationFaults: true, hasCertificates: true))
    expectEqual(world.fixesOfCollisions, 1)
  }

  @Test("if the first epoch of a recording has lost its date, the machine's date is used until five other fixes agree")
  func firstDateLost() throws {
    let world = try World.drive(
      Scenario(
        seed: 10_254_521, duration: 203, drive: .steady(14), faults: [Fault(.noise(0.02), 172..<180)],
        acts: [
          (46, .powerCut(afterEffects: 12, seconds: 82)), (0, .network(true)), (47, .network(false)),
          (82, .deleteDirectory(noticedAfter: 7120)),
        ], wallError: 1_576_800_000, noise: 0, dialect: .dateLast, recording: .pipe, hasInstallationFaults: true))
    expectEqual(world.applied(173..<203).map { World.second(of: $0.live) }.last, 193)
  }

  @Test("a corrupted sentence with a valid checksum may cause a wrong fix when it is read from a pipe a minute later")
  func collisionReadLater() throws {
    let world = try World.drive(
      Scenario(
        seed: 10_300_754, duration: 606, drive: .steady(0),
        faults: [Fault(.bytesLost(0.1), 394..<516), Fault(.credentialMissing, 0..<225)],
        acts: [
          (337, .kill(afterEffects: 2, seconds: 2)), (351, .ask(.reload)),
          (157, .powerCut(afterEffects: 3, seconds: 10)), (162, .ask(.reload)), (339, .reload(vehicle: "truck-1")),
          (147, .deleteDirectory(noticedAfter: 213)), (151, .pause),
        ], noise: 0, recording: .pipe, hasInstallationFaults: true, hasCertificates: true))
    expect(world.fixesOfCollisions > 0)
  }

  @Test(
    "a wrong time with a valid checksum, read from a pipe a minute later, is rejected and delays replay by a minute")
  func wrongTimeAMinuteLater() throws {
    let world = try World.drive(
      Scenario(
        seed: 10_562_950, duration: 257, drive: .random, faults: [Fault(.bytesLost(0.1), 68..<191)], noise: 0,
        dialect: .usual, recording: .pipe, hasInstallationFaults: true))
    expectEqual(world.fixesOfCollisions, 2)
  }

  @Test(
    "a burst from a pipe is replayed at the pace of its times, and what has not been replayed is lost in a power cut",
    arguments: [
      Scenario(
        seed: 10_736_652, duration: 365, drive: .steady(14.0),
        faults: [Fault(.heldBack, 282..<313), Fault(.credentialMissing, 111..<271)],
        acts: [(111, .kill(afterEffects: 0, seconds: 2))], noise: 0.0, recording: .pipe, hasInstallationFaults: true),
      Scenario(
        seed: 10_736_652, duration: 600, drive: .steady(14.0),
        faults: [Fault(.heldBack, 276..<316), Fault(.credentialMissing, 111..<271)],
        acts: [(547, .powerCut(afterEffects: 0, seconds: 6)), (111, .kill(afterEffects: 2, seconds: 2))], noise: 0.0,
        recording: .pipe, hasInstallationFaults: true),
    ])
  func lateBurst(scenario: Scenario) throws {
    let world = try World.drive(scenario)
    let last = try #require(world.server.applied.last.map { World.second(of: $0.live) })
    expect(scenario.duration == 365 ? last == 337 : last > 580)
  }
}
