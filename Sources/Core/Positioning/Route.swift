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

  /// A corner of the line.
  package struct Point: Equatable, Sendable {
    /// Degrees, WGS84.
    package var coordinate: Coordinate
    /// Metres above mean sea level.
    package var elevation: Double?
    /// When a recorded drive was there; nil when the file has no time for it.
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
    /// Degrees, WGS84.
    package var coordinate: Coordinate
    /// How long the vehicle stands at the place of the line that is nearest; nil does not stop.
    package var dwell: Duration?

    package init(name: String, coordinate: Coordinate, dwell: Duration? = nil) {
      self.name = name
      self.coordinate = coordinate
      self.dwell = dwell
    }
  }

  /// Two or more, in the order of driving.
  package let points: [Point]
  /// In the order of the file.
  package let waypoints: [Waypoint]

  /// Nil when there are fewer than two points.
  package init?(points: [Point], waypoints: [Waypoint] = []) {
    guard points.count >= 2 else { return nil }
    self.points = points
    self.waypoints = waypoints
  }
}
