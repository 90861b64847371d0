// SPDX-License-Identifier: Apache-2.0
import Expectations
import Testing

@testable import LocationDaemon

struct MetricsFileTests {
  @Test("a metrics file that cannot be written is reported once")
  func trouble() {
    var file = MetricsFile()
    let said = file.write("", to: "/proc/fleet/metrics.prom")
    expectEqual(said?.hasPrefix("metrics.textfile: /proc/fleet/metrics.prom cannot be written ("), true)
    expectNil(file.write("", to: "/proc/fleet/metrics.prom"))
  }
}
