// SPDX-License-Identifier: Apache-2.0
import Expectations
import Testing
import Timekeeping

struct BootInstantTests {
  @Test("sums and differences of instants and durations saturate at the limits")
  func arithmetic() {
    let instant = BootInstant.boot + .milliseconds(1500)
    expectEqual(instant.nanoseconds, 1_500_000_000)
    expectEqual(instant - .boot, .milliseconds(1500))
    expectEqual(instant - .seconds(2), BootInstant(nanoseconds: -500_000_000))
    expectEqual(BootInstant.distantFuture + .seconds(1), .distantFuture)
    expectEqual(BootInstant(nanoseconds: .min) - .seconds(1), BootInstant(nanoseconds: .min))
    expectEqual(BootInstant.boot + .seconds(Int64.max), .distantFuture)
    expectEqual(BootInstant.distantFuture - BootInstant(nanoseconds: .min), .nanoseconds(Int64.max))
  }

  @Test("a deadline is considered missed 30 s after it")
  func missed() {
    let deadline = BootInstant.boot + .seconds(100)
    expect(!deadline.isMissed(at: .boot))
    expect(!deadline.isMissed(at: deadline + .milliseconds(29_999)))
    expect(deadline.isMissed(at: deadline + .seconds(30)))
  }

  @Test("for a seed, SplitMix64 gives the same numbers as Vigna's C program")
  func splitMix() {
    var random = SplitMix64(seed: 1_234_567)
    // The first numbers of the C program.
    expectEqual(random.next(), 6_457_827_717_110_365_317)
    expectEqual(random.next(), 3_203_168_211_198_807_973)
  }
}
