// SPDX-License-Identifier: Apache-2.0
import Positioning
import Timekeeping

/// By how much the straight line from the last reported position to the newest misses the positions between them: the
/// corner that a map of the reports would cut.
struct TrackDeviation: Sendable {
  /// Maximum number of positions in memory. Beyond it, only every second one is kept, and half as many of the later
  /// ones.
  private static let capacity = 128
  /// Metres per degree of latitude, on the sphere of `Coordinate.distance`.
  private static let metresPerDegree = 111_195.0

  /// The deviation of the farthest position, in metres.
  private(set) var error = 0.0
  private var start: Coordinate?
  private var latitudeCosine = 1.0
  private var newest: (time: Timestamp, coordinate: Coordinate)?
  /// The positions between the last report and the newest, in order.
  private var positions: [(time: Timestamp, coordinate: Coordinate)] = []
  /// One of this many positions is kept.
  private var stride = 1
  private var skipped = 0

  /// A position was reported; later ones have not been.
  mutating func reported(_ coordinate: Coordinate, at time: Timestamp) {
    start = coordinate
    latitudeCosine = Trigonometry.rotation(degrees: coordinate.latitude).cosine
    positions.removeAll { $0.time <= time }
    (stride, skipped) = (1, 0)
    measure()
  }

  /// Adds the newest position.
  mutating func observe(_ coordinate: Coordinate, at time: Timestamp) {
    // The timestamps were wrong, and were corrected.
    if let newest, time < newest.time { (positions, self.newest) = ([], nil) }
    if let newest {
      skipped += 1
      if skipped >= stride {
        positions.append(newest)
        skipped = 0
      }
    }
    if positions.count >= TrackDeviation.capacity {
      positions = positions.indices.filter { $0 % 2 == 0 }.map { positions[$0] }
      stride *= 2
    }
    newest = (time, coordinate)
    measure()
  }

  private mutating func measure() {
    error = 0
    guard let start, let end = newest.map({ offset(of: $0.coordinate, from: start) }) else { return }
    let lengthSquared = end.east * end.east + end.north * end.north
    for position in positions {
      let place = offset(of: position.coordinate, from: start)
      let along = place.east * end.east + place.north * end.north
      let part = lengthSquared > 0 ? min(max(along / lengthSquared, 0), 1) : 0
      let (east, north) = (place.east - part * end.east, place.north - part * end.north)
      error = max(error, (east * east + north * north).squareRoot())
    }
  }

  /// Metres on the plane that is tangent to the Earth at the start.
  private func offset(of place: Coordinate, from start: Coordinate) -> (east: Double, north: Double) {
    var degrees = place.longitude - start.longitude
    if degrees > 180 { degrees -= 360 } else if degrees < -180 { degrees += 360 }
    return (
      degrees * latitudeCosine * TrackDeviation.metresPerDegree,
      (place.latitude - start.latitude) * TrackDeviation.metresPerDegree
    )
  }
}
