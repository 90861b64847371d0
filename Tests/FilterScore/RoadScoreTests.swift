// SPDX-License-Identifier: Apache-2.0
import Expectations
import Positioning
import RecordingReview
import Testing
import Timekeeping

/// The filter on real roads. A change that improves a figure should also tighten its bound, so that the improvement is
/// not lost later.
struct RoadScoreTests {
  /// The scores of the seven drives, computed once.
  static let scores = Result { try RoadDrive.allCases.map { ($0, RoadScore(try $0.review(), truth: try $0.truth())) } }

  @Test("on recorded drives good fixes are accepted, and fixes without satellites or of a frozen receiver are rejected")
  func bounds() throws {
    let total = try RoadScoreTests.scores.get().map(\.1).reduce(RoadScore(), +)
    expectEqual(total.fixes, 22_648)
    expect(total.wrong <= 5 && total.longest <= 2, "\(total)")
    expect(total.bad == 0 && total.jumps <= 3, "\(total)")
    expect(total.unmeasured == 143 && total.unmeasuredRejected == 143, "\(total)")
    expect(total.frozen == 20 && total.frozenRejected >= 19, "\(total)")
    expect(total.median <= 0.5 && total.largest <= 1.1, "\(total)")
  }

  @Test("two seconds after an accepted multipath error the right fixes are accepted; other outliers are rejected")
  func episodes() throws {
    let munich = try RoadDrive.geniviMunich.review()
    for (wrong, right) in [
      ("2009-04-01T12:40:37Z", "2009-04-01T12:40:39Z"), ("2009-04-01T13:01:15Z", "2009-04-01T13:01:17Z"),
    ] {
      expectNil(try rejection(munich, at: wrong))
      expectNil(try rejection(munich, at: right), "\(right)")
    }
    let dotnet = try RoadDrive.dotnet2.review()
    try expectEqual(rejection(dotnet, at: "2016-03-09T18:30:27.768Z"), .jump)
    try expectEqual(rejection(dotnet, at: "2016-03-09T18:30:28.768Z"), .jump)
    expectNil(try rejection(dotnet, at: "2016-03-09T18:30:29.768Z"))
  }

  private func rejection(_ review: RecordingReview, at text: String) throws -> FixRejection? {
    let time = try #require(Timestamp(rfc3339: text))
    return try #require(review.fixes.first { $0.time == time }, "\(text)").rejection
  }

  @Test("docs/filter.md has the scores of the recorded drives")
  func document() throws {
    let table = FilterDocument.road(try RoadScoreTests.scores.get())
    expect(try FilterScoreTests.page().contains(table), "\(table)")
  }
}
