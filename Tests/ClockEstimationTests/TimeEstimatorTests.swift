// SPDX-License-Identifier: Apache-2.0
import Expectations
import Testing
import Timekeeping

@testable import ClockEstimation

extension TimeEstimator {
  fileprivate mutating func clockChange(at now: Moment) -> ClockChange? { clockChange(estimate(at: now), at: now) }
}

struct TimeEstimatorTests {
  private static let truth = Timestamp(seconds: 1_796_083_200)

  private func moment(_ seconds: Int, ahead: Int) -> Moment {
    Moment(boot: .boot + .seconds(seconds), wall: TimeEstimatorTests.truth + .seconds(seconds + ahead))
  }

  private func observed(_ reference: TimeEstimator.Reference = .fleetEngine, ahead: Int = 0) -> TimeEstimator {
    var estimator = TimeEstimator(buildDate: TimeEstimatorTests.truth - .seconds(864_000))
    for _ in 0..<2 { estimator.observe(reference, TimeEstimatorTests.truth + .seconds(ahead), at: .boot) }
    return estimator
  }

  @Test(
    "a clock error of less than half a minute is not reported; without a reference, no error is reported",
    arguments: [-29, 0, 29])
  func right(ahead: Int) {
    var estimator = observed()
    expectNil(estimator.clockChange(at: moment(10, ahead: ahead)))
    var blind = TimeEstimator(buildDate: TimeEstimatorTests.truth - .seconds(864_000))
    expectNil(blind.clockChange(at: moment(10, ahead: 1_000_000)))
  }

  @Test(
    "a wrong clock is reported once, with its error and the reference",
    arguments: [30, -95, 3600, -1_795_000_000, 378_691_200])
  func wrong(ahead: Int) {
    var estimator = observed()
    let error = TimeEstimator.ClockError(offset: .seconds(ahead), reference: .fleetEngine)
    expectEqual(estimator.clockChange(at: moment(1, ahead: ahead)), .wrong(error))
    for second in 2..<20 { expectNil(estimator.clockChange(at: moment(second, ahead: ahead))) }
  }

  @Test("a restored time is still used minutes after the restart")
  func restored() {
    var estimator = TimeEstimator(buildDate: TimeEstimatorTests.truth - .seconds(864_000))
    estimator.restore(TimeBounds(TimeEstimatorTests.truth, precision: .seconds(1), since: .boot, until: .boot))
    expectEqual(estimator.time(at: moment(900, ahead: -86_400))?.1, .fleetEngine)
    expect(estimator.estimate(at: moment(900, ahead: -86_400))?.serverBounds != nil)
  }

  @Test("a cached estimate is not used after a newer observation, or a restored time, at the same moment")
  func cached() {
    var estimator = TimeEstimator(buildDate: TimeEstimatorTests.truth - .seconds(864_000))
    let now = moment(10, ahead: 3600)
    expectNil(estimator.updateEstimate(at: now)?.reference)
    for _ in 0..<2 { estimator.observe(.tokenProvider, TimeEstimatorTests.truth + .seconds(10), at: now.boot) }
    expectEqual(estimator.estimate(at: now)?.reference, .tokenProvider)
    expectEqual(estimator.updateEstimate(at: now)?.reference, .tokenProvider)
    estimator.restore(TimeBounds(TimeEstimatorTests.truth, precision: .seconds(1), since: .boot, until: .boot))
    expectEqual(estimator.estimate(at: now)?.reference, .fleetEngine)
  }

  @Test(
    "a clock step is detected at once, without another observation: the error changes, or the clock is correct again")
  func steps() {
    var estimator = observed()
    expect(estimator.clockChange(at: moment(5, ahead: -7200)) != nil)
    // A change of the error by a minute, which may be drift, is not reported.
    expectNil(estimator.clockChange(at: moment(6, ahead: -7260)))
    expectEqual(
      estimator.clockChange(at: moment(7, ahead: 600)),
      .wrong(TimeEstimator.ClockError(offset: .seconds(600), reference: .fleetEngine)))
    expectEqual(estimator.clockChange(at: moment(8, ahead: 0)), .right)
    expectNil(estimator.clockChange(at: moment(9, ahead: 0)))
  }

  @Test("references stay valid over hours of suspend, because elapsed time continues")
  func suspend() {
    var estimator = observed()
    expectNil(estimator.clockChange(at: moment(36_000, ahead: 0)))
    expect(estimator.clockChange(at: moment(36_001, ahead: 100)) != nil)
    // After a day without an observation the reference is no longer used.
    expectNil(estimator.clockChange(at: moment(86_401, ahead: 100_000)))
  }

  @Test("Fleet Engine has a higher weight than the token provider, which has a higher one than the receiver")
  func trust() {
    var estimator = observed(.gnss, ahead: 5000)
    expectEqual(estimator.error(at: moment(1, ahead: 0))?.reference, .gnss)
    estimator.observe(.tokenProvider, TimeEstimatorTests.truth + .seconds(500), at: .boot)
    expectEqual(estimator.error(at: moment(1, ahead: 0))?.offset, .seconds(-500))
    estimator.observe(.fleetEngine, TimeEstimatorTests.truth, at: .boot)
    expectNil(estimator.error(at: moment(1, ahead: 0)))
    estimator.observe(.gnss, TimeEstimatorTests.truth + .seconds(9999), at: .boot + .seconds(60))
    expectNil(estimator.error(at: moment(60, ahead: 0)))
  }

  @Test("timestamps at the limits of the range do not trap", arguments: [Int64.min, -1, 0, Int64.max])
  func extremes(milliseconds: Int64) {
    var estimator = observed()
    estimator.observe(.gnss, Timestamp(milliseconds: milliseconds), at: .boot)
    for wall in [Int64.min, Int64.max, 0] {
      let now = Moment(boot: .boot + .seconds(86_400), wall: Timestamp(milliseconds: wall))
      let offset = now.wall - (TimeEstimatorTests.truth + .seconds(86_400))
      expectEqual(
        estimator.clockChange(at: now), .wrong(TimeEstimator.ClockError(offset: offset, reference: .fleetEngine)))
    }
  }

  @Test("a date before the build, or decades after it, is ignored", arguments: [-1_500_000_000, 1_650_000_000])
  func implausible(ahead: Int) {
    var estimator = observed()
    estimator.observe(.fleetEngine, TimeEstimatorTests.truth + .seconds(ahead), at: .boot + .seconds(5))
    expectNil(estimator.error(at: moment(6, ahead: 0)))
    expectEqual(estimator.time(at: moment(6, ahead: 0))?.1, .fleetEngine)
  }

  @Test(
    "a server's wrong time is outvoted by a steady receiver and the machine's clock, and by the server's next response")
  func outvoted() {
    var estimator = TimeEstimator(buildDate: TimeEstimatorTests.truth - .seconds(864_000))
    for second in 0..<10 {
      estimator.observe(.gnss, TimeEstimatorTests.truth + .seconds(second), at: .boot + .seconds(second))
    }
    estimator.observe(.fleetEngine, TimeEstimatorTests.truth + .seconds(3610), at: .boot + .seconds(10))
    expectNil(estimator.estimate(at: moment(10, ahead: 0))?.serverBounds)
    expectNil(estimator.error(at: moment(10, ahead: 0)))
    // Without a clock that confirms the receiver, the server has more weight, until its time is right again.
    expectEqual(estimator.time(at: moment(10, ahead: -1_000_000))?.1, .fleetEngine)
    estimator.observe(.fleetEngine, TimeEstimatorTests.truth + .seconds(20), at: .boot + .seconds(20))
    expectEqual(estimator.time(at: moment(20, ahead: -1_000_000)).map { $0.0 - TimeEstimatorTests.truth }, .seconds(20))
    expect(estimator.estimate(at: moment(20, ahead: -1_000_000))?.serverBounds != nil)
  }

  @Test(
    "a server's time that contradicts its confirmed one is accepted when repeated, or when another reference agrees")
  func contradiction() {
    let late = moment(30, ahead: -86_400)
    var estimator = observed()
    estimator.observe(.gnss, TimeEstimatorTests.truth + .seconds(29), at: .boot + .seconds(29))
    estimator.observe(.fleetEngine, TimeEstimatorTests.truth + .seconds(3630), at: .boot + .seconds(30))
    expectEqual(estimator.time(at: late).map { $0.0 - TimeEstimatorTests.truth }, .seconds(30))
    expectEqual(estimator.estimate(at: late)?.isConfirmed, true)

    var repeated = estimator
    repeated.observe(.fleetEngine, TimeEstimatorTests.truth + .seconds(3640), at: .boot + .seconds(40))
    expectEqual(repeated.time(at: moment(40, ahead: 0)).map { $0.0 - TimeEstimatorTests.truth }, .seconds(3640))

    var honest = estimator
    honest.observe(.fleetEngine, TimeEstimatorTests.truth + .seconds(40), at: .boot + .seconds(40))
    honest.observe(.fleetEngine, TimeEstimatorTests.truth + .seconds(3650), at: .boot + .seconds(50))
    expectEqual(honest.time(at: moment(50, ahead: 0)).map { $0.0 - TimeEstimatorTests.truth }, .seconds(50))

    estimator.observe(.tokenProvider, TimeEstimatorTests.truth + .seconds(3640), at: .boot + .seconds(40))
    estimator.observe(.fleetEngine, TimeEstimatorTests.truth + .seconds(3641), at: .boot + .seconds(41))
    expectEqual(estimator.time(at: moment(41, ahead: -86_400)).map { $0.0 - TimeEstimatorTests.truth }, .seconds(3641))
  }

  /// An estimator with a receiver that is steadily ahead by this number of seconds, and with the `iat` of a token that
  /// arrived in second 10.
  private func issued(receiver: Int = 18, backdating: Int = 0) -> TimeEstimator {
    var estimator = TimeEstimator(buildDate: TimeEstimatorTests.truth - .seconds(864_000))
    for second in 0..<10 {
      estimator.observe(.gnss, TimeEstimatorTests.truth + .seconds(second + receiver), at: .boot + .seconds(second))
    }
    estimator.observeIssueTime(
      TimeEstimatorTests.truth + .seconds(9 - backdating), sentAt: .boot + .seconds(9), at: .boot + .seconds(10))
    return estimator
  }

  @Test("a token's iat and the machine's clock outvote a receiver if they agree; neither does alone")
  func issue() {
    for backdating in 0...3 {
      let estimate = issued(backdating: backdating).estimate(at: moment(10, ahead: 0))
      expect(estimate?.reference == .tokenProvider && estimate?.isConfirmed == false)
      let latest = estimate?.serverBounds?.latest(at: .boot + .seconds(10))
      expectEqual(latest.map { $0 < TimeEstimatorTests.truth + .seconds(15) }, true)
    }
    // The clock is wrong, or the `iat` is too old, because the provider caches or backdates its tokens.
    for (ahead, backdating) in [(18, 0), (-18, 0), (6, 0), (0, 6), (0, 60), (-1_000_000, 0), (60, 60)] {
      let estimator = issued(backdating: backdating)
      expectEqual(estimator.estimate(at: moment(10, ahead: ahead))?.reference, .gnss, "\(ahead) \(backdating)")
      expectNil(estimator.estimate(at: moment(10, ahead: ahead))?.serverBounds)
    }
    // A receiver that agrees with the clock is not outvoted, until its clock jumps.
    var estimator = issued(receiver: 0, backdating: 2)
    expectEqual(estimator.estimate(at: moment(10, ahead: 0))?.reference, .gnss)
    estimator.observe(.gnss, TimeEstimatorTests.truth + .seconds(31_536_011), at: .boot + .seconds(11))
    expectEqual(estimator.estimate(at: moment(11, ahead: 0))?.reference, .tokenProvider)
  }

  @Test("a token's iat does not outvote a server, and is not used if the provider sends a Date")
  func issueAndServers() {
    var estimator = issued()
    estimator.observe(.fleetEngine, TimeEstimatorTests.truth + .seconds(500), at: .boot + .seconds(10))
    expectEqual(estimator.estimate(at: moment(10, ahead: 0))?.reference, .fleetEngine)
    estimator = issued()
    estimator.observe(.tokenProvider, TimeEstimatorTests.truth + .seconds(500), at: .boot + .seconds(10))
    let now = BootInstant.boot + .seconds(11)
    estimator.observeIssueTime(TimeEstimatorTests.truth + .seconds(11), sentAt: now, at: now)
    expectEqual(estimator.time(at: moment(11, ahead: 0)).map { $0.0 - TimeEstimatorTests.truth }, .seconds(501))
  }

  @Test("after a step the machine's clock no longer agrees with a token's iat, and the receiver's time is used")
  func issueAndStep() {
    let estimator = issued()
    expectEqual(estimator.estimate(at: moment(600, ahead: 0))?.reference, .tokenProvider)
    expectEqual(estimator.estimate(at: moment(601, ahead: 20))?.reference, .gnss)
  }

  @Test("a time that only one server has reported once expires after a minute")
  func unconfirmedTimeExpires() {
    var estimator = TimeEstimator(buildDate: TimeEstimatorTests.truth - .seconds(864_000))
    estimator.observe(.fleetEngine, TimeEstimatorTests.truth + .seconds(3600), at: .boot)
    expect(estimator.time(at: moment(59, ahead: 0)) != nil)
    expectNil(estimator.time(at: moment(61, ahead: 0)))
  }
}
