// SPDX-License-Identifier: Apache-2.0
package import Positioning
import Timekeeping

/// A position that is sent to programs that monitor the positions: as the receiver reported it, once the filter has
/// accepted it.
package struct VehiclePosition: Equatable, Sendable, Codable {
  /// Degrees, WGS84.
  package var latitude: Double
  /// Degrees, WGS84.
  package var longitude: Double
  /// When the vehicle was there, as in RFC 3339.
  package var time: String
  /// Horizontal accuracy in metres, one sigma; nil if it is unknown.
  package var accuracy: Double?
  /// Metres per second; nil if it is unknown.
  package var speed: Double?
  /// Course over ground in degrees true; nil if it is unknown. At a standstill it is noise.
  package var course: Double?

  package init(
    latitude: Double, longitude: Double, time: String, accuracy: Double? = nil, speed: Double? = nil,
    course: Double? = nil
  ) {
    self.latitude = latitude
    self.longitude = longitude
    self.time = time
    self.accuracy = accuracy
    self.speed = speed
    self.course = course
  }
}

extension VehiclePosition {
  package init(_ accepted: FixFilter.Accepted) {
    let fix = accepted.fix
    self.init(
      latitude: fix.coordinate.latitude, longitude: fix.coordinate.longitude, time: accepted.time.canonicalJSON,
      accuracy: fix.horizontalAccuracy, speed: fix.speed, course: fix.heading)
  }
}
