// SPDX-License-Identifier: Apache-2.0
import Expectations
import FileTesting
import Foundation
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

  @Test("the file of earlier settings is deleted, and no other", arguments: [nil, "new.prom"])
  func earlier(name: String?) throws {
    let directory = try TemporaryDirectory()
    let path = directory("old.prom")
    var file = MetricsFile()
    _ = try directory.write("", to: "new.prom")
    expectNil(file.use(directory("new.prom")))
    expectNil(file.write("a", to: path))
    expectNil(file.use(path))
    expect(FileManager.default.fileExists(atPath: path))
    expectNil(file.use(name.map { directory($0) }))
    expect(!FileManager.default.fileExists(atPath: path))
    expect(FileManager.default.fileExists(atPath: directory("new.prom")))
  }
}
