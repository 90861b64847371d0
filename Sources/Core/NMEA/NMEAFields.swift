// SPDX-License-Identifier: Apache-2.0
import Positioning
import Timekeeping

/// Reads the fields of one sentence from left to right, each once. An empty, missing or invalid field is nil.
package struct NMEAFields {
  private var position: Int
  /// Whether a time or an angle was invalid: then the whole sentence is rejected.
  private(set) var isMalformed = false

  /// - Parameter position: the index of the first field's first byte.
  package init(from position: Int) {
    self.position = position
  }

  /// Whether all fields were read.
  func isAtEnd(of line: Span<UInt8>) -> Bool { position > line.count }

  /// Skips fields.
  mutating func skip(_ count: Int = 1, in line: Span<UInt8>) {
    for _ in 0..<count {
      while position < line.count, line[position] != UInt8(ascii: ",") { position += 1 }
      position += 1
    }
  }

  /// The field's first byte.
  mutating func letter(in line: Span<UInt8>) -> UInt8? {
    guard position < line.count, line[position] != UInt8(ascii: ",") else {
      position += 1
      return nil
    }
    let letter = line[position]
    skip(in: line)
    return letter
  }

  /// Calls `body` with each byte of the field.
  mutating func letters(in line: Span<UInt8>, _ body: (UInt8) -> Void) {
    while position < line.count, line[position] != UInt8(ascii: ",") {
      body(line[position])
      position += 1
    }
    position += 1
  }

  mutating func number(in line: Span<UInt8>) -> Double? {
    decimal(in: line)?.value
  }

  /// An unsigned integer.
  mutating func integer(in line: Span<UInt8>) -> Int? {
    guard let decimal = decimal(in: line) else { return nil }
    return decimal.scale == 0 && decimal.mantissa >= 0 ? Int(decimal.mantissa) : nil
  }

  /// hhmmss.sss as milliseconds since midnight, truncated to the millisecond. A leap second counts as the first second
  /// of the next minute.
  package mutating func timeOfDay(in line: Span<UInt8>) -> Int64? {
    let start = position
    guard let decimal = decimal(in: line) else {
      if position - start > 1 { isMalformed = true }
      return nil
    }
    let (whole, fraction) = decimal.mantissa.quotientAndRemainder(dividingBy: decimal.unit)
    let (hour, minute, second) = (whole / 10_000, whole / 100 % 100, whole % 100)
    guard decimal.mantissa >= 0, hour < 24, minute < 60, second <= 60 else {
      isMalformed = true
      return nil
    }
    let milliseconds = decimal.scale <= 3 ? fraction * (1000 / decimal.unit) : fraction / (decimal.unit / 1000)
    return ((hour * 60 + minute) * 60 + second) * 1000 + milliseconds
  }

  /// ddmmyy.
  mutating func shortDate(in line: Span<UInt8>) -> CivilDate? {
    guard let value = integer(in: line) else { return nil }
    return CivilDate(year: NMEAFields.year(value % 100), month: value / 100 % 100, day: value / 10_000)
  }

  /// A year with its century. Years 80 to 99 are of the 20th century: GPS time begins in 1980.
  static func year(_ number: Int) -> Int {
    switch number {
    case 0..<80: 2000 + number
    case 80..<100: 1900 + number
    default: number
    }
  }

  /// Two fields: [d]ddmm.mmm and the hemisphere. Returns degrees, and the number of decimals of the minutes.
  mutating func angle(
    in line: Span<UInt8>, positive: UInt8, negative: UInt8
  ) -> (degrees: Double, decimals: Int)? {
    let start = position
    let decimal = decimal(in: line)
    if decimal == nil, position - start > 1 { isMalformed = true }
    let hemisphere = letter(in: line)
    guard let decimal, let hemisphere else { return nil }
    let (degrees, minutes) = decimal.mantissa.quotientAndRemainder(dividingBy: 100 * decimal.unit)
    guard decimal.mantissa >= 0, minutes < 60 * decimal.unit, hemisphere == positive || hemisphere == negative else {
      isMalformed = true
      return nil
    }
    let angle = Double(degrees) + Double(minutes) / Double(60 * decimal.unit)
    // 0 minus 0 is 0, but -0 would be printed with its sign.
    return (hemisphere == positive ? angle : 0 - angle, decimal.scale)
  }

  /// Four fields: latitude, N or S, longitude, E or W.
  mutating func position(in line: Span<UInt8>) -> NMEAPosition? {
    let latitude = angle(in: line, positive: UInt8(ascii: "N"), negative: UInt8(ascii: "S"))
    let longitude = angle(in: line, positive: UInt8(ascii: "E"), negative: UInt8(ascii: "W"))
    guard let latitude, let longitude else { return nil }
    guard let coordinate = Coordinate(latitude: latitude.degrees, longitude: longitude.degrees) else {
      isMalformed = true
      return nil
    }
    return NMEAPosition(coordinate: coordinate, decimals: min(latitude.decimals, longitude.decimals))
  }

  private struct Decimal {
    var mantissa: Int64
    /// Number of decimals.
    var scale: Int
    /// Ten to the power of `scale`.
    var unit: Int64

    var value: Double { Double(mantissa) / Double(unit) }
  }

  /// Digits with at most one point and one sign. Decimals after the 15th digit are ignored; an integer part of more
  /// than 15 digits is invalid.
  private mutating func decimal(in line: Span<UInt8>) -> Decimal? {
    var mantissa: Int64 = 0
    var digits = 0
    var scale = 0
    var unit: Int64 = 1
    var hasPoint = false
    var isNegative = false
    var isNumber = true
    let start = position
    while position < line.count {
      let byte = line[position]
      if byte >= UInt8(ascii: "0"), byte <= UInt8(ascii: "9") {
        if digits < 15 {
          mantissa = mantissa &* 10 &+ Int64(truncatingIfNeeded: byte &- UInt8(ascii: "0"))
          digits &+= mantissa == 0 ? 0 : 1
          if hasPoint, scale < 15 {
            scale &+= 1
            unit &*= 10
          }
        } else if !hasPoint {
          isNumber = false
        }
      } else if byte == UInt8(ascii: ",") {
        break
      } else if byte == UInt8(ascii: "."), !hasPoint {
        hasPoint = true
      } else if byte == UInt8(ascii: "-") || byte == UInt8(ascii: "+"), position == start {
        isNegative = byte == UInt8(ascii: "-")
      } else if byte != UInt8(ascii: " ") {
        isNumber = false
      }
      position &+= 1
    }
    let length = position - start
    position &+= 1
    guard length > 0 else { return nil }
    guard isNumber, length > (hasPoint ? 1 : 0) + (isNegative ? 1 : 0) else { return nil }
    return Decimal(mantissa: isNegative ? 0 - mantissa : mantissa, scale: scale, unit: unit)
  }
}

/// A position and its resolution.
struct NMEAPosition {
  var coordinate: Coordinate
  /// Decimals of the minutes: four are 0.2 m, five 2 cm.
  var decimals: Int
}
