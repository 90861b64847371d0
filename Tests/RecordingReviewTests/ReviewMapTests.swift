// SPDX-License-Identifier: Apache-2.0
import Expectations
import Positioning
import RecordingReview
import Testing
import Timekeeping

struct ReviewMapTests {
  private static let start = Timestamp(seconds: 1_795_249_800)

  /// Reviews a drive northward at 10 m/s with one fix per second; `aside` displaces fixes sideways, in metres.
  private func review(
    _ seconds: Range<Int64>, from origin: (Double, Double) = (52.5, 13.4), aside: [Int64: Double] = [:]
  ) -> RecordingReview {
    let fixes = seconds.compactMap { second -> Fix? in
      guard let origin = Coordinate(latitude: origin.0, longitude: origin.1) else { return nil }
      var coordinate = origin.moved(by: 10 * Double(second), heading: 0)
      if let metres = aside[second] { coordinate = coordinate.moved(by: metres, heading: 90) }
      var fix = Fix(coordinate: coordinate, time: .utc(ReviewMapTests.start + .seconds(second)))
      (fix.speed, fix.heading, fix.horizontalAccuracy) = (10, 0, 5)
      return fix
    }
    return RecordingReview(
      fixes, limits: FixFilter.Configuration(buildDate: Timestamp(seconds: 1_795_219_200)))
  }

  private func count(_ part: String, in text: String) -> Int {
    text.indices.count { text[$0...].hasPrefix(part) }
  }

  @Test(
    "every rejected fix is drawn in the track and in its episode, with its time and reason; no coordinate is written")
  func rejected() {
    let svg = ReviewMap(review(0..<60, aside: [20: 300, 50: 500]), title: "drive.nmea").svg
    let note = "impossibleSpeed: faster than filter.max_speed</title>"
    expect(count("08:30:20Z \(note)", in: svg) == 2 && count("08:30:50Z \(note)", in: svg) == 2)
    expect(svg.contains("60 fixes, 2026-11-21T08:30:00Z to 2026-11-21T08:30:59Z, 2 rejected"))
    expect(svg.contains(">08:30:20, 1 s: 1 impossibleSpeed<"))
    // The legend shows accepted fixes, the reason of rejections, and their numbers.
    expect(svg.contains(">accepted<") && svg.contains(">58<") && svg.contains(">impossibleSpeed<"))
    expect(!svg.contains(">jump<"))
    expect(!svg.contains("52.5") && !svg.contains("13.4"))
  }

  @Test("a position 5000 km away is a cross at the edge, and does not change the scale")
  func outside() {
    let svg = ReviewMap(review(0..<60, aside: [20: 5_000_000]), title: "drive").svg
    expectEqual(count("l10 10m0 -10l-10 10", in: svg), 3)
    // 590 m of track: the overview's scale bar is still in metres.
    expect(svg.contains(">200 m<") && !svg.contains("km<"))
  }

  @Test("scale bars have round numbers", arguments: [(Int64(3), "10 m"), (60, "200 m"), (6000, "20 km")])
  func scale(seconds: Int64, text: String) {
    expect(ReviewMap(review(0..<seconds), title: "drive").svg.contains(">\(text)<"))
  }

  @Test(
    "a drive across the antimeridian, or near a pole, is drawn at its true size",
    arguments: [(10.0, 179.999), (89.99, 0)])
  func edges(latitude: Double, longitude: Double) {
    var aside: [Int64: Double] = [:]
    for second in Int64(0)..<60 { aside[second] = Double(second) * 5 }
    let svg = ReviewMap(review(0..<60, from: (latitude, longitude), aside: aside), title: "drive").svg
    // 590 m of track to the north, and 295 m to the east.
    expect(svg.contains(">200 m<") && !svg.contains("km<") && !svg.contains("nan") && !svg.contains("inf"))
  }

  @Test("an empty track, a single position and a track without accepted fixes can be drawn")
  func little() {
    for review in [review(0..<0), review(0..<1), review(0..<3, from: (0, 0))] {
      let svg = ReviewMap(review, title: "drive").svg
      expect(svg.hasSuffix("</svg>\n") && !svg.contains("nan") && !svg.contains("inf"))
    }
  }

  @Test("the title is escaped in the SVG")
  func title() {
    let svg = ReviewMap(review(0..<3), title: "<script>&\u{7}").svg
    expect(svg.contains(">&lt;script&gt;&amp;?<") && !svg.contains("<script>"))
  }
}
