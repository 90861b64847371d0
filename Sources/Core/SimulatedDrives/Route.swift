// SPDX-License-Identifier: Apache-2.0
package import Positioning
package import Timekeeping

/// A polyline to drive along: two points or more.
package struct Route: Equatable, Sendable {
  /// The surroundings of a stretch of the route.
  package enum Surroundings: Equatable, Sendable {
    case open
    /// No satellites in view.
    case tunnel
    /// An urban canyon: few satellites, and multipath errors.
    case canyon
  }

  /// A vertex of the polyline.
  package struct Point: Equatable, Sendable {
    /// Degrees, WGS84.
    package var coordinate: Coordinate
    /// Metres above mean sea level.
    package var elevation: Double?
    /// The recorded time; nil if there is none.
    package var time: Timestamp?
    /// The surroundings from this point to the next.
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

  /// A named place near the route, or a stop.
  package struct Waypoint: Equatable, Sendable {
    package var name: String
    /// Degrees, WGS84.
    package var coordinate: Coordinate
    /// How long the vehicle stops at the nearest point of the route; nil: it does not stop.
    package var dwell: Duration?

    package init(name: String, coordinate: Coordinate, dwell: Duration? = nil) {
      self.name = name
      self.coordinate = coordinate
      self.dwell = dwell
    }
  }

  /// Two or more, in driving order.
  package let points: [Point]
  /// In file order.
  package let waypoints: [Waypoint]

  /// Nil for fewer than two points.
  package init?(points: [Point], waypoints: [Waypoint] = []) {
    guard points.count >= 2 else { return nil }
    self.points = points
    self.waypoints = waypoints
  }
}
