// SPDX-License-Identifier: Apache-2.0
package import Positioning
package import Timekeeping

/// The way of the last minutes, thinly: enough to draw its shape.
package struct RecentTrack: Equatable, Sendable {
  /// Points that are kept.
  package static let most = 120
  /// Between two of them.
  static let spacing = Duration.seconds(5)
  /// What is older is not told.
  static let reach = Duration.seconds(600)

  private struct Point: Equatable {
    var coordinate: Coordinate
    var at: BootInstant
  }

  /// Oldest first.
  private var points: [Point] = []

  /// Takes the next believed position. One that is too soon, or where the last one is, adds nothing to the shape.
  mutating func observe(_ coordinate: Coordinate, at now: BootInstant) {
    if let last = points.last, now - last.at < RecentTrack.spacing || last.coordinate == coordinate { return }
    if points.count == RecentTrack.most { points.removeFirst() }
    points.append(Point(coordinate: coordinate, at: now))
  }

  /// Nobody is to know where the vehicle was.
  mutating func forget() {
    points.removeAll(keepingCapacity: true)
  }

  /// The shape alone, seen from the newest position: no coordinates. Nil when there is no way yet.
  ///
  /// - Parameter newest: where the shape ends.
  /// - Returns: the age of its beginning, and metres east and north of the newest position, oldest first; the last is 0, 0.
  package func shape(endingAt newest: Coordinate, at now: BootInstant) -> (age: Duration, points: [[Int]])? {
    let recent = points.drop { now - $0.at > RecentTrack.reach }
    guard let first = recent.first else { return nil }
    var shape = recent.map { point in
      let heading = newest.heading(to: point.coordinate) ?? 0
      let direction = Trigonometry.rotation(degrees: heading)
      let distance = newest.distance(to: point.coordinate)
      // Whole metres, at most half the Earth's girth.
      return [Int((distance * direction.sine).rounded()), Int((distance * direction.cosine).rounded())]
    }
    if shape.last != [0, 0] { shape.append([0, 0]) }
    guard shape.count > 1 else { return nil }
    return (now - first.at, shape)
  }
}
