// SPDX-License-Identifier: Apache-2.0

extension Timestamp {
  /// RFC 3339 in UTC with milliseconds, as in `2026-11-21T08:30:00.250Z`.
  package var rfc3339: String { rfc3339(fractionDigits: 3) }

  /// The JSON form of a protobuf `Timestamp`: no fraction for whole seconds, otherwise three digits.
  package var canonicalJSON: String { rfc3339(fractionDigits: canonicalDigits) }

  /// Writes ``canonicalJSON``, without quotation marks.
  package func appendCanonicalJSON(to text: inout [UInt8]) {
    appendRFC3339(fractionDigits: canonicalDigits, to: &text)
  }

  private var canonicalDigits: Int { milliseconds % 1000 == 0 ? 0 : 3 }

  private func rfc3339(fractionDigits: Int) -> String {
    var text = [UInt8]()
    text.reserveCapacity(24)
    appendRFC3339(fractionDigits: fractionDigits, to: &text)
    return String(decoding: text, as: UTF8.self)
  }

  private func appendRFC3339(fractionDigits: Int, to text: inout [UInt8]) {
    func append(_ value: Int64, width: Int) {
      var divisor: Int64 = 1
      for _ in 1..<width { divisor *= 10 }
      while divisor > 0 {
        text.append(UInt8(ascii: "0") + UInt8(value / divisor % 10))
        divisor /= 10
      }
    }
    let date = date
    let timeOfDay = millisecondsOfDay
    append(Int64(date.year), width: 4)
    text.append(UInt8(ascii: "-"))
    append(Int64(date.month), width: 2)
    text.append(UInt8(ascii: "-"))
    append(Int64(date.day), width: 2)
    text.append(UInt8(ascii: "T"))
    append(timeOfDay / 3_600_000, width: 2)
    text.append(UInt8(ascii: ":"))
    append(timeOfDay / 60_000 % 60, width: 2)
    text.append(UInt8(ascii: ":"))
    append(timeOfDay / 1000 % 60, width: 2)
    if fractionDigits == 3 {
      text.append(UInt8(ascii: "."))
      append(timeOfDay % 1000, width: 3)
    }
    text.append(UInt8(ascii: "Z"))
  }

  /// Parses RFC 3339 with any offset and any number of fraction digits (truncated to milliseconds).
  ///
  /// Nil for anything else, such as local times or dates without a time. A leap second becomes the next second.
  package init?(rfc3339 text: String) {
    var reader = Reader(text)
    guard let year = reader.number(width: 4), reader.skip("-"), let month = reader.number(width: 2),
      reader.skip("-"), let day = reader.number(width: 2), reader.skip("T") || reader.skip("t") || reader.skip(" "),
      let date = CivilDate(year: year, month: month, day: day), let hour = reader.number(width: 2), hour < 24,
      reader.skip(":"), let minute = reader.number(width: 2), minute < 60, reader.skip(":"),
      let second = reader.number(width: 2), second <= 60
    else { return nil }
    var timeOfDay = Int64(((hour * 60 + minute) * 60 + second) * 1000)
    if reader.skip(".") {
      guard let fraction = reader.fraction() else { return nil }
      timeOfDay += fraction
    }
    if reader.skip("Z") || reader.skip("z") {
      guard reader.isAtEnd else { return nil }
    } else {
      let sign: Int64
      if reader.skip("+") {
        sign = 1
      } else if reader.skip("-") {
        sign = -1
      } else {
        return nil
      }
      guard let hours = reader.number(width: 2), hours < 24, reader.skip(":"), let minutes = reader.number(width: 2),
        minutes < 60, reader.isAtEnd
      else { return nil }
      timeOfDay -= sign * Int64((hours * 60 + minutes) * 60_000)
    }
    self.init(date, millisecondsOfDay: timeOfDay)
  }

  /// Parses the preferred date format of HTTP (RFC 9110, section 5.6.7), as in `Sat, 21 Nov 2026 08:30:00 GMT`. Nil for
  /// the obsolete formats, which current servers do not send.
  package init?(httpDate text: String) {
    var reader = Reader(text)
    guard reader.word() != nil, reader.skip(","), reader.skip(" "), let day = reader.number(width: 2),
      reader.skip(" "), let month = reader.month(), reader.skip(" "),
      let year = reader.number(width: 4), reader.skip(" "), let hour = reader.number(width: 2), hour < 24,
      reader.skip(":"), let minute = reader.number(width: 2), minute < 60, reader.skip(":"),
      let second = reader.number(width: 2), second <= 60, reader.skip(" "), reader.skip("G"), reader.skip("M"),
      reader.skip("T"), reader.isAtEnd, let date = CivilDate(year: year, month: month, day: day)
    else { return nil }
    self.init(date, millisecondsOfDay: Int64(((hour * 60 + minute) * 60 + second) * 1000))
  }

  /// Reads fixed-width text from left to right.
  private struct Reader {
    private let bytes: [UInt8]
    private var next = 0

    init(_ text: String) { bytes = Array(text.utf8) }

    var isAtEnd: Bool { next == bytes.count }

    private var digit: UInt8? {
      guard next < bytes.count, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(bytes[next]) else { return nil }
      return bytes[next] - UInt8(ascii: "0")
    }

    mutating func skip(_ character: Unicode.Scalar) -> Bool {
      guard next < bytes.count, UInt32(bytes[next]) == character.value else { return false }
      next += 1
      return true
    }

    mutating func number(width: Int) -> Int? {
      var value = 0
      for _ in 0..<width {
        guard let digit else { return nil }
        value = value * 10 + Int(digit)
        next += 1
      }
      return value
    }

    mutating func fraction() -> Int64? {
      var milliseconds: Int64 = 0
      var weight: Int64 = 100
      var hasDigits = false
      while let digit {
        milliseconds += weight * Int64(digit)
        weight /= 10
        hasDigits = true
        next += 1
      }
      return hasDigits ? milliseconds : nil
    }

    /// The next three characters, packed into a number.
    mutating func word() -> UInt32? {
      guard bytes.count - next >= 3 else { return nil }
      defer { next += 3 }
      return Reader.word(bytes[next], bytes[next + 1], bytes[next + 2])
    }

    private static func word(_ first: UInt8, _ second: UInt8, _ third: UInt8) -> UInt32 {
      UInt32(first) << 16 | UInt32(second) << 8 | UInt32(third)
    }

    private static let months: [UInt32] = {
      let names = Array("JanFebMarAprMayJunJulAugSepOctNovDec".utf8)
      return stride(from: 0, to: names.count, by: 3).map { word(names[$0], names[$0 + 1], names[$0 + 2]) }
    }()

    /// 1 to 12, from the English abbreviation.
    mutating func month() -> Int? { word().flatMap { Reader.months.firstIndex(of: $0) }.map { $0 + 1 } }
  }
}
