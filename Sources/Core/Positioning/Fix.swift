// SPDX-License-Identifier: Apache-2.0
package import Timekeeping

/// A position as reported by a receiver, a route or a recording. Unknown values are nil.
package struct Fix: Hashable, Sendable {
  /// Whether the altitude was computed too (NMEA GSA field 2, gpsd's `mode`).
  package enum Mode: Int, Sendable {
    case twoD = 2
    case threeD = 3
  }

  /// The kind of solution (NMEA 0183 GGA field 6 and the mode indicators of RMC, GNS, GLL).
  package enum Quality: String, Sendable, CaseIterable {
    case gnss
    case dgnss
    case rtkFixed = "rtk-fixed"
    case rtkFloat = "rtk-float"
    /// Dead reckoning.
    case estimated
    case simulated
  }

  /// The time of the position by the receiver's clock.
  package enum Time: Hashable, Sendable {
    case utc(Timestamp)
    /// Milliseconds since midnight UTC, without a date.
    case ofDay(milliseconds: Int64)
  }

  /// Nil if the receiver does not report one.
  package var time: Time?
  /// Degrees, WGS84.
  package var coordinate: Coordinate
  /// Metres above mean sea level.
  package var altitude: Double?
  /// Metres above the WGS84 ellipsoid.
  package var altitudeHAE: Double?
  /// Metres per second over ground, zero or more.
  package var speed: Double?
  /// Course over ground in degrees true, 0 up to but not including 360. Fleet Engine calls it heading.
  package var heading: Double?
  /// Three-dimensional unless the receiver reports otherwise.
  package var mode: Mode
  /// A plain GNSS solution unless the receiver reports otherwise.
  package var quality: Quality
  /// Satellites used, of all constellations.
  package var satellites: Int?
  /// Horizontal dilution of precision, dimensionless; smaller is better.
  package var hdop: Double?
  /// Metres, one sigma.
  package var horizontalAccuracy: Double?
  /// Whether `horizontalAccuracy` was only derived from HDOP.
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

  /// The horizontal accuracy that the receiver itself reports, in metres: it takes precedence over HDOP. Nil if it does
  /// not report one.
  package var reportedAccuracy: Double? { isAccuracyDerived ? nil : horizontalAccuracy }

  /// The horizontal accuracy in metres; for a receiver that does not report one, what the filter assumes.
  package var assumedAccuracy: Double { horizontalAccuracy ?? 15 }

  /// The time in UTC, if the date is known.
  package var timestamp: Timestamp? {
    if case .utc(let stamp) = time { return stamp }
    return nil
  }
}

extension Fix {
  /// A receiver's dilution of precision, or nil: 0, 99.9 and 99.99 mean that there is none.
  package static func validDilution(_ value: Double) -> Double? {
    value > 0 && value < 1e4 && !(99..<100).contains(value) ? value : nil
  }

  /// Estimates the horizontal accuracy from HDOP, for a receiver that reports none; nil without an HDOP, or if HDOP
  /// does not describe the error.
  package mutating func deriveAccuracy() {
    horizontalAccuracy = hdop.flatMap { hdop in quality.rangeError.map { hdop * $0 } }
    isAccuracyDerived = horizontalAccuracy != nil
  }
}

extension Fix.Quality {
  /// The usual range error (standard deviation) in metres of single-frequency receivers under an open sky, for
  /// receivers that report no accuracy. Nil if dilution of precision does not describe the error.
  package var rangeError: Double? {
    switch self {
    case .gnss: 5
    case .dgnss: 2
    case .rtkFloat: 0.5
    case .rtkFixed: 0.02
    case .estimated, .simulated: nil
    }
  }
}
