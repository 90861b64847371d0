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

  /// What no measurement lies outside of; neither does infinity or what is not a number lie inside.
  private enum Limits {
    static let altitude = -100_000.0...100_000
    static let speed = 0.0...10_000
    static let heading = 0.0..<360
    static let metres = 0.0...1_000_000
    static let degrees = 0.0...360
  }

  /// Values that no measurement can have are left out.
  ///
  /// - Parameter time: the fix's own time, or what the filter made of it.
  package init(_ fix: Fix, time: Timestamp) {
    self.init(coordinate: fix.coordinate, time: time)
    func value(_ value: Double?, _ limits: some RangeExpression<Double>) -> Double? {
      value.flatMap { limits.contains($0) ? $0 : nil }
    }
    altitude = value(fix.altitudeHAE, Limits.altitude)
    speed = value(fix.speed, Limits.speed)
    heading = value(fix.heading, Limits.heading)
    horizontalAccuracy = value(fix.horizontalAccuracy, Limits.metres)
    verticalAccuracy = value(fix.verticalAccuracy, Limits.metres)
    speedAccuracy = value(fix.speedAccuracy, Limits.speed)
    headingAccuracy = value(fix.headingAccuracy, Limits.degrees)
  }

  /// Whether every value is one that `init(_:time:)` can have made. Of one that was read from a file it need not be so.
  package var isPlausible: Bool {
    func holds(_ value: Double?, _ limits: some RangeExpression<Double>) -> Bool {
      value.map { limits.contains($0) } ?? true
    }
    return time.isInCalendar && holds(altitude, Limits.altitude) && holds(speed, Limits.speed)
      && holds(heading, Limits.heading) && holds(horizontalAccuracy, Limits.metres)
      && holds(verticalAccuracy, Limits.metres) && holds(speedAccuracy, Limits.speed)
      && holds(headingAccuracy, Limits.degrees)
  }
}
