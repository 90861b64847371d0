// SPDX-License-Identifier: Apache-2.0
import Expectations
import Positioning
import RecordingReview
import Testing
import Timekeeping

struct RecordingReviewTests {
  private static let start = Timestamp(seconds: 1_795_249_800)
  private static let limits = FixFilter.Configuration(buildDate: Timestamp(seconds: 1_795_219_200))

  /// The fixes of a drive eastward from 52.5° N 13.4° E at 10 m/s, at these seconds.
  private static func drive(_ seconds: some Sequence<Int64>) -> [Fix] {
    seconds.compactMap { second in
      guard let origin = Coordinate(latitude: 52.5, longitude: 13.4) else { return nil }
      var fix = Fix(
        coordinate: origin.moved(by: 10 * Double(second), heading: 90), time: .utc(start + .seconds(second)))
      (fix.speed, fix.heading, fix.horizontalAccuracy) = (10, 90, 5)
      return fix
    }
  }

  private func review(_ fixes: [Fix]) -> RecordingReview {
    RecordingReview(fixes, limits: RecordingReviewTests.limits)
  }

  private func reasons(_ review: RecordingReview) -> [FixRejection: Int] {
    Dictionary(uniqueKeysWithValues: review.reasons.map { ($0.reason, $0.number) })
  }

  @Test("a drive without problems is accepted, with its own times and accuracies")
  func plain() {
    let fixes = RecordingReviewTests.drive(0..<60)
    let review = review(fixes)
    expect(review.isDated && review.rejectedCount == 0 && review.longestStretch == nil && review.episodes.isEmpty)
    expectEqual(review.fixes.map(\.time), fixes.map(\.timestamp))
    expect(review.fixes.allSatisfy { $0.assumedAccuracy == 5 && $0.verdict == "accepted" })
    let fastest = review.fastestAccepted?.speed ?? 0
    expect(abs(fastest - 10) < 0.01)
    expectNil(review.fastestRejected)
  }

  @Test("the rules for live fixes apply, even if the limits are those for recorded times")
  func liveRules() {
    // A tunnel of 20 s: the first fix after it does not match the dead-reckoned position, and needs a second fix.
    let fixes =
      RecordingReviewTests.drive(Array(0..<30))
      + RecordingReviewTests.drive(70..<80).map { fix in
        var fix = fix
        fix.time = fix.timestamp.map { .utc($0 - .seconds(20)) }
        return fix
      }
    var limits = RecordingReviewTests.limits
    limits.usesRecordedTimes = true
    let review = RecordingReview(fixes, limits: limits)
    expectEqual(reasons(review), [.unsettled: 1])
    expectEqual(review.longestStretch?.start, RecordingReviewTests.start + .seconds(50))
    expectEqual(review.longestStretch?.duration, .seconds(1))
  }

  @Test("a recording from before the build date is evaluated at its own dates")
  func old() {
    var fixes = RecordingReviewTests.drive(0..<10)
    for index in fixes.indices { fixes[index].time = .utc(Timestamp(seconds: 1_238_589_630 + Int64(index))) }
    let review = review(fixes)
    expect(review.rejectedCount == 0 && review.fixes.map(\.time) == fixes.map(\.timestamp))
  }

  @Test("without any date the times are on an assumed day, and continue across midnight")
  func undated() {
    var fixes = RecordingReviewTests.drive(0..<20)
    for index in fixes.indices {
      fixes[index].time = .ofDay(milliseconds: (86_390_000 + Int64(index) * 1000) % 86_400_000)
    }
    let review = review(fixes)
    expect(!review.isDated && review.rejectedCount == 0)
    expectEqual(review.fixes.first?.time.rfc3339, "2000-01-01T23:59:50.000Z")
    expectEqual(review.fixes.last?.time.rfc3339, "2000-01-02T00:00:09.000Z")
    expect(review.summary(of: "drive").contains("assumed day, 2000-01-01"))
  }

  @Test("fixes before the first date get their dates from it, even across midnight")
  func laterDate() {
    var fixes = RecordingReviewTests.drive(0..<4)
    let midnight = Timestamp(seconds: 1_795_219_200)
    fixes[0].time = .ofDay(milliseconds: 86_398_000)
    fixes[1].time = .ofDay(milliseconds: 86_399_000)
    fixes[2].time = .ofDay(milliseconds: 0)
    fixes[3].time = .utc(midnight + .seconds(1))
    let review = review(fixes)
    expect(review.isDated && review.rejectedCount == 0)
    expectEqual(review.fixes.map(\.time), (-2...1).map { midnight + .seconds($0) })
  }

  @Test("a fix without a time is rejected for this reason, and listed at the time of the previous fix")
  func timeless() {
    var fixes = RecordingReviewTests.drive(0..<5)
    fixes[2].time = nil
    let review = review(fixes)
    expectEqual(review.fixes.map(\.rejection), [nil, nil, .noTime, nil, nil])
    expectEqual(review.fixes[2].time, review.fixes[1].time)
    let all = RecordingReview(fixes.map { Fix(coordinate: $0.coordinate) }, limits: RecordingReviewTests.limits)
    expectEqual(reasons(all), [.noTime: 5])
  }

  @Test(
    "one wrong timestamp is rejected, and does not affect the following fixes",
    arguments: [(Int64(3600), FixRejection.future), (-3600, .outOfOrder)])
  func wrongStamp(seconds: Int64, rejection: FixRejection) {
    var fixes = RecordingReviewTests.drive(0..<30)
    fixes[10].time = .utc(RecordingReviewTests.start + .seconds(10 + seconds))
    let review = review(fixes)
    expectEqual(reasons(review), [rejection: 1])
    expectEqual(review.fixes[10].rejection, rejection)
  }

  @Test("a few fixes dated too early, as before a week rollover is resolved, cost the next four fixes")
  func earlyDates() {
    for early in [Duration.seconds(1024 * 7 * 86_400), RecordingReviewTests.start - Timestamp(seconds: 0)] {
      var fixes = RecordingReviewTests.drive(0..<60)
      for index in 0..<5 { fixes[index].time = fixes[index].timestamp.map { .utc($0 - early) } }
      let review = review(fixes)
      expectEqual(review.fixes.dropFirst(5).count { !$0.isAccepted }, 4, "\(reasons(review))")
      expectEqual(review.fixes.last?.isAccepted, true)
    }
  }

  @Test("rejections before and after a wrong timestamp are episodes of their own, with their own durations")
  func episodesAroundWrongStamp() {
    var fixes = RecordingReviewTests.drive(0..<700)
    fixes[10].time = .utc(RecordingReviewTests.start + .seconds(3610))
    for index in 600..<604 { fixes[index].coordinate = fixes[index].coordinate.moved(by: 300, heading: 0) }
    let review = review(fixes)
    expectEqual(review.episodes.count, 2)
    expectEqual(review.longestStretch?.start, RecordingReviewTests.start + .seconds(600))
    expectEqual(review.longestStretch?.duration, .seconds(4))
  }

  @Test(
    "after a clock is set back or another drive is appended, fixes are rejected only until the filter settles")
  func setBack() {
    let review = review(RecordingReviewTests.drive(Array(100..<140) + Array(100..<140)))
    expect(review.rejectedCount > 0 && review.rejectedCount < 15)
    expectEqual(review.fixes.last?.isAccepted, true)
  }

  @Test("positions off the track are listed with distance, speed and reason")
  func episode() throws {
    var fixes = RecordingReviewTests.drive(0..<40)
    for index in 20...21 { fixes[index].coordinate = fixes[index].coordinate.moved(by: 300, heading: 0) }
    fixes[10].coordinate = fixes[10].coordinate.moved(by: 5, heading: 90)
    // At most 10 s after the previous rejected fix, and therefore in the same episode.
    fixes[26].coordinate = fixes[26].coordinate.moved(by: 200, heading: 0)
    let review = review(fixes)
    expectEqual(reasons(review), [.impossibleSpeed: 3])
    expectEqual(review.longestStretch?.duration, .seconds(2))
    let episode = try #require(review.episodes.first)
    expect(review.episodes.count == 1 && episode.range == 20...26 && episode.duration == .seconds(7))
    expect(abs((episode.deviation ?? 0) - 300) < 1)
    expect(abs((review.fastestRejected?.speed ?? 0) - 300.2) < 1)
    expectEqual(
      review.summary(of: "drive.nmea"),
      """
      drive.nmea: 40 fixes, 2026-11-21T08:30:00Z to 2026-11-21T08:30:39Z
      accepted                37  92.50 %
      rejected                 3  7.50 %
        impossibleSpeed        3  7.50 %  faster than filter.max_speed
      Longest rejected stretch: 2 s from 2026-11-21T08:30:20Z
      Implied speed: at most 54 km/h (2026-11-21T08:30:10Z) between accepted fixes, at most 1081 km/h (2026-11-21T08:30:20Z) \
      from an accepted to a rejected one
      Where fixes were rejected:
        1  2026-11-21T08:30:20Z  7 s: 3 impossibleSpeed; up to 300 m off the line between accepted fixes

      """)
  }

  @Test("the assumed accuracy is reported if the receiver reports none")
  func accuracy() {
    var fixes = RecordingReviewTests.drive(0..<3)
    fixes[1].horizontalAccuracy = nil
    let review = review(fixes)
    expect(review.fixes[1].assumedAccuracy > 5)
    var writer = FixLineWriter(source: "replay")
    writer.append(review.fixes[1])
    let line = String(decoding: writer.bytes, as: UTF8.self)
    expect(line.hasPrefix("{\"time\":\"2026-11-21T08:30:01.000Z\",\"latitude\":52.5"))
    expect(line.hasSuffix(",\"assumedAccuracy\":15,\"verdict\":\"accepted\",\"source\":\"replay\"}\n"))
    expect(!line.contains("horizontalAccuracy"))
  }

  @Test("the summary of a recording without fixes says so")
  func none() {
    let review = review([])
    expect(review.fixes.isEmpty && review.summary(of: "nothing") == "nothing: no fix\n")
  }
}
