// SPDX-License-Identifier: Apache-2.0
package import Positioning
package import Timekeeping

/// The track over the last few minutes, downsampled: enough to draw its shape.
package struct RecentTrack: Equatable, Sendable {
  /// The maximum number of points.
  package static let capacity = 120
  /// The minimum time between two points.
  static let spacing = Duration.seconds(5)
  /// Older points are not shown.
  static let maximumAge = Duration.seconds(600)

  private struct Point: Equatable {
    var coordinate: Coordinate
    var at: BootInstant
  }

  /// Oldest first.
  private var points: [Point] = []

  /// Adds an accepted position, unless it is too soon after the last point or at the same coordinate.
  mutating func observe(_ coordinate: Coordinate, at now: BootInstant) {
    if let last = points.last, now - last.at < RecentTrack.spacing || last.coordinate == coordinate { return }
    if points.count == RecentTrack.capacity { points.removeFirst() }
    points.append(Point(coordinate: coordinate, at: now))
  }

  /// Clears the track: where the vehicle was must not be shown.
  mutating func forget() {
    points.removeAll(keepingCapacity: true)
  }

  /// The shape relative to the newest position, without coordinates. Nil if there is no track yet.
  ///
  /// - Parameter newest: the end of the track.
  /// - Returns: the age of the oldest point, and the points in metres east and north of the newest position, oldest
  ///   first; the last is 0, 0.
  package func shape(endingAt newest: Coordinate, at now: BootInstant) -> (age: Duration, points: [[Int]])? {
    let recent = points.drop { now - $0.at > RecentTrack.maximumAge }
    guard let first = recent.first else { return nil }
    var shape = recent.map { point in
      let heading = newest.heading(to: point.coordinate) ?? 0
      let direction = Trigonometry.rotation(degrees: heading)
      let distance = newest.distance(to: point.coordinate)
      // Whole metres. A distance is at most half of the Earth's circumference, so `Int` cannot overflow.
      return [Int((distance * direction.sine).rounded()), Int((distance * direction.cosine).rounded())]
    }
    if shape.last != [0, 0] { shape.append([0, 0]) }
    guard shape.count > 1 else { return nil }
    return (now - first.at, shape)
  }
}
