// SPDX-License-Identifier: Apache-2.0
import Expectations
import Testing
import Timekeeping

@testable import PositionBacklog

struct BacklogExpiryTests {
  private var expiry = BacklogExpiry()
  private let start = Timestamp(seconds: 1_796_083_200)

  private func at(_ second: Int) -> BootInstant { .boot + .seconds(second) }

  private mutating func observe(_ seconds: ClosedRange<Int>) {
    for second in seconds { expiry.observe(start + .seconds(second), at: at(second)) }
  }

  @Test("nothing expires until timestamps have agreed with elapsed time for five minutes")
  mutating func steady() {
    expectNil(expiry.check(at: at(0)))
    observe(0...299)
    expectNil(expiry.check(at: at(299)))
    observe(300...300)
    expectEqual(expiry.check(at: at(300))?.time, start + .seconds(300))
  }

  @Test("a timestamp that jumps restarts the five minutes")
  mutating func step() {
    observe(0...400)
    expiry.observe(start + .seconds(40_000), at: at(401))
    expectNil(expiry.check(at: at(401)))
    for second in 402...700 { expiry.observe(start + .seconds(39_599 + second), at: at(second)) }
    expectNil(expiry.check(at: at(700)))
    expiry.observe(start + .seconds(40_300), at: at(701))
    expectEqual(expiry.check(at: at(701))?.time, start + .seconds(40_300))
  }

  @Test("expiry of other vehicles' positions is due as soon as anything may expire, and then every hour")
  mutating func others() {
    observe(0...300)
    var due = [Int]()
    for second in stride(from: 300, through: 8000, by: 10) {
      if expiry.check(at: at(second))?.othersAreDue == true { due.append(second) }
    }
    expectEqual(due, [300, 3900, 7500])
  }
}
