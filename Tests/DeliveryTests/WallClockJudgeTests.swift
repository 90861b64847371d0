// SPDX-License-Identifier: Apache-2.0
import Testing
import Timekeeping

@testable import Delivery

@Suite struct WallClockJudgeTests {
  private static let truth = Timestamp(seconds: 1_796_083_200)

  private func moment(_ seconds: Int, ahead: Int) -> Moment {
    Moment(boot: .boot + .seconds(seconds), wall: WallClockJudgeTests.truth + .seconds(seconds + ahead))
  }

  private func observed(_ reference: WallClockJudge.Reference = .fleetEngine, ahead: Int = 0) -> WallClockJudge {
    var watch = WallClockJudge()
    watch.observe(reference, WallClockJudgeTests.truth + .seconds(ahead), at: .boot)
    return watch
  }

  @Test("a clock within half a minute is right; nothing is said of one that nobody can judge", arguments: [-29, 0, 29])
  func right(ahead: Int) {
    var watch = observed()
    #expect(watch.verdict(at: moment(10, ahead: ahead)) == nil)
    var blind = WallClockJudge()
    #expect(blind.verdict(at: moment(10, ahead: 1_000_000)) == nil)
  }

  @Test(
    "a wrong clock is told once, with its size and by whom",
    arguments: [30, -95, 3600, -1_795_000_000, 378_691_200])
  func wrong(ahead: Int) {
    var watch = observed()
    let error = WallClockJudge.Error(offset: .seconds(ahead), reference: .fleetEngine)
    #expect(watch.verdict(at: moment(1, ahead: ahead)) == .wrong(error))
    for second in 2..<20 { #expect(watch.verdict(at: moment(second, ahead: ahead)) == nil) }
  }

  @Test("a step is seen at once, without another word from anybody: wrong by another size, then right")
  func steps() {
    var watch = observed()
    #expect(watch.verdict(at: moment(5, ahead: -7200)) != nil)
    // Drift is not news.
    #expect(watch.verdict(at: moment(6, ahead: -7260)) == nil)
    #expect(
      watch.verdict(at: moment(7, ahead: 600))
        == .wrong(WallClockJudge.Error(offset: .seconds(600), reference: .fleetEngine)))
    #expect(watch.verdict(at: moment(8, ahead: 0)) == .right)
    #expect(watch.verdict(at: moment(9, ahead: 0)) == nil)
  }

  @Test("hours of sleep change nothing: elapsed time goes on")
  func suspend() {
    var watch = observed()
    #expect(watch.verdict(at: moment(36_000, ahead: 0)) == nil)
    #expect(watch.verdict(at: moment(36_001, ahead: 100)) != nil)
    // After a day without a word it does not judge any more.
    #expect(watch.verdict(at: moment(86_401, ahead: 100_000)) == nil)
  }

  @Test("Fleet Engine's word counts more than the provider's, and that more than the receiver's")
  func trust() {
    var watch = observed(.gnss, ahead: 5000)
    #expect(watch.error(at: moment(1, ahead: 0))?.reference == .gnss)
    watch.observe(.tokenProvider, WallClockJudgeTests.truth + .seconds(500), at: .boot)
    #expect(watch.error(at: moment(1, ahead: 0))?.offset == .seconds(-500))
    watch.observe(.fleetEngine, WallClockJudgeTests.truth, at: .boot)
    #expect(watch.error(at: moment(1, ahead: 0)) == nil)
    watch.observe(.gnss, WallClockJudgeTests.truth + .seconds(9999), at: .boot + .seconds(60))
    #expect(watch.error(at: moment(60, ahead: 0)) == nil)
  }

  @Test("the ends of what can be told do not trap", arguments: [Int64.min, -1, 0, Int64.max])
  func extremes(milliseconds: Int64) {
    var watch = WallClockJudge()
    watch.observe(.gnss, Timestamp(milliseconds: milliseconds), at: .boot)
    for wall in [Int64.min, 0, Int64.max] {
      _ = watch.verdict(at: Moment(boot: .boot + .seconds(86_400), wall: Timestamp(milliseconds: wall)))
    }
  }
}
