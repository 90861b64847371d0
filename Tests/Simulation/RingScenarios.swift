// SPDX-License-Identifier: Apache-2.0
import Daemon
import Expectations
import Vehicle
import Testing
import Timekeeping

/// Settings, credentials and directories go wrong around a vehicle that drives.
@Suite struct RingScenarios {
  private func scenario(_ faults: [Fault], _ acts: [(second: Int, act: Scenario.Act)]) -> Scenario {
    var scenario = Scenario()
    scenario.hasRing = true
    scenario.duration = 300
    scenario.faults = faults
    scenario.acts = acts
    return scenario
  }

  @Test("a credential that comes late is waited for; meanwhile requests are answered, and afterwards updates are sent")
  func lateCredential() throws {
    let acts: [(second: Int, act: Scenario.Act)] = [
      (50, .ask(.status)), (55, .ask(.metrics)), (60, .pause), (70, .resume), (80, .ask(.reload)), (101, .ask(.reload)),
    ]
    let world = try World.drive(scenario([Fault(.credentialMissing, 0..<100)], acts))
    expectEqual(world.events(.settingsAwaited).count, 1)
    expect(world.applied(0..<100).isEmpty && !world.applied(101..<130).isEmpty)
  }

  @Test("a credential that never comes ends the process after a quarter of an hour, and systemd starts it again")
  func neverCredential() throws {
    var scenario = scenario([Fault(.credentialMissing, 0..<1200)], [])
    scenario.duration = 1200
    let world = try World.drive(scenario)
    expect(world.runNumber == 1 && world.attempts.isEmpty)
  }

  @Test("after a mistake that cannot concern the vehicle, a restart uses the last settings that worked")
  func keptSettings() throws {
    let fault = Fault(.settingsWrong(mayConcernVehicle: false), 90..<200)
    let world = try World.drive(scenario([fault], [(100, .kill(afterEffects: 0, seconds: 2)), (250, .ask(.reload))]))
    expect(world.events(.settingsKept).count == 1 && world.events(.reloaded).count == 1)
    expect(!world.applied(130..<190).isEmpty)
  }

  @Test("after one that may, the service has failed until the correction")
  func failedSettings() throws {
    let fault = Fault(.settingsWrong(mayConcernVehicle: true), 90..<200)
    let world = try World.drive(scenario([fault], [(100, .kill(afterEffects: 0, seconds: 2))]))
    expect(world.applied(130..<200).isEmpty && !world.applied(200..<230).isEmpty)
  }

  @Test("a deleted directory of the service has it started again, with another one")
  func deletedDirectory() throws {
    let world = try World.drive(scenario([], [(100, .deleteDirectory(noticedAfter: 5000))]))
    expect(world.runNumber == 1 && !world.applied(130..<160).isEmpty)
  }

  @Test("what is in the runtime directory of another boot is not used")
  func otherBoot() throws {
    var scenario = scenario([], [(100, .powerCut(afterEffects: 0, seconds: 30))])
    scenario.keepsRuntimeFiles = true
    let world = try World.drive(scenario)
    expect(world.fetches.count == 2 && !world.applied(140..<170).isEmpty)
  }
}
