// SPDX-License-Identifier: Apache-2.0
import Expectations
import Testing
import Timekeeping

@testable import Vehicle

struct RepeatLimiterTests {
  @Test("the first event is reported, then one every ten minutes with the number of suppressed events")
  func repeated() {
    var limiter = RepeatLimiter()
    var admitted: [(second: Int, suppressed: Int)] = []
    for second in stride(from: 0, through: 1300, by: 10) {
      if let suppressed = limiter.admit("network", at: .boot + .seconds(second)) {
        admitted.append((second, suppressed))
      }
    }
    expectEqual(admitted.map(\.second), [0, 600, 1200])
    expectEqual(admitted.map(\.suppressed), [0, 59, 59])
    limiter.end()
    expectEqual(limiter.admit("network", at: .boot + .seconds(1310)), 0)
  }

  @Test("two alternating events are each reported once in ten minutes")
  func alternating() {
    var limiter = RepeatLimiter()
    let admitted = (0..<360).count {
      limiter.admit($0 % 2 == 0 ? "network" : "unavailable", at: .boot + .seconds($0 * 10)) != nil
    }
    expectEqual(admitted, 12)
  }

  @Test("with a thousand subjects, the first event of each is reported, and the last subject is still limited")
  func manySubjects() {
    var limiter = RepeatLimiter()
    for number in 0..<1000 { expect(limiter.admit("\(number)", at: .boot + .seconds(number)) != nil) }
    expectNil(limiter.admit("999", at: .boot + .seconds(1000)))
  }
}
