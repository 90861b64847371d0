// SPDX-License-Identifier: Apache-2.0
package import Timekeeping

/// A line to drive along: two points or more.
package struct Route: Equatable, Sendable {
  /// What stands around a stretch of the way.
  package enum Surroundings: Equatable, Sendable {
    case open
    /// No satellite is seen.
    case tunnel
    /// High walls: few satellites, and echoes.
    case canyon
  }

  package struct Point: Equatable, Sendable {
    package var coordinate: Coordinate
    /// Metres above mean sea level.
    package var elevation: Double?
    package var time: Timestamp?
    /// Of the way from this point to the next.
    package var surroundings: Surroundings

    package init(
      coordinate: Coordinate, elevation: Double? = nil, time: Timestamp? = nil, surroundings: Surroundings = .open
    ) {
      self.coordinate = coordinate
      self.elevation = elevation
      self.time = time
      self.surroundings = surroundings
    }
  }

  /// A place beside the line that has a name, or where the vehicle is to stop.
  package struct Waypoint: Equatable, Sendable {
    package var name: String
    package var coordinate: Coordinate
    /// How long the vehicle stands at the place of the line that is nearest; nil does not stop.
    package var dwell: Duration?

    package init(name: String, coordinate: Coordinate, dwell: Duration? = nil) {
      self.name = name
      self.coordinate = coordinate
      self.dwell = dwell
    }
  }

  package let points: [Point]
  package let waypoints: [Waypoint]

  /// Nil when there are fewer than two points.
  package init?(points: [Point], waypoints: [Waypoint] = []) {
    guard points.count >= 2 else { return nil }
    self.points = points
    self.waypoints = waypoints
  }
}
