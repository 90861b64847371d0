// SPDX-License-Identifier: Apache-2.0
import Expectations
import HTTPMessages
import Testing
import Timekeeping

@testable import ClockEstimation

struct VehicleClockTests {
  private static let truth = Timestamp(seconds: 1_796_083_200)
  private static let buildDate = truth - .seconds(864_000)

  private func moment(_ seconds: Int, ahead: Int = 0) -> Moment {
    Moment(boot: .boot + .seconds(seconds), wall: VehicleClockTests.truth + .seconds(seconds + ahead))
  }

  /// A clock with this many observations from Fleet Engine, a second apart.
  private func clock(responses: Int) -> VehicleClock {
    var clock = VehicleClock(buildDate: VehicleClockTests.buildDate)
    for second in 0..<responses {
      let now = moment(second)
      clock.observe(.fleetEngine, now.wall, sentAt: now.boot, at: now.boot)
    }
    return clock
  }

  private func failure(_ kind: TransportFailure.Kind) -> HTTPOutcome {
    .failure(TransportFailure(kind, "certificate"))
  }

  @Test(
    "without an observation there is no clock error, and the best time is the machine's, if it is past the build date")
  func nothing() {
    var clock = clock(responses: 0)
    expectEqual(clock.review(at: moment(1)), VehicleClock.Review())
    expectEqual(clock.assessment, VehicleClock.Assessment())
    expectNil(clock.assessment.latestTimestamp(at: .boot))
    expectNil(clock.confirmedBounds(at: moment(1)))
    expect(!clock.isKnown(at: moment(1)))
    expectEqual(clock.bestTime(at: moment(1)), moment(1).wall)
    expectNil(clock.bestTime(at: moment(1, ahead: -1_000_000)))
  }

  @Test("the first response gives time bounds, the second confirms them; each review reports changes once")
  func reviews() {
    var clock = clock(responses: 1)
    var review = clock.review(at: moment(1))
    expect(review.hasNewBounds && review.hasNewAssessment)
    expect(!clock.assessment.isConfirmed)
    expectNil(clock.confirmedBounds(at: moment(1)))
    review = clock.review(at: moment(2))
    expect(!review.hasNewBounds && !review.hasNewAssessment)

    clock.observe(.fleetEngine, moment(3).wall, sentAt: moment(3).boot, at: moment(3).boot)
    // The assessment is still that of the last review.
    expect(!clock.assessment.isConfirmed)
    expect(clock.confirmedBounds(at: moment(3)) != nil)
    expect(clock.review(at: moment(3)).hasNewAssessment)
    expect(clock.assessment.isConfirmed)
  }

  @Test("a receiver alone gives the time and the latest timestamp of live positions, but no time bounds")
  func receiver() throws {
    var clock = clock(responses: 0)
    for second in 0..<10 { clock.observe(.gnss, moment(second).wall, at: moment(second).boot) }
    expectEqual(clock.review(at: moment(10)), VehicleClock.Review())
    expect(clock.isKnown(at: moment(10)))
    let limit = try #require(clock.liveLimit)
    expect(!limit.isByFleetEngine && limit.expiresAt == nil)
    expect(limit.latest >= moment(10).wall)
  }

  @Test("the latest possible timestamp is a few seconds ahead of the time that Fleet Engine has confirmed")
  func latest() throws {
    var clock = clock(responses: 2)
    _ = clock.review(at: moment(10))
    let latest = try #require(clock.assessment.latestTimestamp(at: moment(10).boot))
    expect(latest > moment(10).wall && latest < moment(15).wall)
    expectEqual(clock.liveLimit?.isByFleetEngine, true)
  }

  @Test("a limit for the timestamps of live positions that comes from an unconfirmed time expires with that time")
  func expiry() throws {
    var clock = clock(responses: 1)
    // The machine's clock disagrees, so that nothing confirms the response.
    _ = clock.review(at: moment(1, ahead: 3600))
    let end = try #require(clock.liveLimit?.expiresAt)
    expectEqual(end, .boot + .seconds(60))
    expectEqual(clock.liveLimit?.isByFleetEngine, true)
    _ = clock.review(at: moment(61, ahead: 3600))
    expect(clock.liveLimit?.isByFleetEngine == false && clock.liveLimit?.expiresAt == nil)
  }

  @Test("a wrong machine clock is reported once, and once more when it is correct again")
  func wrong() {
    var clock = clock(responses: 2)
    expect(clock.review(at: moment(2, ahead: 500)).clockChange != nil)
    expectNil(clock.review(at: moment(3, ahead: 500)).clockChange)
    expectEqual(clock.error(at: moment(3, ahead: 500))?.reference, .fleetEngine)
    expectEqual(clock.review(at: moment(4)).clockChange, .right)
    expectNil(clock.error(at: moment(4)))
  }

  @Test(
    "if a clock is far ahead and a certificate seems expired, it is verified at the receiver's time once that is known")
  func certificate() {
    let ahead = 10 * 86_400
    var clock = clock(responses: 0)
    expectNil(clock.certificateTime(at: moment(0, ahead: ahead), newest: nil))
    clock.requestEnded(failure(.certificateExpired))
    expect(!clock.review(at: moment(1, ahead: ahead)).hasNewCertificateTime)
    for second in 1..<10 { clock.observe(.gnss, moment(second).wall, at: moment(second).boot) }
    expect(clock.review(at: moment(10, ahead: ahead)).hasNewCertificateTime)
    expect(clock.certificateTime(at: moment(10, ahead: ahead), newest: nil) != nil)
    expect(!clock.review(at: moment(11, ahead: ahead)).hasNewCertificateTime)
  }

  @Test("time bounds from the previous run count as confirmed")
  func restored() throws {
    var before = clock(responses: 2)
    let confirmed = before.confirmedBounds(at: moment(2))
    let bounds = try #require(confirmed)
    var clock = clock(responses: 0)
    clock.restore(bounds)
    expect(clock.review(at: moment(3)).hasNewBounds)
    expect(clock.assessment.isConfirmed)
  }
}
