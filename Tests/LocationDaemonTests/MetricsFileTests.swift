// SPDX-License-Identifier: Apache-2.0
import Testing
import Timekeeping

@testable import LocationDaemon

@Suite struct MetricsFileTests {
  private let start = BootInstant.boot + .seconds(100)

  @Test("a write is due at first, once a minute, a second after the vehicle has gone online or offline, and at the end")
  func due() {
    // A directory that cannot be: the times count all the same.
    var file = MetricsFile(path: "/proc/fleet/metrics.prom")
    #expect(file.isDue(at: start, isOnline: false))
    _ = file.write("", at: start, isOnline: false)
    #expect(!file.isDue(at: start + .milliseconds(59_999), isOnline: false))
    #expect(file.isDue(at: start + .milliseconds(1), isOnline: false, isLast: true))
    #expect(file.isDue(at: start + .seconds(60), isOnline: false))
    #expect(!file.isDue(at: start + .milliseconds(999), isOnline: true))
    #expect(file.isDue(at: start + .seconds(1), isOnline: true))
    _ = file.write("", at: start + .seconds(1), isOnline: true)
    #expect(!file.isDue(at: start + .seconds(60), isOnline: true))
    #expect(file.isDue(at: start + .seconds(2), isOnline: false))
  }

  @Test("without a path no file is written")
  func none() {
    #expect(!MetricsFile(path: nil).isDue(at: start, isOnline: true))
    #expect(!MetricsFile(path: nil).isDue(at: start, isOnline: true, isLast: true))
  }

  @Test("a directory that is not writable is reported once, with the remedy")
  func trouble() {
    var file = MetricsFile(path: "/proc/fleet/metrics.prom")
    let said = file.write("", at: start, isOnline: false)
    #expect(said?.hasPrefix("metrics.textfile: /proc/fleet/metrics.prom cannot be written (") == true)
    #expect(file.write("", at: start, isOnline: false) == nil)
  }
}
