// SPDX-License-Identifier: Apache-2.0
import Positioning
import Timekeeping

/// Draws a filtered recording as an SVG picture: the whole track, and below it the episodes of rejected fixes in
/// detail.
///
/// North is up. There is no background map and no coordinate in it; scale bars show distances.
package struct ReviewMap: Sendable {
  /// The number of detail maps, for the longest episodes.
  private static let maximumDetails = 6
  /// The time before and after an episode in its detail map.
  private static let context = Duration.seconds(15)
  private static let width = 1200.0
  private static let margin = 24.0
  private static let overviewHeight = 560.0
  private static let legendWidth = 300.0
  private static let detailHeight = 330.0

  private let review: RecordingReview
  private let title: String

  /// - Parameter title: the name of the recording.
  package init(_ review: RecordingReview, title: String) {
    self.review = review
    self.title = title
  }

  /// The SVG document.
  package var svg: String {
    let details = Array(review.episodes.prefix(ReviewMap.maximumDetails))
    let overviewTop = 76.0
    let detailsTop = overviewTop + ReviewMap.overviewHeight + 44
    let rows = Double((details.count + 2) / 3)
    let height =
      details.isEmpty
      ? overviewTop + ReviewMap.overviewHeight + ReviewMap.margin : detailsTop + rows * (ReviewMap.detailHeight + 44)
    var picture = SVGPicture(width: ReviewMap.width, height: height)
    picture.text(title, x: ReviewMap.margin, y: 34, size: 20, isBold: true)
    picture.text(subtitle, x: ReviewMap.margin, y: 58, size: 14)
    let overview = MapPanel(
      review.fixes, in: review.fixes.indices, left: ReviewMap.margin, top: overviewTop,
      width: ReviewMap.width - 3 * ReviewMap.margin - ReviewMap.legendWidth, height: ReviewMap.overviewHeight)
    overview.draw(into: &picture, isDetailed: false)
    overview.mark(details.map(\.range), into: &picture)
    drawLegend(left: ReviewMap.width - ReviewMap.margin - ReviewMap.legendWidth, top: overviewTop, into: &picture)
    let pitch = (ReviewMap.width - ReviewMap.margin) / 3
    for (index, episode) in details.enumerated() {
      let left = ReviewMap.margin + Double(index % 3) * pitch
      let top = detailsTop + Double(index / 3) * (ReviewMap.detailHeight + 44)
      picture.badge(index + 1, x: left + 10, y: top - 16)
      picture.text(caption(of: episode), x: left + 26, y: top - 11, size: 13)
      MapPanel(
        review.fixes, in: rangeWithContext(of: episode.range), left: left, top: top, width: pitch - ReviewMap.margin,
        height: ReviewMap.detailHeight
      ).draw(into: &picture, isDetailed: true)
    }
    return picture.svg
  }

  private var subtitle: String {
    guard let first = review.fixes.first, let last = review.fixes.last else { return "no fix" }
    let day = review.isDated ? "" : " (no date in the recording: an assumed day)"
    return "\(review.fixes.count) fixes, \(first.time.toTheSecond) to \(last.time.toTheSecond)\(day), "
      + "\(review.rejectedCount) rejected"
  }

  private func caption(of episode: RecordingReview.Episode) -> String {
    let start = review.fixes[episode.range.lowerBound].time.timeOfDay
    let reasons = episode.reasons.prefix(2).map { "\($0.number) \($0.reason.rawValue)" }.joined(separator: ", ")
    return "\(start), \(episode.duration.text): \(reasons)\(episode.reasons.count > 2 ? ", …" : "")"
  }

  private func drawLegend(left: Double, top: Double, into picture: inout SVGPicture) {
    var y = top + 12
    func row(_ draw: (inout SVGPicture) -> Void, _ text: String, _ count: String) {
      draw(&picture)
      picture.text(text, x: left + 28, y: y + 5, size: 14)
      picture.text(count, x: left + ReviewMap.legendWidth, y: y + 5, size: 14, isEndAnchored: true)
      y += 26
    }
    let accepted = review.fixes.count - review.rejectedCount
    row(
      { picture in
        picture.line([(left, y), (left + 20, y)], color: MapPanel.trackColor, width: 2)
        picture.dots([(left + 10, y)], color: MapPanel.acceptedColor, width: 6)
      }, "accepted", "\(accepted)")
    for count in review.reasons {
      row(
        { $0.circle(x: left + 10, y: y, radius: 5, color: count.reason.color) }, count.reason.rawValue,
        "\(count.number)")
    }
    row(
      { $0.line([(left, y), (left + 20, y)], color: MapPanel.trackColor, width: 1.5, isDashed: true) },
      "more than \(MapPanel.gapThreshold.text) between two", "")
    row(
      { $0.cross(x: left + 10, y: y, color: "#555555") }, "further out than the picture", "")
    if !review.reasons.isEmpty {
      y += 8
      for line in ["Numbers: where fixes were rejected, drawn", "closer below, with a thin line from fix to fix."] {
        picture.text(line, x: left, y: y + 5, size: 13, color: "#555555")
        y += 18
      }
    }
  }

  /// The fixes of the episode and those shortly before and after it.
  private func rangeWithContext(of range: ClosedRange<Int>) -> Range<Int> {
    let fixes = review.fixes
    var (first, last) = (range.lowerBound, range.upperBound)
    let (start, end) = (fixes[first].arrival - ReviewMap.context, fixes[last].arrival + ReviewMap.context)
    while first > 0, fixes[first - 1].arrival >= start { first -= 1 }
    while last + 1 < fixes.count, fixes[last + 1].arrival <= end { last += 1 }
    // At least one on each side, whatever its time.
    return max(min(first, range.lowerBound - 1), 0)..<min(max(last, range.upperBound + 1) + 1, fixes.count)
  }
}

extension FixRejection {
  /// Its colour; reasons that occur together have distinct colours.
  var color: String {
    switch self {
    case .noTime: "#a6761d"
    case .noDate: "#c23a8f"
    case .inaccurate: "#e0a800"
    case .poorHDOP: "#f07f09"
    case .fewSatellites: "#8c564b"
    case .noSatellites: "#1d4ed8"
    case .nullIsland: "#000000"
    case .duplicate: "#8a8a8a"
    case .outOfOrder: "#0d9488"
    case .stale: "#65a30d"
    case .future: "#166534"
    case .impossibleSpeed: "#7f1d1d"
    case .jump: "#dc2626"
    case .frozen: "#06b6d4"
    case .unsettled: "#9333ea"
    }
  }
}
