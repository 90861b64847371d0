// SPDX-License-Identifier: Apache-2.0
import Expectations
import Testing
import Timekeeping

@testable import Reporting

struct FixArrivalsTests {
  private static func time(_ seconds: Double) -> BootInstant {
    .boot + .milliseconds(Int64((seconds * 1000).rounded()))
  }

  @Test(
    "the next fix is predicted from the receiver's period, although fixes arrive early or late",
    arguments: [0.1, 0.2, 1, 2])
  func jitter(period: Double) {
    var arrivals = FixArrivals()
    var random = SplitMix64(seed: 3)
    for number in 0..<200 {
      let now = Double(number) * period + Double.random(in: -0.02...0.02, using: &random)
      arrivals.observe(at: FixArrivalsTests.time(1 + now))
    }
    let predicted = arrivals.next ?? .boot
    let expected = FixArrivalsTests.time(1 + 200 * period)
    expect(abs((predicted - expected).inSeconds) < 0.015)
    expect(arrivals.grace >= .milliseconds(100) && arrivals.grace <= .milliseconds(120))
  }

  @Test("before the second fix there is no prediction")
  func first() {
    var arrivals = FixArrivals()
    expectNil(arrivals.next)
    arrivals.observe(at: FixArrivalsTests.time(1))
    expectNil(arrivals.next)
  }

  @Test("neither a missing fix nor a gap changes the predicted period")
  func gaps() {
    var arrivals = FixArrivals()
    for second in [1, 2, 3, 5, 6, 8.0] { arrivals.observe(at: FixArrivalsTests.time(second)) }
    expectEqual(arrivals.next, FixArrivalsTests.time(9))
    arrivals.observe(at: FixArrivalsTests.time(100.3))
    expectEqual(arrivals.next, FixArrivalsTests.time(101.3))
  }

  @Test("the prediction adapts to a faster or slower rate", arguments: [(1, 0.2), (0.2, 1.0)])
  func anotherRate(before: Double, after: Double) {
    var arrivals = FixArrivals()
    var now = 1.0
    for _ in 0..<20 {
      now += before
      arrivals.observe(at: FixArrivalsTests.time(now))
    }
    for _ in 0..<5 {
      now += after
      arrivals.observe(at: FixArrivalsTests.time(now))
    }
    expect(abs((arrivals.next ?? .boot) - FixArrivalsTests.time(now + after)) < .milliseconds(1))
  }

  @Test("the fixes of a stalled connection, which arrive at once, do not change the period")
  func burst() {
    var arrivals = FixArrivals()
    for second in [1.0, 2, 3, 7, 7, 7, 7.001, 7.002, 7.003, 8, 9, 10, 11, 12] {
      arrivals.observe(at: FixArrivalsTests.time(second))
    }
    expect(abs((arrivals.next ?? .boot) - FixArrivalsTests.time(13)) < .milliseconds(100))
  }

  private func abs(_ duration: Duration) -> Duration { max(duration, .zero - duration) }
  private func abs(_ number: Double) -> Double { number.magnitude }
}
