// SPDX-License-Identifier: Apache-2.0
import Expectations
import Positioning
import Testing
import Timekeeping

@testable import Reporting

struct TrackDeviationTests {
  private static let start = Timestamp(seconds: 1_796_083_200)

  /// A position this many metres to the east and north of another.
  private static func place(_ east: Double, _ north: Double, longitude: Double = 11) throws -> Coordinate {
    let place = try #require(Coordinate(latitude: 60, longitude: longitude))
    return place.moved(by: east, heading: 90).moved(by: north, heading: 0)
  }

  /// The deviation after these positions, one a second; the first was reported.
  private static func error(_ offsets: [(Double, Double)], longitude: Double = 11) throws -> Double {
    var track = TrackDeviation()
    for (second, offset) in offsets.enumerated() {
      let place = try place(offset.0, offset.1, longitude: longitude)
      let time = start + .seconds(second)
      track.observe(place, at: time)
      if second == 0 { track.reported(place, at: time) }
    }
    return track.error
  }

  @Test("on a straight road the deviation is zero; at a corner it is that of the apex, even across the antimeridian")
  func corner() throws {
    expect(try TrackDeviationTests.error([(0, 0), (0, 20), (0, 40), (0, 60)]) < 0.1)
    for longitude in [11, 179.9999] {
      // A right angle: the apex is 40 / √2 m from the diagonal.
      let error = try TrackDeviationTests.error([(0, 0), (0, 20), (0, 40), (20, 40), (40, 40)], longitude: longitude)
      expect(abs(error - 28.3) < 0.2, "\(longitude)")
    }
  }

  @Test("for a position beyond an end of the line the distance to that end is used, as after a U-turn")
  func turnedRound() throws {
    expect(abs(try TrackDeviationTests.error([(0, 0), (0, 50), (0, 100), (0, 50), (0, 0)]) - 100) < 0.3)
    expect(abs(try TrackDeviationTests.error([(0, 0), (0, -30), (0, 10)]) - 30) < 0.1)
  }

  @Test("the deviation is zero before the first report; a report restarts the track after the reported position")
  func reports() throws {
    var track = TrackDeviation()
    for second in 0..<5 {
      track.observe(
        try TrackDeviationTests.place(0, Double(second) * 20), at: TrackDeviationTests.start + .seconds(second))
    }
    expectEqual(track.error, 0)
    let apex = try TrackDeviationTests.place(0, 80)
    track.reported(apex, at: TrackDeviationTests.start + .seconds(4))
    expectEqual(track.error, 0)
    for second in 5..<10 {
      track.observe(
        try TrackDeviationTests.place(Double(second - 4) * 10, 80 + Double((second - 4) * (second - 4))),
        at: TrackDeviationTests.start + .seconds(second))
    }
    let before = track.error
    expect(before > 3)
    // The report of an earlier position was accepted: the later ones are still to be reported.
    track.reported(try TrackDeviationTests.place(10, 81), at: TrackDeviationTests.start + .seconds(5))
    expect(track.error > 1 && track.error < before)
  }

  @Test("positions whose timestamps were wrong, and were corrected, cause no deviation")
  func corrected() throws {
    var track = TrackDeviation()
    for second in 0..<30 {
      let place = try TrackDeviationTests.place(0, Double(second) * 20)
      // The first ten are dated two days ahead.
      let time = TrackDeviationTests.start + .seconds(second + (second < 10 ? 172_800 : 0))
      track.observe(place, at: time)
      if second % 5 == 0 { track.reported(place, at: time) }
    }
    expect(track.error < 0.1)
  }

  @Test("an hour without a report uses bounded memory, and the deviation still includes the corner")
  func bounded() throws {
    var track = TrackDeviation()
    track.reported(try TrackDeviationTests.place(0, 0), at: TrackDeviationTests.start)
    for second in 1...3600 {
      let distance = Double(second) * 10
      let place = try TrackDeviationTests.place(max(distance - 18_000, 0), min(distance, 18_000))
      track.observe(place, at: TrackDeviationTests.start + .seconds(second))
    }
    expect(abs(track.error - 12_728) < 200)
  }
}
