// SPDX-License-Identifier: Apache-2.0

/// `google.protobuf.Timestamp` in JSON.
package enum RFC3339 {
  /// Reads `2026-11-21T09:00:00.25Z`, with `Z` or an offset, up to nine fractional digits, years 1 to 9999.
  ///
  /// - Returns: milliseconds since 1970, rounded down; nil if the text is not a valid time.
  package static func milliseconds(_ text: String) -> Int64? {
    var rest = Array(text.utf8)[...]
    func number(_ digits: Int) -> Int64? {
      guard rest.count >= digits, rest.prefix(digits).allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }) else { return nil }
      defer { rest = rest.dropFirst(digits) }
      return rest.prefix(digits).reduce(0) { $0 * 10 + Int64($1 - 0x30) }
    }
    func literal(_ byte: Unicode.Scalar) -> Bool {
      guard rest.first == UInt8(ascii: byte) else { return false }
      rest = rest.dropFirst()
      return true
    }
    guard let year = number(4), literal("-"), let month = number(2), literal("-"), let day = number(2), literal("T"),
      let hour = number(2), literal(":"), let minute = number(2), literal(":"), let second = number(2),
      year >= 1, (1...12).contains(month), day >= 1, day <= daysIn(month: month, year: year),
      hour < 24, minute < 60, second < 60
    else { return nil }
    var fraction: Int64 = 0
    if literal(".") {
      let digits = rest.prefix { $0 >= 0x30 && $0 <= 0x39 }
      guard (1...9).contains(digits.count) else { return nil }
      for place in 0..<3 {
        let index = digits.startIndex + place
        fraction = fraction * 10 + (index < digits.endIndex ? Int64(digits[index] - 0x30) : 0)
      }
      rest = rest.dropFirst(digits.count)
    }
    var offset: Int64 = 0
    if !literal("Z") {
      let east = literal("+")
      guard east || literal("-"), let hours = number(2), literal(":"), let minutes = number(2), hours < 24, minutes < 60
      else { return nil }
      offset = (hours * 60 + minutes) * (east ? 60 : -60)
    }
    guard rest.isEmpty else { return nil }
    let seconds = days(year: year, month: month, day: day) * 86_400 + hour * 3600 + minute * 60 + second - offset
    return seconds * 1000 + fraction
  }

  /// `2026-11-21T09:00:00.250Z`.
  package static func text(milliseconds: Int64) -> String {
    let (year, month, day) = date(milliseconds)
    return "\(pad(year, 4))-\(pad(month, 2))-\(pad(day, 2))T\(timeOfDay(milliseconds))Z"
  }

  /// `09:00:00.250`, UTC.
  package static func timeOfDay(_ milliseconds: Int64) -> String {
    let rest = milliseconds - floorDivide(milliseconds, 86_400_000) * 86_400_000
    let (hour, minute, second) = (rest / 3_600_000, rest / 60_000 % 60, rest / 1000 % 60)
    return "\(pad(hour, 2)):\(pad(minute, 2)):\(pad(second, 2)).\(pad(rest % 1000, 3))"
  }

  /// `Sat, 21 Nov 2026 09:00:00 GMT`, for HTTP (RFC 9110).
  package static func httpDate(_ milliseconds: Int64) -> String {
    let (year, month, day) = date(milliseconds)
    let weekdays = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"]
    let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
    let dayNumber = floorDivide(milliseconds, 86_400_000)
    let weekday = weekdays[Int(dayNumber - floorDivide(dayNumber, 7) * 7)]
    return
      "\(weekday), \(pad(day, 2)) \(months[Int(month) - 1]) \(pad(year, 4)) \(timeOfDay(milliseconds).prefix(8)) GMT"
  }

  private static func pad(_ value: Int64, _ width: Int) -> String {
    let text = String(value)
    return String(repeating: "0", count: max(0, width - text.count)) + text
  }

  private static func floorDivide(_ value: Int64, _ divisor: Int64) -> Int64 {
    value >= 0 ? value / divisor : -((divisor - 1 - value) / divisor)
  }

  private static func isLeap(_ year: Int64) -> Bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
  }

  private static func daysIn(month: Int64, year: Int64) -> Int64 {
    switch month {
    case 2: isLeap(year) ? 29 : 28
    case 4, 6, 9, 11: 30
    default: 31
    }
  }

  /// Days from 1970-01-01 to a date of the Gregorian calendar.
  private static func days(year: Int64, month: Int64, day: Int64) -> Int64 {
    let completeYears = year - 1
    let daysBeforeYear = completeYears * 365 + completeYears / 4 - completeYears / 100 + completeYears / 400 - 719_162
    return (1..<month).reduce(daysBeforeYear) { $0 + daysIn(month: $1, year: year) } + day - 1
  }

  private static func date(_ milliseconds: Int64) -> (year: Int64, month: Int64, day: Int64) {
    let day = floorDivide(milliseconds, 86_400_000)
    // In the years 1 to 9999, the estimate is at most 17 years early, and never late.
    var year = 1970 + floorDivide(day, day < 0 ? 365 : 366)
    while days(year: year + 1, month: 1, day: 1) <= day { year += 1 }
    var month: Int64 = 1
    while month < 12, days(year: year, month: month + 1, day: 1) <= day { month += 1 }
    return (year, month, day - days(year: year, month: month, day: 1) + 1)
  }
}
