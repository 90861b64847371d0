// SPDX-License-Identifier: Apache-2.0

/// A point on the WGS84 ellipsoid.
package struct Coordinate: Hashable, Sendable {
  /// Degrees, north positive, -90 to 90.
  package let latitude: Double
  /// Degrees, east positive, -180 to 180.
  package let longitude: Double

  /// Nil if either is out of range or not a number.
  package init?(latitude: Double, longitude: Double) {
    guard (-90...90).contains(latitude), (-180...180).contains(longitude) else { return nil }
    self.latitude = latitude
    self.longitude = longitude
  }
}
