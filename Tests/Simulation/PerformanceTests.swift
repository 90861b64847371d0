// SPDX-License-Identifier: Apache-2.0
import Expectations
import Glibc
import Testing
import Timekeeping

@testable import SimulatedWorld

struct PerformanceTests {
  /// The target for a release build is 50 ms. The bound here allows for a debug build on a busy machine, and detects
  /// an endless loop.
  @Test("a simulated hour with one fix per second takes less than ten seconds of processor time")
  func hour() throws {
    var best = Duration.seconds(3600)
    for _ in 0..<3 {
      let before = PerformanceTests.processorTime()
      _ = try World.run(Scenario(duration: 3600))
      best = min(best, PerformanceTests.processorTime() - before)
    }
    print("one simulated hour: \(best) of processor time")
    expect(best < .seconds(10))
  }

  /// Processor time of this thread, because other tests run concurrently.
  private static func processorTime() -> Duration {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
  }
}
