// SPDX-License-Identifier: Apache-2.0
import Expectations
import Testing

@testable import Diagnosis

struct ManualStartTests {
  private static let main = InstalledService(settings: "/etc/fleet-locationd/fleet-locationd.toml")
  private static let van = InstalledService(settings: "/etc/fleet-locationd/van.toml")

  @Test("the directories and the --instance option of a service follow from its settings file")
  func directories() throws {
    let (main, van) = (try #require(Self.main), try #require(Self.van))
    expect(main.runtimeDirectory == "/run/fleet-locationd" && main.stateDirectory == "/var/lib/fleet-locationd")
    expect(main.option.isEmpty)
    expect(van.unit == "fleet-locationd@van.service" && van.socket == "/run/fleet-locationd-van/control.sock")
    expect(van.stateDirectory == "/var/lib/fleet-locationd-van" && van.option == " --instance van")
  }

  @Test(
    "a manual start is refused if the service runs or is paused, or may be, and the message says what to do",
    arguments: [
      (true, false, ["runs with these settings", "systemctl stop fleet-locationd@van.service"]),
      (true, nil, ["runs with these settings", "systemctl status fleet-locationd@van.service"]),
      (true, true, ["is paused", "fleet-locationctl resume --instance van ends the pause"]),
      (nil, true, ["is paused", "fleet-locationctl resume --instance van"]),
      (false, true, ["is stopped: systemctl start fleet-locationd@van.service, then fleet-locationctl resume"]),
      (false, nil, ["cannot see whether", "run this as root"]), (nil, false, ["cannot see whether"]),
    ] as [(Bool?, Bool?, [String])])
  func refused(isRunning: Bool?, isPaused: Bool?, words: [String]) throws {
    let situation = ManualStart.Situation(isRunning: isRunning, isPaused: isPaused)
    let van = try #require(Self.van)
    let message = try #require(ManualStart.refusal(of: van, situation))
    for word in words { expect(message.contains(word)) }
  }

  @Test(
    "the service itself starts without a state directory, too; a process of another unit does not",
    arguments: [("fleet-locationd@van.service", true), ("fleet-locationd.service", false), (nil, false)]
      as [(String?, Bool)])
  func ownUnit(unit: String?, starts: Bool) throws {
    let situation = ManualStart.Situation(ownUnit: unit, isRunning: true, isPaused: true)
    let van = try #require(Self.van)
    expectEqual(ManualStart.refusal(of: van, situation) == nil, starts)
  }

  @Test("a service that is stopped and not paused does not prevent a manual start")
  func stopped() throws {
    let situation = ManualStart.Situation(isRunning: false, isPaused: false)
    let main = try #require(Self.main)
    expectNil(ManualStart.refusal(of: main, situation))
  }
}
