// SPDX-License-Identifier: Apache-2.0
import Expectations
import Testing

@testable import ServiceManager

struct ServiceUnitTests {
  @Test(
    "the unit is the last component of the process's control group, if that is a service",
    arguments: [
      ("0::/system.slice/fleet-locationd.service\n", "fleet-locationd.service"),
      ("0::/box/system.slice/system-fleet.slice/fleet-locationd@van.service\n", "fleet-locationd@van.service"),
      ("12:cpu:/a.service\n1:name=systemd:/system.slice/b.service\n0::/\n", "b.service"),
      ("0::/user.slice/user-0.slice/session-3.scope\n", nil),
      ("0::/user.slice/user-1000.slice/user@1000.service/app.slice/app-terminal.scope\n", nil), ("0::/\n", nil),
      ("", nil), ("no line of it", nil),
    ] as [(String, String?)])
  func unit(text: String, unit: String?) {
    expectEqual(ServiceUnit.unit(inCgroup: text), unit)
  }
}
