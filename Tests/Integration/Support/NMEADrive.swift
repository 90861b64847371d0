// SPDX-License-Identifier: Apache-2.0
import Foundation

/// The NMEA 0183 sentences of a synthetic drive.
struct NMEADrive {
  /// The position and its time.
  private(set) var latitude = 48.1
  var longitude = 11.5
  private(set) var date: Date
  /// Seconds between positions.
  var period = 1.0
  /// Degrees of latitude between positions, enough for the daemon to detect motion.
  var step = 0.000_1

  /// - Parameter date: the time of the first position.
  init(from date: Date = Date()) {
    // Rounded to tenths of a second, so that the sentences have the exact time.
    self.date = Date(timeIntervalSince1970: (date.timeIntervalSince1970 * 10).rounded() / 10)
  }

  /// RMC and GGA of the next position.
  mutating func next() -> String {
    defer {
      latitude += step
      date += period
    }
    let place = "\(NMEADrive.angle(latitude, 2)),N,\(NMEADrive.angle(longitude, 3)),E"
    let time = NMEADrive.text("HHmmss.SS", date)
    let knots = String(format: "%.1f", step * 111_320 / period * 1.943_844)
    return NMEADrive.sentence("GPRMC,\(time),A,\(place),\(knots),0.0,\(NMEADrive.text("ddMMyy", date)),,,A")
      + NMEADrive.sentence("GPGGA,\(time),\(place),1,09,0.9,520.0,M,47.0,M,,")
  }

  mutating func next(_ count: Int) -> String {
    (0..<count).map { _ in next() }.joined()
  }

  static func sentence(_ content: String) -> String {
    "$\(content)*\(String(format: "%02X", content.utf8.reduce(0, ^)))\r\n"
  }

  private static func angle(_ degrees: Double, _ digits: Int) -> String {
    String(format: "%0\(digits)d%010.7f", Int(degrees), (degrees - degrees.rounded(.down)) * 60)
  }

  private static func text(_ format: String, _ date: Date) -> String {
    let formatter = DateFormatter()
    formatter.locale = Locale(identifier: "en_US_POSIX")
    formatter.timeZone = TimeZone(secondsFromGMT: 0)
    formatter.dateFormat = format
    return formatter.string(from: date)
  }
}
