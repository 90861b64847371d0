// SPDX-License-Identifier: Apache-2.0
import NMEA
import Positioning

/// ModemManager's response to GetLocation: the last sentence of each kind, of unknown age.
package struct ModemPosition: Equatable, Sendable {
  /// The position as numbers, for a modem without sentences.
  package struct Raw: Equatable, Sendable {
    /// Time of day of UTC, as in `120000.00`.
    package var time: String
    /// Degrees.
    package var latitude: Double
    /// Degrees.
    package var longitude: Double
    /// Metres above mean sea level.
    package var altitude: Double?

    package init(time: String, latitude: Double, longitude: Double, altitude: Double? = nil) {
      self.time = time
      self.latitude = latitude
      self.longitude = longitude
      self.altitude = altitude
    }

    /// The accepted range, in metres; ModemManager reports the lowest possible number if there is no altitude.
    private static let altitudes = -1_000.0...20_000.0

    /// Nil without a fix, because the numbers are then out of range.
    var fix: Fix? {
      guard let coordinate = Coordinate(latitude: latitude, longitude: longitude), let timeOfDay else { return nil }
      var fix = Fix(
        coordinate: coordinate, time: .ofDay(milliseconds: timeOfDay), mode: altitude == nil ? .twoD : .threeD)
      fix.altitude = altitude.flatMap { Raw.altitudes.contains($0) ? $0 : nil }
      return fix
    }

    /// Milliseconds since midnight; nil if invalid.
    var timeOfDay: Int64? {
      let bytes = Array(time.utf8.prefix(32))
      var fields = NMEAFields(from: 0)
      return fields.timeOfDay(in: bytes.span)
    }
  }

  /// The sentences in any order; nil if not enabled.
  package var sentences: [UInt8]?
  /// Nil if not enabled.
  package var raw: Raw?

  package init(sentences: [UInt8]? = nil, raw: Raw? = nil) {
    self.sentences = sentences
    self.raw = raw
  }
}
