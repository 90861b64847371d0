// SPDX-License-Identifier: Apache-2.0
import Timekeeping

/// Numbers with a unit: "10s", "1h 30min", "25 m", "50 km/h", "16 MB".
enum Quantity {
  /// The units of one quantity, and their factors to its base unit.
  struct Units: Sendable {
    /// The name of the quantity, such as "duration".
    let noun: String
    /// The units to name in an error.
    let suggested: String
    let factors: [String: Double]
    /// Whether several terms are added, such as "1h 30min".
    let allowsCompound: Bool
    /// Hints for common wrong units, by their name.
    var hints: [String: String] = [:]
  }

  static let durations = Units(
    noun: "duration", suggested: "ms, s, min, h or days",
    factors: [
      "ms": 0.001, "s": 1, "sec": 1, "second": 1, "seconds": 1, "min": 60, "minute": 60, "minutes": 60, "h": 3600,
      "hour": 3600, "hours": 3600, "d": 86_400, "day": 86_400, "days": 86_400,
    ], allowsCompound: true, hints: ["m": "write min for minutes"])

  static let distances = Units(
    noun: "distance", suggested: "m or km",
    factors: ["m": 1, "km": 1000, "ft": 0.3048, "mi": 1609.344], allowsCompound: false)

  static let speeds = Units(
    noun: "speed", suggested: "km/h, m/s or mph",
    factors: ["m/s": 1, "km/h": 1 / 3.6, "mph": 0.44704, "kn": 1852.0 / 3600], allowsCompound: false,
    hints: ["kmh": "write km/h", "kph": "write km/h"])

  static let accelerations = Units(
    noun: "acceleration", suggested: "m/s² or g",
    factors: ["m/s²": 1, "m/s2": 1, "m/s^2": 1, "g": 9.80665], allowsCompound: false)

  static let sizes = Units(
    noun: "size", suggested: "kB, MB or GB",
    factors: ["B": 1, "kB": 1e3, "MB": 1e6, "GB": 1e9, "KiB": 1024, "MiB": 1_048_576, "GiB": 1_073_741_824],
    allowsCompound: false, hints: ["KB": "write kB", "mb": "write MB"])

  /// The value in the base unit (seconds, metres, metres per second, bytes): finite, zero or more.
  static func parse(_ text: String, as units: Units) throws(ValueProblem) -> Double {
    var rest = Substring(text).utf8
    var total = 0.0
    var terms = 0
    while true {
      skipSpaces(&rest)
      if rest.isEmpty, terms > 0 { return total }
      guard let number = number(&rest) else {
        throw ValueProblem(message: "\"\(text.printable)\" is not a \(units.noun); a number and a unit are expected")
      }
      skipSpaces(&rest)
      let name = unit(&rest, endsAtDigit: units.allowsCompound)
      guard let factor = units.factors[name] else {
        if name.isEmpty { throw ValueProblem(message: "\"\(text.printable)\" lacks its unit: \(units.suggested)") }
        let hint = units.hints[name] ?? "the units are \(units.suggested)"
        throw ValueProblem(message: "\"\(name.printable)\" is not a unit of \(units.noun); \(hint)")
      }
      total += number * factor
      terms += 1
      // Larger values are mistakes, and do not fit into a Duration or an Int64 of nanoseconds.
      guard total <= 1e12 else { throw ValueProblem(message: "\"\(text.printable)\" is too large") }
      if !units.allowsCompound, !rest.isEmpty {
        throw ValueProblem(message: "\"\(text.printable)\" is more than one \(units.noun)")
      }
    }
  }

  /// A duration to the nanosecond, at most 100 years.
  static func duration(_ text: String) throws(ValueProblem) -> Duration {
    let seconds = try parse(text, as: durations)
    guard seconds <= 3_155_760_000 else { throw ValueProblem(message: "\"\(text.printable)\" is too large") }
    return .nanoseconds(Int64((seconds * 1e9).rounded()))
  }

  /// As in a settings file, in the largest unit without a fraction.
  static func text(_ duration: Duration) -> String {
    let milliseconds = duration.nanoseconds / 1_000_000
    if milliseconds == 0 { return "0s" }
    if milliseconds % 86_400_000 == 0 {
      return milliseconds == 86_400_000 ? "1 day" : "\(milliseconds / 86_400_000) days"
    }
    if milliseconds % 3_600_000 == 0 { return "\(milliseconds / 3_600_000)h" }
    if milliseconds % 60_000 == 0 { return "\(milliseconds / 60_000)min" }
    if milliseconds % 1000 == 0 { return "\(milliseconds / 1000)s" }
    return "\(milliseconds)ms"
  }

  /// A size as in a settings file.
  static func text(bytes: Int64) -> String {
    if bytes >= 1_000_000_000 { return "\(bytes / 1_000_000_000) GB" }
    return bytes >= 1_000_000 ? "\(bytes / 1_000_000) MB" : "\(bytes / 1000) kB"
  }

  private static func skipSpaces(_ rest: inout Substring.UTF8View) {
    while rest.first == UInt8(ascii: " ") { rest.removeFirst() }
  }

  /// Digits with at most one point between them; no sign, no exponent, nothing else that `Double` would parse.
  private static func number(_ rest: inout Substring.UTF8View) -> Double? {
    let digits = rest.prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) || $0 == UInt8(ascii: ".") }
    guard let text = String(digits), text.utf8.count <= 32, text.first != ".", text.last != ".",
      let number = Double(text)
    else { return nil }
    rest.removeFirst(digits.count)
    return number
  }

  /// - Parameter endsAtDigit: "1h30min" is two terms; "m/s2" is one unit.
  private static func unit(_ rest: inout Substring.UTF8View, endsAtDigit: Bool) -> String {
    let name = rest.prefix { byte in
      byte != UInt8(ascii: " ") && !(endsAtDigit && (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte))
    }
    rest.removeFirst(name.count)
    return String(Substring(name))
  }
}
