// SPDX-License-Identifier: Apache-2.0
import Expectations
import SystemCalls
import Testing

struct EnvironmentTests {
  @Test("of several directories that systemd passes to the service, its own one is used, wherever it is in the list")
  func serviceDirectory() {
    for (paths, directory) in [
      ("/run/fleet-locationd", "/run/fleet-locationd"), ("/run/fleet-locationd:/run/gps", "/run/fleet-locationd"),
      ("/run/driver:/run/fleet-locationd-van", "/run/fleet-locationd-van"), ("/run/driver:/run/gps", "/run/driver"),
      ("", nil), (nil, nil),
    ] as [(String?, String?)] {
      expectEqual(Environment.serviceDirectory(in: paths), directory)
    }
  }
}
