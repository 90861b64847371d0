// SPDX-License-Identifier: Apache-2.0
import Expectations
import Vehicle
import Testing
import Timekeeping

@testable import Observability

struct RecentEventsTests {
  @Test("the last ten events are stored, newest first; repeats are counted, and debug events are left out")
  func events() {
    var events = RecentEvents()
    for index in 1...12 {
      events.add(.stopping(.signal("reason \(index)")), at: .boot + .seconds(Int64(index)))
      events.add(.updateAccepted(past: index, location: nil), at: .boot + .seconds(Int64(index)))
    }
    events.add(.stopping(.signal("reason 12")), at: .boot + .seconds(20))
    events.add(.settingsWarning(String(repeating: "x", count: 5000)), at: .boot + .seconds(21))
    let report = events.report(at: .boot + .seconds(30))
    expectEqual(report.count, RecentEvents.capacity)
    expectEqual(report[0].sentence.count, RecentEvents.maximumSentenceLength)
    expectEqual(report[0].level, "warning")
    expectEqual(
      report[1],
      StatusReport.Event(
        name: "stopping", level: "notice", sentence: "Stopping: received reason 12", age: 10, times: 2))
    expectEqual(report.last?.sentence, "Stopping: received reason 4")
  }
}
