// SPDX-License-Identifier: Apache-2.0
import Expectations
import Testing
import Timekeeping

@testable import MessageBus

/// The definition of a transient unit for systemd.
struct TransientServiceTests {
  @Test("an argument with $ is escaped so that systemd does not expand it")
  func arguments() {
    let service = TransientService(
      unit: "a.service", description: "a", original: "b.service", program: "/a",
      arguments: ["a", "", "$HOME", "a${B}$", "$$"], environment: [], successExitStatuses: [], timeLimit: .seconds(1))
    expectEqual(service.escapedArguments, ["a", "", "$$HOME", "a$${B}$$", "$$$$"])
  }

  @Test(
    "the name of a transient unit contains the ID of the process that created it",
    arguments: [0, 1, 0xC0FFEE, UInt64.max])
  func name(key: UInt64) {
    let name = TransientService.name(of: "fleet-locationd", process: 123, key: key)
    expectEqual(TransientService.process(of: name, program: "fleet-locationd"), 123)
    expectNil(TransientService.process(of: name, program: "fleet-locationctl"))
  }

  @Test(
    "no process ID is read from the names of other units",
    arguments: [
      "fleet-locationd.service", "fleet-locationd-2.service", "fleet-locationd-van-0000000000000001.service",
      "fleet-locationd-12-1.service", "fleet-locationd-12-0000000000000001.timer",
      "fleet-locationd-0-0000000000000001.service",
      "fleet-locationd-12-000000000000000A.service", "fleet-locationd-1-2-0000000000000001.service", "fleet-locationd-",
      "fleet-locationd-+1-0000000000000001.service",
    ])
  func others(unit: String) {
    expectNil(TransientService.process(of: unit, program: "fleet-locationd"))
  }
}
