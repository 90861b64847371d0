// SPDX-License-Identifier: Apache-2.0
import Expectations
import Testing
import Timekeeping

@testable import Positioning

struct ReceiverClockTests {
  private static let truth = Timestamp(seconds: 1_796_083_200)
  /// A server's date, truncated to the second, requested 300 ms before.
  private let bounds = TimeBounds(
    truth, precision: .seconds(1), since: .boot, until: .boot + .milliseconds(300))

  private func check(_ clock: inout ReceiverClock, _ second: Int, ahead: Int) -> ReceiverClock.Outcome {
    clock.check(
      ReceiverClockTests.truth + .seconds(second + ahead), bounds: bounds, after: nil, agreement: (5, .seconds(3)),
      at: .boot + .seconds(second) + .milliseconds(200))
  }

  @Test(
    "a timestamp within a few seconds of the true time, or late by some minutes, needs no correction",
    arguments: [-590, -20, 0, 2])
  func right(ahead: Int) {
    var clock = ReceiverClock()
    for second in 1..<10 { expectEqual(check(&clock, second, ahead: ahead), .settled(change: .zero)) }
    expectEqual(clock.offset, .zero)
  }

  @Test(
    "after five timestamps with the same error the clock is corrected, leap seconds exactly",
    arguments: [18, 3600, -86_400])
  func wrong(ahead: Int) {
    var clock = ReceiverClock()
    for second in 1..<5 { expectEqual(check(&clock, second, ahead: ahead), .wrong) }
    guard case .settled(let change) = check(&clock, 5, ahead: ahead) else { return expect(Bool(false)) }
    expectEqual(change, clock.offset)
    expect(abs((clock.offset - .seconds(ahead)).inSeconds) <= (ahead == 18 ? 0 : 2))
    for second in 6..<20 { expectEqual(check(&clock, second, ahead: ahead), .settled(change: .zero)) }
    // When the receiver's clock is right again, the correction ends at once.
    expectEqual(check(&clock, 20, ahead: 0), .settled(change: .zero - change))
  }

  @Test("a known error is still corrected when no server has given the time for long")
  func withoutBounds() {
    var clock = ReceiverClock()
    for second in 1..<20 { _ = check(&clock, second, ahead: 3600) }
    let offset = clock.offset
    let outcome = clock.check(
      ReceiverClockTests.truth + .seconds(100_000 + 3600), bounds: nil, after: nil, agreement: (5, .seconds(3)),
      at: .boot + .seconds(100_000))
    expectEqual(outcome, .settled(change: .zero))
    expect(clock.offset == offset && offset >= .seconds(3598))
  }

  @Test("the time by another source corrects a clock more closely than a slow response, unless it is out of its bounds")
  func otherSource() {
    let bounds = TimeBounds(
      Self.truth + .seconds(6), precision: .seconds(1), since: .boot, until: .boot + .seconds(12))
    func error(_ otherTime: Timestamp) -> Duration? {
      ReceiverClock.error(
        of: Self.truth + .seconds(20 + 50_000_000), bounds, at: .boot + .seconds(20), otherTime: otherTime)
    }
    expectEqual(error(Self.truth + .seconds(19)), .seconds(50_000_001))
    expectEqual(error(Self.truth + .seconds(40)), .seconds(50_000_007))
  }

  @Test(
    "even if the response took 12 s, local time is corrected exactly, and no other correction leaves a timestamp ahead")
  func localTime() {
    let bounds = TimeBounds(
      Self.truth + .seconds(6), precision: .seconds(1), since: .boot, until: .boot + .seconds(12))
    func error(_ ahead: Duration) -> Duration? {
      ReceiverClock.error(of: Self.truth + .seconds(20) + ahead, bounds, at: .boot + .seconds(20))
    }
    for hours in [-12.0, -1, 1, 5.75, 14] { expectEqual(error(.seconds(hours * 3600)), .seconds(hours * 3600)) }
    expectEqual(error(.seconds(3630)), .seconds(3637))
    expectEqual(error(.seconds(-3630)), .seconds(-3623))
  }

  @Test(
    "a receiver clock that jumps is corrected by exactly the jump, even if a server's response took 12 s",
    arguments: [1_650_000_000, 3630, -3630])
  func leaps(ahead: Int) {
    let bounds = TimeBounds(
      Self.truth + .seconds(6), precision: .seconds(1), since: .boot, until: .boot + .seconds(12))
    func check(
      _ clock: inout ReceiverClock, _ second: Int, delay: Int, after accepted: (time: Timestamp, at: BootInstant)
    ) -> ReceiverClock.Outcome {
      clock.check(
        Self.truth + .seconds(second + ahead), bounds: bounds, after: accepted, agreement: (5, .seconds(3)),
        at: .boot + .seconds(second) + .milliseconds(delay))
    }
    let arrival = BootInstant.boot + .milliseconds(20_300)
    let right = (time: Self.truth + .seconds(20), at: arrival)
    var clock = ReceiverClock()
    for second in 21..<25 { expectEqual(check(&clock, second, delay: 100, after: right), .wrong) }
    expectEqual(check(&clock, 25, delay: 500, after: right), .settled(change: .seconds(ahead)))
    // An accepted timestamp outside the bounds is not used.
    let late = (time: right.time - .seconds(60), at: arrival)
    clock = ReceiverClock()
    for second in 21..<26 { _ = check(&clock, second, delay: 0, after: late) }
    expect(clock.offset > .seconds(ahead) && clock.offset <= .seconds(ahead + 8))
  }

  @Test("a receiver that is still an hour ahead when it learns the leap seconds is corrected by the hour alone")
  func leapSecondsLater() {
    var clock = ReceiverClock()
    for second in 1...10 { _ = check(&clock, second, ahead: 3618) }
    for second in 11..<15 { expectEqual(check(&clock, second, ahead: 3600), .settled(change: .zero)) }
    guard case .settled(let change) = check(&clock, 15, ahead: 3600) else { return expect(Bool(false)) }
    expect(abs((change + .seconds(18)).inSeconds) <= 1)
    expect(abs((clock.offset - .seconds(3600)).inSeconds) <= 2)
    for second in 16..<30 { expectEqual(check(&clock, second, ahead: 3600), .settled(change: .zero)) }
  }

  @Test("a corrected receiver that gets some seconds further ahead is corrected anew after five timestamps")
  func furtherAhead() {
    var clock = ReceiverClock()
    for second in 1...10 { _ = check(&clock, second, ahead: 3600) }
    for second in 11..<15 { expectEqual(check(&clock, second, ahead: 3604), .settled(change: .zero)) }
    guard case .settled(let change) = check(&clock, 15, ahead: 3604) else { return expect(Bool(false)) }
    expect(change >= .seconds(3))
    for second in 16..<30 { expectEqual(check(&clock, second, ahead: 3604), .settled(change: .zero)) }
  }

  @Test("a corrected receiver whose reports are delayed and come in one burst keeps the same correction")
  func lateBurst() {
    var clock = ReceiverClock()
    for second in 1...10 { _ = check(&clock, second, ahead: 3600) }
    let offset = clock.offset
    for second in 11..<30 {
      let outcome = clock.check(
        ReceiverClockTests.truth + .seconds(second + 3600), bounds: bounds, after: nil, agreement: (5, .seconds(3)),
        at: .boot + .seconds(30))
      expectEqual(outcome, .settled(change: .zero))
    }
    expectEqual(clock.offset, offset)
  }

  @Test("timestamps with changing errors are rejected as long as the errors change")
  func noise() {
    var clock = ReceiverClock()
    for second in 1..<30 { expectEqual(check(&clock, second, ahead: 100 * second), .wrong) }
    expectEqual(check(&clock, 30, ahead: 0), .settled(change: .zero))
  }

  @Test("without a server's time there is no correction")
  func alone() {
    var clock = ReceiverClock()
    let stamp = ReceiverClockTests.truth + .seconds(1_000_000)
    expectEqual(
      clock.check(stamp, bounds: nil, after: nil, agreement: (5, .seconds(3)), at: .boot + .seconds(1)),
      .settled(change: .zero))
  }
}
