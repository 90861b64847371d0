// SPDX-License-Identifier: Apache-2.0
package import Positioning
package import Timekeeping

/// A position as it is reported: what the filter let through, with its time settled.
package struct VehicleLocation: Hashable, Sendable {
  /// Degrees, WGS84.
  package var coordinate: Coordinate
  /// When the vehicle was there.
  package var time: Timestamp
  /// Metres above the WGS84 ellipsoid.
  package var altitude: Double?
  /// Metres per second.
  package var speed: Double?
  /// Degrees true, 0 up to but not 360.
  package var heading: Double?
  /// Metres, one sigma.
  package var horizontalAccuracy: Double?
  /// Metres.
  package var verticalAccuracy: Double?
  /// Metres per second.
  package var speedAccuracy: Double?
  /// Degrees.
  package var headingAccuracy: Double?

  package init(coordinate: Coordinate, time: Timestamp) {
    self.coordinate = coordinate
    self.time = time
  }

  /// - Parameter time: the fix's own time, or what the filter made of it.
  package init(_ fix: Fix, time: Timestamp) {
    self.init(coordinate: fix.coordinate, time: time)
    altitude = fix.altitudeHAE
    speed = fix.speed
    heading = fix.heading
    horizontalAccuracy = fix.horizontalAccuracy
    verticalAccuracy = fix.verticalAccuracy
    speedAccuracy = fix.speedAccuracy
    headingAccuracy = fix.headingAccuracy
  }
}
