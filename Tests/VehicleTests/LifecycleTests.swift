// SPDX-License-Identifier: Apache-2.0
import Expectations
import Positioning
import Testing
import Timekeeping

@testable import Vehicle

/// How a run ends, and with which result.
struct LifecycleTests {
  private static let soon = BootInstant.boot + .seconds(10)
  private static let later = BootInstant.boot + .seconds(20)

  private static func counts(fixes: Int, rejected: Int = 0, duplicates: Int = 0) -> Statistics {
    var statistics = Statistics()
    statistics.fixes = fixes
    statistics.rejected = [.inaccurate: rejected, .duplicate: duplicates]
    return statistics
  }

  @Test("a run that drains is no longer running; a second call of `drain` does not change its deadline")
  func drain() {
    var lifecycle = Lifecycle()
    expect(lifecycle.isRunning)
    expectEqual(lifecycle.drain(until: LifecycleTests.soon), true)
    expectEqual(lifecycle.drain(until: LifecycleTests.later), false)
    expect(lifecycle.state == .draining(until: LifecycleTests.soon) && !lifecycle.isRunning)
  }

  @Test("a request to stop replaces the drain deadline, and only the first request counts")
  func stop() {
    var lifecycle = Lifecycle()
    _ = lifecycle.drain(until: LifecycleTests.later)
    expectEqual(lifecycle.stop(until: LifecycleTests.soon), false)
    expectEqual(lifecycle.stop(until: LifecycleTests.later), false)
    expectEqual(lifecycle.state, .stopping(until: LifecycleTests.soon, attempted: false))
    var other = Lifecycle()
    expectEqual(other.stop(until: LifecycleTests.soon), true)
    expectEqual(other.drain(until: LifecycleTests.later), false)
    expectEqual(other.state, .stopping(until: LifecycleTests.soon, attempted: false))
  }

  @Test("half of the stop timeout, at most 5 s, is reserved for OFFLINE after the last positions")
  func offlineOnStop() {
    expectEqual(Lifecycle.offlineReserve(of: .seconds(3)), .milliseconds(1500))
    expectEqual(Lifecycle.offlineReserve(of: .seconds(60)), .seconds(5))
    var lifecycle = Lifecycle()
    _ = lifecycle.drain(until: LifecycleTests.later, reserving: .seconds(5))
    expectEqual(lifecycle.state, .draining(until: LifecycleTests.later - .seconds(5)))
    lifecycle.beginSettingOffline()
    expectEqual(lifecycle.state, .settingOffline(until: LifecycleTests.later, attempted: false, isStopRequested: false))
    expect(lifecycle.isFinalAttemptMade && lifecycle.isSettingOffline)
    lifecycle.beginAttempt()
    _ = lifecycle.stop(until: LifecycleTests.soon)
    expectEqual(lifecycle.state, .settingOffline(until: LifecycleTests.soon, attempted: true, isStopRequested: true))
    expectNil(lifecycle.finish(undelivered: 0, Statistics()).statistics)
    var stopped = Lifecycle()
    _ = stopped.stop(until: LifecycleTests.soon, reserving: .seconds(2))
    expectEqual(stopped.state, .stopping(until: LifecycleTests.soon - .seconds(2), attempted: false))
    stopped.beginSettingOffline()
    expectEqual(stopped.state, .settingOffline(until: LifecycleTests.soon, attempted: false, isStopRequested: true))
  }

  @Test("a run that is stopped for a restart ends with the result `restarting`, unless a stop was already requested")
  func restart() {
    var draining = Lifecycle()
    _ = draining.drain(until: LifecycleTests.later)
    _ = draining.stop(until: LifecycleTests.soon, isRestart: true)
    expectEqual(draining.finish(undelivered: 0, Statistics()).result, .restarting)
    var lifecycle = Lifecycle()
    expectEqual(lifecycle.stop(until: LifecycleTests.soon, isRestart: true), true)
    expectEqual(lifecycle.stop(until: LifecycleTests.later), false)
    expectEqual(lifecycle.finish(undelivered: 2, Statistics()).result, .restarting)
    var stopped = Lifecycle()
    _ = stopped.stop(until: LifecycleTests.soon)
    expectEqual(stopped.stop(until: LifecycleTests.later, isRestart: true), false)
    expectEqual(stopped.finish(undelivered: 0, Statistics()).result, .stopped)
  }

  @Test("an attempt is the final one only after a stop was requested")
  func attempt() {
    var lifecycle = Lifecycle()
    lifecycle.beginAttempt()
    expect(lifecycle.isRunning)
    _ = lifecycle.drain(until: LifecycleTests.soon)
    lifecycle.beginAttempt()
    expect(!lifecycle.isFinalAttemptMade)
    _ = lifecycle.stop(until: LifecycleTests.soon)
    expect(!lifecycle.isFinalAttemptMade)
    lifecycle.beginAttempt()
    expect(lifecycle.isFinalAttemptMade)
  }

  @Test("after a requested stop a run ends with the result `stopped`, whatever is pending or was rejected")
  func stopped() {
    var lifecycle = Lifecycle()
    _ = lifecycle.stop(until: LifecycleTests.soon)
    let ending = lifecycle.finish(undelivered: 3, LifecycleTests.counts(fixes: 5, rejected: 5))
    expect(ending.result == .stopped && ending.undelivered == 3 && ending.statistics == nil)
    expect(lifecycle.isFinished)
    expectEqual(lifecycle.stop(until: LifecycleTests.later), false)
    expect(lifecycle.isFinished)
  }

  @Test(
    "if most fixes of a recording, duplicates aside, were accepted, it ends as delivered or undelivered, else rejected",
    arguments: [
      (counts(fixes: 10), 0, Lifecycle.Ending.Result.delivered), (counts(fixes: 10), 1, .undelivered),
      (counts(fixes: 10, rejected: 4), 0, .delivered), (counts(fixes: 10, rejected: 5), 0, .rejected),
      (counts(fixes: 10, duplicates: 9), 0, .delivered), (counts(fixes: 0), 0, .rejected),
    ])
  func recording(statistics: Statistics, undelivered: Int, result: Lifecycle.Ending.Result) {
    var lifecycle = Lifecycle()
    _ = lifecycle.drain(until: LifecycleTests.soon)
    let ending = lifecycle.finish(undelivered: undelivered, statistics)
    expect(ending.result == result && ending.statistics == statistics)
  }
}
