// SPDX-License-Identifier: Apache-2.0
import Expectations
import Testing

@testable import LocationDaemon

struct MetricsFileTests {
  @Test("a metrics file that cannot be written is reported once")
  func unwritable() {
    var file = MetricsFile()
    let problem = file.write("", to: "/proc/fleet/metrics.prom")
    expectEqual(problem?.hasPrefix("metrics.textfile: /proc/fleet/metrics.prom cannot be written ("), true)
    expectNil(file.write("", to: "/proc/fleet/metrics.prom"))
  }
}
