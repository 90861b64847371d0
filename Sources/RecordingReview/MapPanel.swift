// SPDX-License-Identifier: Apache-2.0
import Positioning
import ExternalInput
import Timekeeping

/// A map of filtered fixes within a frame, scaled to fit, with a scale bar.
struct MapPanel {
  static let trackColor = "#9db4cf"
  static let acceptedColor = "#1d4ed8"
  /// A longer time between two accepted fixes is drawn as a gap.
  static let gapThreshold = Duration.seconds(10)
  /// Metres. A rejected fix further away from the accepted ones does not affect the scale.
  private static let maximumDistance = 2000.0
  /// Minimum extent of a map, in metres.
  private static let minimumExtent = 40.0
  /// Pixels between the map and its frame.
  private static let inset = 34.0

  private let fixes: [RecordingReview.ReviewedFix]
  private let range: Range<Int>
  private let (left, top, width, height): (Double, Double, Double, Double)
  /// Pixels per metre.
  private let scale: Double
  private let plane: Plane
  /// The centre of the map, in metres east and north of the plane's origin.
  private let middle: (x: Double, y: Double)

  /// - Parameters:
  ///   - range: the fixes to draw.
  ///   - left, top, width, height: the frame, in pixels.
  init(
    _ fixes: [RecordingReview.ReviewedFix], in range: Range<Int>, left: Double, top: Double, width: Double,
    height: Double
  ) {
    self.fixes = fixes
    self.range = range
    (self.left, self.top, self.width, self.height) = (left, top, width, height)
    let drawn = fixes[range]
    plane = Plane(around: (drawn.first(where: \.isAccepted) ?? drawn.first)?.fix.coordinate)
    var extent = Extent()
    for fix in drawn where fix.isAccepted { extent.include(plane.point(fix.fix.coordinate)) }
    let accepted = extent
    for fix in drawn where !fix.isAccepted {
      let point = plane.point(fix.fix.coordinate)
      if accepted.isEmpty || accepted.distance(to: point) <= MapPanel.maximumDistance { extent.include(point) }
    }
    middle = extent.middle
    scale = min(
      (width - 2 * MapPanel.inset) / max(extent.width, MapPanel.minimumExtent),
      (height - 2 * MapPanel.inset) / max(extent.height, MapPanel.minimumExtent))
  }

  /// - Parameter isDetailed: whether to draw every fix individually, with times.
  func draw(into picture: inout SVGPicture, isDetailed: Bool) {
    picture.frame(x: left, y: top, width: width, height: height)
    drawTrack(into: &picture)
    if isDetailed {
      picture.line(range.map { project(fixes[$0]).point }, color: "#777777", width: 0.7)
    }
    drawDots(range.filter { fixes[$0].isAccepted }, isDetailed ? 7 : 3, into: &picture)
    for index in range where !fixes[index].isAccepted {
      guard let reason = fixes[index].rejection else { continue }
      let place = project(fixes[index])
      if place.isOutside {
        picture.cross(x: place.point.0, y: place.point.1, color: reason.color, tooltip: tooltip(fixes[index]))
      } else {
        picture.circle(
          x: place.point.0, y: place.point.1, radius: isDetailed ? 4.5 : 3.5, color: reason.color,
          tooltip: tooltip(fixes[index]))
      }
    }
    if isDetailed { drawTimes(into: &picture) }
    drawScaleBar(into: &picture)
  }

  /// Draws each episode's number at its start.
  func mark(_ episodes: [ClosedRange<Int>], into picture: inout SVGPicture) {
    var occupied: [(Double, Double)] = []
    for (index, episode) in episodes.enumerated() {
      let point = project(fixes[episode.lowerBound]).point
      // Toward the centre of the frame, so that no number is clipped; several at one point are further away from it.
      let step = (point.0 > left + width / 2 ? -20.0 : 20.0, point.1 > top + height / 2 ? -14.0 : 14.0)
      var badge = point
      repeat {
        badge = (badge.0 + step.0, badge.1 + step.1)
      } while occupied.contains { abs($0.0 - badge.0) < 20 && abs($0.1 - badge.1) < 20 }
      occupied.append(badge)
      picture.line([point, badge], color: "#111111", width: 1)
      picture.badge(index + 1, x: badge.0, y: badge.1)
    }
  }

  private func drawTrack(into picture: inout SVGPicture) {
    var stretch: [(Double, Double)] = []
    var previous: RecordingReview.ReviewedFix?
    for fix in fixes[range] where fix.isAccepted {
      let point = project(fix).point
      if let previous, fix.time - previous.time > MapPanel.gapThreshold {
        picture.line(stretch, color: MapPanel.trackColor, width: 2)
        picture.line([project(previous).point, point], color: MapPanel.trackColor, width: 1.5, isDashed: true)
        stretch = []
      }
      stretch.append(point)
      previous = fix
    }
    picture.line(stretch, color: MapPanel.trackColor, width: 2)
  }

  private func drawDots(_ indexes: [Int], _ size: Double, into picture: inout SVGPicture) {
    picture.dots(indexes.map { project(fixes[$0]).point }, color: MapPanel.acceptedColor, width: size)
  }

  /// Draws the times of the first and last fix, of the first rejected fix, and of the first accepted fix after the last
  /// rejected one.
  private func drawTimes(into picture: inout SVGPicture) {
    guard let firstRejected = range.first(where: { !fixes[$0].isAccepted }),
      let lastRejected = range.last(where: { !fixes[$0].isAccepted })
    else { return }
    var occupied: [(Double, Double)] = []
    for index in [firstRejected, min(lastRejected + 1, range.upperBound - 1), range.lowerBound, range.upperBound - 1] {
      let point = project(fixes[index]).point
      guard !occupied.contains(where: { abs($0.0 - point.0) < 70 && abs($0.1 - point.1) < 16 }) else { continue }
      occupied.append(point)
      let isRight = point.0 > left + width - 80
      picture.text(
        fixes[index].time.timeOfDay, x: point.0 + (isRight ? -9 : 9), y: point.1 - 8, size: 12, isEndAnchored: isRight,
        hasHalo: true)
    }
  }

  private func drawScaleBar(into picture: inout SVGPicture) {
    // The largest of 1, 2 and 5 times a power of ten that fits into a quarter of the width.
    var metres = 1.0
    var factors = [2.0, 2.5, 2.0]
    while metres * factors[0] * scale <= width / 4, metres < 1e8 {
      metres *= factors[0]
      factors.append(factors.removeFirst())
    }
    let (x, y) = (left + 14, top + height - 14)
    picture.text(
      metres < 1000 ? "\(Decimals.text(metres, 0)) m" : "\(Decimals.text(metres / 1000, 0)) km", x: x + 6, y: y - 7,
      size: 12, hasHalo: true)
    picture.line(
      [(x, y - 5), (x, y), (x + metres * scale, y), (x + metres * scale, y - 5)], color: "#111111", width: 1.5)
  }

  /// Projects to pixels; points outside of the frame are drawn at its edge.
  private func project(_ fix: RecordingReview.ReviewedFix) -> (point: (Double, Double), isOutside: Bool) {
    let metres = plane.point(fix.fix.coordinate)
    let x = left + width / 2 + (metres.x - middle.x) * scale
    let y = top + height / 2 - (metres.y - middle.y) * scale
    let clamped = (min(max(x, left + 8), left + width - 8), min(max(y, top + 8), top + height - 8))
    return (clamped, clamped != (x, y))
  }

  private func tooltip(_ fix: RecordingReview.ReviewedFix) -> String {
    "\(fix.time.toTheSecond) \(fix.verdict)\(fix.rejection.map { ": \($0.sentence.text)" } ?? "")"
  }
}

extension Timestamp {
  /// Such as `08:30:00`.
  var timeOfDay: String { String(rfc3339.dropFirst(11).prefix(8)) }
}

/// A local plane in metres around a point.
private struct Plane {
  private static let metresPerDegree = 111_320.0

  private let latitude: Double
  private let longitude: Double
  private let latitudeCosine: Double

  init(around coordinate: Coordinate?) {
    latitude = coordinate?.latitude ?? 0
    longitude = coordinate?.longitude ?? 0
    latitudeCosine = Trigonometry.rotation(degrees: latitude).cosine
  }

  /// Metres east and north.
  func point(_ coordinate: Coordinate) -> (x: Double, y: Double) {
    var east = coordinate.longitude - longitude
    // The shorter direction, also across the antimeridian.
    if east > 180 { east -= 360 }
    if east < -180 { east += 360 }
    return (east * latitudeCosine * Plane.metresPerDegree, (coordinate.latitude - latitude) * Plane.metresPerDegree)
  }
}

/// The bounding rectangle of points, in metres.
private struct Extent {
  private var low = (x: Double.infinity, y: Double.infinity)
  private var high = (x: -Double.infinity, y: -Double.infinity)

  var isEmpty: Bool { high.x < low.x }
  var width: Double { isEmpty ? 0 : high.x - low.x }
  var height: Double { isEmpty ? 0 : high.y - low.y }
  var middle: (x: Double, y: Double) { isEmpty ? (0, 0) : ((low.x + high.x) / 2, (low.y + high.y) / 2) }

  mutating func include(_ point: (x: Double, y: Double)) {
    low = (min(low.x, point.x), min(low.y, point.y))
    high = (max(high.x, point.x), max(high.y, point.y))
  }

  /// Distance of a point outside; 0 inside.
  func distance(to point: (x: Double, y: Double)) -> Double {
    let x = max(low.x - point.x, point.x - high.x, 0)
    let y = max(low.y - point.y, point.y - high.y, 0)
    return (x * x + y * y).squareRoot()
  }
}
