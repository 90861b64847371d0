// SPDX-License-Identifier: Apache-2.0
import Expectations
import Testing
import Timekeeping

struct BackoffTests {
  @Test("each wait is drawn from zero to a bound that doubles up to the cap, and that starts over after a reset")
  func bounds() {
    var random = SplitMix64(seed: 1)
    let bounds = [1, 2, 4, 8, 10, 10, 10, 1]
    var longest = [Duration](repeating: .zero, count: bounds.count)
    for _ in 0..<200 {
      var backoff = Backoff()
      for (index, bound) in bounds.enumerated() {
        if index == 7 { backoff.reset() }
        let wait = backoff.next(.seconds(1, cap: 10), using: &random)
        expect(wait >= .zero && wait <= .seconds(bound))
        longest[index] = max(longest[index], wait)
      }
    }
    for (longest, bound) in zip(longest, bounds) { expect(longest > .milliseconds(900 * bound)) }
  }

  @Test("a minimum wait applies even if it exceeds the cap")
  func floor() {
    var random = SplitMix64(seed: 1)
    var backoff = Backoff()
    expectEqual(backoff.next(.seconds(1, cap: 10), floor: .seconds(60), using: &random), .seconds(60))
  }

  @Test("the waits use the whole range, so that a fleet does not retry in the same second")
  func jitter() {
    var random = SplitMix64(seed: 2)
    var waits: [Double] = []
    for _ in 0..<1000 {
      var backoff = Backoff()
      waits.append(backoff.next(.seconds(10, cap: 10), using: &random).inSeconds)
    }
    for tenth in 0..<10 {
      expect((50...150).contains(waits.count { Int($0) == tenth }))
    }
  }

  @Test("thousands of failures cause no overflow, and no wait above the cap")
  func manyFailures() {
    var random = SplitMix64(seed: 3)
    var backoff = Backoff()
    for _ in 0..<5000 {
      expect(backoff.next(.seconds(20, cap: 300), using: &random) <= .seconds(300))
    }
  }
}
