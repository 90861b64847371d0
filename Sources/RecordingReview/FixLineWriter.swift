// SPDX-License-Identifier: Apache-2.0
package import Positioning
import Timekeeping

/// Writes fixes as JSON Lines: one object per line, members in fixed order, without nulls.
///
/// `time` (RFC 3339, milliseconds, UTC) or, without a date, `timeOfDay` (hh:mm:ss.sss, UTC); `latitude`, `longitude`
/// (degrees, up to 9 decimals); `altitude`, `altitudeHAE` (metres); `speed` (m/s); `heading` (degrees); `mode`;
/// `quality`; `satellites`; `hdop`; `horizontalAccuracy`, `verticalAccuracy` (metres), `speedAccuracy` (m/s),
/// `headingAccuracy` (degrees), one sigma; of a filtered fix `assumedAccuracy` (metres) and `verdict`; `source`.
package struct FixLineWriter {
  /// The lines written so far, in UTF-8, each with its line end. Consume them with `removeAll(keepingCapacity:)`.
  package var bytes: [UInt8] = []
  /// The member `source`, the closing brace and the line end.
  private let lineSuffix: [UInt8]

  /// - Parameter source: the kind of source, as in the settings: `serial`, `gpsd`, `simulated`, `replay`. Only
  ///   lower-case ASCII letters are written.
  package init(source: String) {
    let word = source.utf8.filter { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0) }
    lineSuffix = Array(",\"source\":\"".utf8) + word + Array("\"}\n".utf8)
  }

  /// Adds a line.
  package mutating func append(_ fix: Fix) {
    members(of: fix)
    bytes.append(contentsOf: lineSuffix)
  }

  /// Adds a line with the filter's result. It always has a `time`.
  package mutating func append(_ reviewed: RecordingReview.ReviewedFix) {
    var fix = reviewed.fix
    fix.time = .utc(reviewed.time)
    members(of: fix)
    member(",\"assumedAccuracy\":", reviewed.assumedAccuracy, decimals: 3)
    text(",\"verdict\":\"")
    text(reviewed.verdict)
    bytes.append(UInt8(ascii: "\""))
    bytes.append(contentsOf: lineSuffix)
  }

  private mutating func members(of fix: Fix) {
    bytes.append(UInt8(ascii: "{"))
    switch fix.time {
    case .utc(let stamp):
      text("\"time\":\"")
      text(stamp.rfc3339)
      text("\",")
    case .ofDay(let milliseconds):
      text("\"timeOfDay\":\"")
      timeOfDay(milliseconds)
      text("\",")
    case nil: break
    }
    text("\"latitude\":")
    number(fix.coordinate.latitude, decimals: 9)
    text(",\"longitude\":")
    number(fix.coordinate.longitude, decimals: 9)
    member(",\"altitude\":", fix.altitude, decimals: 3)
    member(",\"altitudeHAE\":", fix.altitudeHAE, decimals: 3)
    member(",\"speed\":", fix.speed, decimals: 3)
    member(",\"heading\":", fix.heading.map { $0 < 359.9995 ? $0 : 0 }, decimals: 3)
    text(",\"mode\":")
    integer(Int64(fix.mode.rawValue))
    text(",\"quality\":\"")
    text(fix.quality.rawValue)
    bytes.append(UInt8(ascii: "\""))
    if let satellites = fix.satellites {
      text(",\"satellites\":")
      integer(Int64(satellites))
    }
    member(",\"hdop\":", fix.hdop, decimals: 2)
    member(",\"horizontalAccuracy\":", fix.horizontalAccuracy, decimals: 3)
    member(",\"verticalAccuracy\":", fix.verticalAccuracy, decimals: 3)
    member(",\"speedAccuracy\":", fix.speedAccuracy, decimals: 3)
    member(",\"headingAccuracy\":", fix.headingAccuracy, decimals: 3)
  }

  private mutating func text(_ text: String) {
    bytes.append(contentsOf: text.utf8)
  }

  private mutating func member(_ name: String, _ value: Double?, decimals: Int) {
    // Values that are not finite, or too large for the format, are not measurements.
    guard let value, abs(value) < 1e9 else { return }
    text(name)
    number(value, decimals: decimals)
  }

  /// Rounded, without trailing zeros: 12.5 with three decimals is `12.5`. The value is less than 1e9.
  private mutating func number(_ value: Double, decimals: Int) {
    var unit: Int64 = 1
    for _ in 0..<decimals { unit *= 10 }
    guard let scaled = Int64(exactly: (value * Double(unit)).rounded()) else { return integer(0) }
    if scaled < 0 { bytes.append(UInt8(ascii: "-")) }
    let (whole, rest) = scaled.magnitude.quotientAndRemainder(dividingBy: unit.magnitude)
    integer(Int64(whole))
    guard rest > 0 else { return }
    bytes.append(UInt8(ascii: "."))
    var fraction = rest
    var weight = unit.magnitude / 10
    while fraction > 0 {
      bytes.append(UInt8(ascii: "0") + UInt8(fraction / weight))
      fraction %= weight
      weight = max(weight / 10, 1)
    }
  }

  private mutating func integer(_ value: Int64) {
    if value < 0 { bytes.append(UInt8(ascii: "-")) }
    let start = bytes.count
    var rest = value.magnitude
    repeat {
      bytes.append(UInt8(ascii: "0") + UInt8(rest % 10))
      rest /= 10
    } while rest > 0
    bytes[start...].reverse()
  }

  private mutating func timeOfDay(_ milliseconds: Int64) {
    // A leap second is written as 23:59:60.
    let second = min(max(milliseconds / 1000, 0), 86_400)
    let isLeap = second == 86_400
    twoDigits(isLeap ? 23 : second / 3600)
    bytes.append(UInt8(ascii: ":"))
    twoDigits(isLeap ? 59 : second / 60 % 60)
    bytes.append(UInt8(ascii: ":"))
    twoDigits(isLeap ? 60 : second % 60)
    bytes.append(UInt8(ascii: "."))
    let rest = max(milliseconds, 0) % 1000
    bytes.append(UInt8(ascii: "0") + UInt8(rest / 100))
    twoDigits(rest % 100)
  }

  private mutating func twoDigits(_ value: Int64) {
    bytes.append(UInt8(ascii: "0") + UInt8(value / 10 % 10))
    bytes.append(UInt8(ascii: "0") + UInt8(value % 10))
  }
}
