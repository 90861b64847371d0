// SPDX-License-Identifier: Apache-2.0
package import Timekeeping

/// One position of the vehicle as a receiver, a route or a recording told it. What is unknown is nil.
package struct Fix: Hashable, Sendable {
  /// Whether the height was solved for too (NMEA GSA field 2, gpsd's `mode`).
  package enum Mode: Int, Sendable {
    case twoD = 2
    case threeD = 3
  }

  /// How the position came about (NMEA 0183 GGA field 6 and the mode indicators of RMC, GNS, GLL).
  package enum Quality: String, Sendable, CaseIterable {
    case gnss
    case dgnss
    case rtkFixed = "rtk-fixed"
    case rtkFloat = "rtk-float"
    /// Dead reckoning.
    case estimated
    case simulated
  }

  /// When the position was true, by the receiver's clock.
  package enum Time: Hashable, Sendable {
    case utc(Timestamp)
    /// Milliseconds since midnight UTC: the receiver told no date.
    case ofDay(milliseconds: Int64)
  }

  /// Nil when the receiver reports none.
  package var time: Time?
  /// Degrees, WGS84.
  package var coordinate: Coordinate
  /// Metres above mean sea level.
  package var altitude: Double?
  /// Metres above the WGS84 ellipsoid.
  package var altitudeHAE: Double?
  /// Metres per second over ground, zero or more.
  package var speed: Double?
  /// Degrees true over ground, 0 up to but not 360.
  package var heading: Double?
  /// Three dimensions unless the receiver reports otherwise.
  package var mode: Mode
  /// A plain GNSS position unless the receiver reports otherwise.
  package var quality: Quality
  /// Satellites used, all constellations together.
  package var satellites: Int?
  /// Horizontal dilution of precision, without unit; smaller is better.
  package var hdop: Double?
  /// Metres, one sigma, as are the others in their own units.
  package var horizontalAccuracy: Double?
  /// Whether `horizontalAccuracy` is only what HDOP suggests.
  package var isAccuracyDerived = false
  /// Metres, one sigma.
  package var verticalAccuracy: Double?
  /// Metres per second.
  package var speedAccuracy: Double?
  /// Degrees.
  package var headingAccuracy: Double?

  package init(coordinate: Coordinate, time: Time? = nil, mode: Mode = .threeD, quality: Quality = .gnss) {
    self.coordinate = coordinate
    self.time = time
    self.mode = mode
    self.quality = quality
  }

  /// The horizontal accuracy that the receiver states itself, in metres: it outranks HDOP. Nil when it states none.
  package var statedAccuracy: Double? { isAccuracyDerived ? nil : horizontalAccuracy }

  /// The time in UTC when the date is known.
  package var timestamp: Timestamp? {
    if case .utc(let stamp) = time { return stamp }
    return nil
  }
}
