// SPDX-License-Identifier: Apache-2.0
import Expectations
import HTTPMessages
import Testing
import Timekeeping

struct FloodLimitTests {
  @Test("a burst of 200 messages is allowed, and then one message a second")
  func limit() {
    let now = BootInstant.boot + .seconds(1000)
    var limit = FloodLimit()
    let first = (0..<201).map { _ in limit.admit(at: now) }
    expectEqual(first, [Bool](repeating: true, count: 200) + [false])
    limit = FloodLimit()
    _ = (0..<200).map { _ in limit.admit(at: now) }
    let later = [1, 1, 2].map { limit.admit(at: now + .seconds($0)) }
    expectEqual(later.prefix(2), [true, false])
  }

  @Test("one message a second is always allowed, and does not reduce the burst")
  func steady() {
    var limit = FloodLimit()
    let steady = (0..<5000).map { limit.admit(at: .boot + .seconds($0)) }
    let burst = (0..<199).map { _ in limit.admit(at: .boot + .seconds(5000)) }
    expect(!(steady + burst).contains(false))
  }
}
