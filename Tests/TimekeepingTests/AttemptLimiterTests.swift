// SPDX-License-Identifier: Apache-2.0
import Expectations
import Testing
import Timekeeping

struct AttemptLimiterTests {
  /// The times of attempts that are made as early as allowed.
  private func greedy(_ count: Int) -> [BootInstant] {
    var limiter = AttemptLimiter()
    return (0..<count).map { _ in
      let at = limiter.earliest
      limiter.attempted(at: at)
      return at
    }
  }

  @Test("six attempts may follow each other at intervals of a second; the seventh must wait for almost 8 s")
  func burst() {
    expectEqual(greedy(7).map { $0.nanoseconds / 1_000_000 }, [0, 1000, 2000, 3000, 4000, 5000, 12_858])
  }

  @Test("attempts made as early as allowed are at most twelve in any minute, and one to nine seconds apart")
  func anyMinute() {
    let attempts = greedy(100)
    for (first, thirteenth) in zip(attempts, attempts.dropFirst(12)) {
      expect(thirteenth - first >= .seconds(60))
    }
    for (one, next) in zip(attempts, attempts.dropFirst()) {
      expect(next - one >= .seconds(1))
      expect(next - one < .seconds(9))
    }
  }

  @Test("an attempt every five seconds is never delayed")
  func steady() {
    var limiter = AttemptLimiter()
    for index in 0..<100 {
      let at = BootInstant.boot + .seconds(5 * index)
      expect(limiter.earliest <= at)
      limiter.attempted(at: at)
    }
  }

  @Test("a final attempt is allowed one second after the previous one, if there were fewer than twelve in the minute")
  func last() {
    var limiter = AttemptLimiter()
    expectEqual(limiter.earliestFinal, .boot)
    for index in 0..<11 { limiter.attempted(at: .boot + .seconds(2 * index)) }
    expectEqual(limiter.earliestFinal, .boot + .seconds(21))
    limiter.attempted(at: .boot + .seconds(22))
    expectEqual(limiter.earliestFinal, .boot + .seconds(60))
  }
}
