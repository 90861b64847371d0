// SPDX-License-Identifier: Apache-2.0
import Expectations
import Testing
import Timekeeping

struct ClockComparisonTests {
  /// The readings of the clocks, from seconds since boot, seconds of suspend and the error of the wall clock.
  private static func reading(_ boot: Double, slept: Double = 0, wall: Double = 0) -> (Moment, Duration) {
    let elapsed = Duration.milliseconds(Int64(boot * 1000))
    let moment = Moment(
      boot: .boot + elapsed,
      wall: Timestamp(seconds: 1_796_083_200) + elapsed + .milliseconds(Int64(wall * 1000)))
    return (moment, elapsed - .milliseconds(Int64(slept * 1000)))
  }

  private static func changes(
    _ first: (Moment, Duration), _ second: (Moment, Duration)
  ) -> [ClockComparison.Change] {
    var clocks = ClockComparison(first.0, awake: first.1)
    let changes = clocks.update(second.0, awake: second.1)
    expect(clocks.update(second.0, awake: second.1).isEmpty)
    return changes
  }

  @Test("neither the passing of time nor a small correction by a time daemon is reported as a change")
  func quiet() {
    expect(ClockComparisonTests.changes(ClockComparisonTests.reading(0), ClockComparisonTests.reading(900)).isEmpty)
    expect(
      ClockComparisonTests.changes(ClockComparisonTests.reading(0), ClockComparisonTests.reading(600, wall: 0.3))
        .isEmpty)
  }

  @Test("a suspend is reported with its duration, and not as a clock step")
  func sleep() {
    let changes = ClockComparisonTests.changes(
      ClockComparisonTests.reading(100), ClockComparisonTests.reading(3700, slept: 3595))
    expectEqual(changes, [.suspended(.seconds(3595))])
  }

  @Test("a clock step is reported with its size and direction", arguments: [-3600.0, 2.5, 1_796_083_200])
  func step(size: Double) {
    let changes = ClockComparisonTests.changes(
      ClockComparisonTests.reading(100), ClockComparisonTests.reading(101, wall: size))
    expectEqual(changes, [.stepped(.milliseconds(Int64(size * 1000)))])
  }

  @Test("if the clock is set during a suspend, both changes are reported")
  func both() {
    let changes = ClockComparisonTests.changes(
      ClockComparisonTests.reading(100), ClockComparisonTests.reading(200, slept: 90, wall: 5))
    expectEqual(changes, [.suspended(.seconds(90)), .stepped(.seconds(5))])
  }
}
