// SPDX-License-Identifier: Apache-2.0
import Expectations
import FleetEngine
import Testing
import Timekeeping

@testable import Delivery

struct RecentOutcomesTests {
  @Test("minutes without an update are listed as empty, and those older than half an hour are omitted")
  func minutes() {
    var outcomes = RecentOutcomes()
    func at(_ minute: Int64) -> BootInstant { .boot + .seconds(minute * 60 + 5) }
    expectNil(outcomes.countsPerMinute(at: at(1)))
    outcomes.accepted(past: 0, sentAt: at(1), at: at(1))
    outcomes.accepted(past: 0, sentAt: at(1), at: at(1))
    outcomes.failed(.network, sentAt: at(3), at: at(4))
    expectEqual(outcomes.last, RecentOutcomes.Outcome(failure: .network, past: 0, at: at(4), duration: .seconds(60)))
    expectEqual(outcomes.countsPerMinute(at: at(5)), [[2, 0], [0, 0], [0, 0], [0, 1], [0, 0]])
    expectEqual(outcomes.countsPerMinute(at: at(31))?.count, 28)
    expectNil(outcomes.countsPerMinute(at: at(40)))
    for minute in 50...200 { outcomes.accepted(past: 0, sentAt: at(Int64(minute)), at: at(Int64(minute))) }
    expectEqual(outcomes.countsPerMinute(at: at(200)), [[Int]](repeating: [1, 0], count: 30))
  }
}
