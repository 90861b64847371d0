// SPDX-License-Identifier: Apache-2.0
package import Timekeeping

/// A line to drive along: two points or more.
package struct Route: Equatable, Sendable {
  package struct Point: Equatable, Sendable {
    package var coordinate: Coordinate
    /// Metres above mean sea level.
    package var elevation: Double?
    package var time: Timestamp?

    package init(coordinate: Coordinate, elevation: Double? = nil, time: Timestamp? = nil) {
      self.coordinate = coordinate
      self.elevation = elevation
      self.time = time
    }
  }

  package let points: [Point]

  /// Nil when there are fewer than two points.
  package init?(points: [Point]) {
    guard points.count >= 2 else { return nil }
    self.points = points
  }
}
