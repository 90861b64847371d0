// SPDX-License-Identifier: Apache-2.0
import Daemon
import Expectations
import Vehicle
import Testing
import Timekeeping

@testable import SimulatedWorld

/// Faults of settings, credentials and directories while a vehicle drives.
struct InstallationScenarios {
  private func scenario(_ faults: [Fault], _ acts: [(second: Int, act: Scenario.Act)]) -> Scenario {
    var scenario = Scenario()
    scenario.hasInstallationFaults = true
    scenario.duration = 300
    scenario.faults = faults
    scenario.acts = acts
    return scenario
  }

  @Test(
    "the daemon answers requests while it waits for a missing credential, and sends updates once the credential exists")
  func lateCredential() throws {
    let acts: [(second: Int, act: Scenario.Act)] = [
      (50, .ask(.status)), (55, .ask(.metrics)), (60, .pause), (70, .resume), (80, .ask(.reload)), (101, .ask(.reload)),
    ]
    let world = try World.drive(scenario([Fault(.credentialMissing, 0..<100)], acts))
    expectEqual(world.events(.settingsAwaited).count, 1)
    expect(world.applied(0..<100).isEmpty && !world.applied(101..<130).isEmpty)
  }

  @Test("if a credential is missing for a quarter of an hour, the daemon exits, and systemd restarts it")
  func missingCredential() throws {
    var scenario = scenario([Fault(.credentialMissing, 0..<1200)], [])
    scenario.duration = 1200
    let world = try World.drive(scenario)
    expect(world.runNumber == 1 && world.attempts.isEmpty)
  }

  @Test("after a mistake in the settings that cannot concern the vehicle, a restart uses the last working settings")
  func keptSettings() throws {
    let fault = Fault(.settingsWrong(mayConcernVehicle: false), 90..<200)
    let world = try World.drive(scenario([fault], [(100, .kill(afterEffects: 0, seconds: 2)), (250, .ask(.reload))]))
    expect(world.events(.settingsKept).count == 1 && world.events(.reloaded).count == 1)
    expect(!world.applied(130..<190).isEmpty)
  }

  @Test("after a mistake in the settings that may concern the vehicle, a restart fails until the mistake is corrected")
  func failedSettings() throws {
    let fault = Fault(.settingsWrong(mayConcernVehicle: true), 90..<200)
    let world = try World.drive(scenario([fault], [(100, .kill(afterEffects: 0, seconds: 2))]))
    expect(world.applied(130..<200).isEmpty && !world.applied(200..<230).isEmpty)
  }

  @Test("when a directory of the service is deleted, systemd restarts the service with a new directory")
  func deletedDirectory() throws {
    let world = try World.drive(scenario([], [(100, .deleteDirectory(noticedAfter: 5000))]))
    expect(world.runNumber == 1 && !world.applied(130..<160).isEmpty)
  }

  @Test("the contents of a runtime directory from another boot are not used")
  func otherBoot() throws {
    var scenario = scenario([], [(100, .powerCut(afterEffects: 0, seconds: 30))])
    scenario.keepsRuntimeFiles = true
    let world = try World.drive(scenario)
    expect(world.fetches.count == 2 && !world.applied(140..<170).isEmpty)
  }

  // MARK: - Settings that need a confirmation

  @Test(
    "settings whose token provider does not know the vehicle are rolled back at the timeout, and not used at a restart")
  func reverted() throws {
    let acts: [(second: Int, act: Scenario.Act)] = [
      (60, .edit(isTokenWrong: true, confirm: 60)), (150, .ask(.reload)), (250, .kill(afterEffects: 0, seconds: 2)),
    ]
    let world = try World.drive(scenario([], acts))
    let ends = world.seconds(of: .settingsTakenBack)
    expect(ends.count == 2 && ends.allSatisfy { (120...125).contains($0) || (250...255).contains($0) })
    expect(world.events(.reloadRefused).count == 1 && world.events(.settingsConfirmed).isEmpty)
    expect(!world.applied(60..<120).isEmpty && !world.applied(130..<160).isEmpty && !world.applied(270..<299).isEmpty)
    expect(!world.installation.keptEdition.isTokenWrong)
  }

  @Test("settings whose time for the confirmation is nearly over are reverted soon after a restart")
  func revertedWhileStoreOpens() throws {
    let world = try World.drive(
      Scenario(
        seed: 11_587_779, duration: 546, drive: .city,
        acts: [
          (468, .powerCut(afterEffects: 5, seconds: 6)), (363, .edit(isTokenWrong: true, confirm: 120)),
          (375, .kill(afterEffects: 6, seconds: 2)),
        ], noise: 0, settings: [.maxLocations(7)], isDateless: true, hasInstallationFaults: true,
        hasCertificates: true))
    expectEqual(world.seconds(of: .settingsTakenBack).map { Int($0) }, [496])
  }

  @Test("settings with a working token provider are confirmed by the first update with its token")
  func confirmed() throws {
    let world = try World.drive(scenario([], [(60, .edit(isTokenWrong: false, confirm: 60))]))
    expect(world.events(.settingsConfirmed).count == 1 && world.events(.settingsTakenBack).isEmpty)
    expect(world.installation.keptEdition.number == 1 && world.installation.confirmation == nil)
  }

  @Test("time without a network does not count towards the confirmation timeout of settings")
  func withoutNetwork() throws {
    let acts: [(second: Int, act: Scenario.Act)] = [
      (60, .edit(isTokenWrong: true, confirm: 60)), (80, .network(false)), (180, .network(true)),
    ]
    let ends = try World.drive(scenario([Fault(.unreachable, 80..<180)], acts)).seconds(of: .settingsTakenBack)
    expectEqual(ends.map { Int($0) / 5 }, [220 / 5])
  }

  @Test(
    "if a kill or power cut interrupts the confirmation of wrong settings, they are rolled back, and updates resume",
    arguments: 0..<14)
  func cuts(effects: Int) throws {
    for (second, isPowerCut) in [(60, true), (60, false), (100, true), (100, false), (119, true), (119, false)] {
      let acts: [(second: Int, act: Scenario.Act)] = [
        (60, .edit(isTokenWrong: true, confirm: 60)),
        (
          second,
          isPowerCut ? .powerCut(afterEffects: effects, seconds: 20) : .kill(afterEffects: effects, seconds: 2)
        ),
      ]
      let world = try World.drive(scenario([], acts))
      let isInForce = world.installation.inForce.isTokenWrong
      expect(!isInForce && !world.installation.keptEdition.isTokenWrong && !world.applied(220..<299).isEmpty)
    }
  }

  @Test(
    "if the backlog file is damaged at a reload to another vehicle, a new file gets the previous vehicle's positions")
  func otherVehicleWithDamagedFile() throws {
    let world = try World.drive(
      Scenario(
        seed: 10_166_226, duration: 119, drive: .steady(0),
        faults: [Fault(.answersLate, 54..<109), Fault(.diskDamaged, 113..<114)],
        acts: [(58, .reload(vehicle: "truck-2")), (113, .reload(vehicle: "truck-1"))], noise: 0,
        hasInstallationFaults: true))
    expectEqual(world.events(.storeSetAside).count, 1)
  }

  @Test("if a token expires because unconfirmed settings prevent its renewal, updates resume once they are rolled back")
  func tokenEndsBetweenRenewals() throws {
    let world = try World.drive(
      Scenario(
        seed: 10_204_714, duration: 290, drive: .steady(14),
        faults: [Fault(.noFix, 76..<83), Fault(.credentialMissing, 0..<42)],
        acts: [(91, .edit(isTokenWrong: true, confirm: 180))], tokenLife: 120, noise: 0, settings: [.distance(100)],
        hasInstallationFaults: true, hasCertificates: true))
    expect(world.applied(205..<271).isEmpty && !world.applied(271..<275).isEmpty)
  }

  @Test("if the newest position proves to be misdated before anything is sent, the previous position is sent once")
  func newestMisdated() throws {
    let world = try World.drive(
      Scenario(
        seed: 10_557_242, duration: 286, drive: .steady(14),
        faults: [Fault(.noFix, 193..<261), Fault(.ahead(18), 186..<193)],
        acts: [
          (5, .powerCut(afterEffects: 0, seconds: 10)), (3, .edit(isTokenWrong: true, confirm: 180)),
          (57, .kill(afterEffects: 2, seconds: 2)),
        ], noise: 0, hasInstallationFaults: true))
    expectEqual(world.applied(15..<265).map { World.second(of: $0.live) }, [180, 261])
  }
}
