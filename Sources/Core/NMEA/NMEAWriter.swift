// SPDX-License-Identifier: Apache-2.0
package import Positioning
package import Timekeeping

/// Writes fixes as NMEA 0183 sentences (version 2.3): RMC, GGA, GSA, GST and VTG for each, with the talker GP.
///
/// The resolution is 2 cm for positions, 1 cm for altitudes and accuracies, a thousandth of a knot for speeds and a
/// hundredth of a degree for headings. Unknown values are empty fields. The satellite numbers in GSA are made up; there
/// are as many as the fix has, at most 12.
package struct NMEAWriter {
  /// The sentences written so far, each with its line end. Consume them with `removeAll(keepingCapacity:)`.
  package var bytes: [UInt8] = []
  /// The start of the current sentence.
  private var sentenceStart = 0

  package init() {}

  /// Writes the sentences of one fix.
  package mutating func append(_ fix: Fix) {
    let mode = NMEAWriter.modeIndicator(fix.quality)
    beginSentence("RMC")
    time(fix.time)
    text(",A,")
    position(fix.coordinate)
    text(",")
    number(fix.speed.map { $0 * 3600 / 1852 }, decimals: 3)
    text(",")
    heading(fix.heading)
    text(",")
    date(fix.timestamp)
    text(",,,")
    text(mode)
    endSentence()
    beginSentence("GGA")
    time(fix.time)
    text(",")
    position(fix.coordinate)
    text(",")
    digits(NMEAWriter.qualityIndicator(fix.quality), width: 1)
    text(",")
    if let satellites = fix.satellites { digits(Int64(min(max(satellites, 0), 99)), width: 2) }
    text(",")
    number(fix.hdop, decimals: 2)
    text(",")
    number(fix.altitude, decimals: 2)
    text(",M,")
    if let altitude = fix.altitude, let ellipsoidal = fix.altitudeHAE { number(ellipsoidal - altitude, decimals: 2) }
    text(",M,,")
    endSentence()
    appendGSA(fix)
    beginSentence("GST")
    time(fix.time)
    text(",,,,,")
    // The variance is split equally between north and east.
    for _ in 0..<2 {
      number(fix.horizontalAccuracy.map { $0 / 2.squareRoot() }, decimals: 2)
      text(",")
    }
    number(fix.verticalAccuracy, decimals: 2)
    endSentence()
    beginSentence("VTG")
    heading(fix.heading)
    text(",T,,M,")
    number(fix.speed.map { $0 * 3600 / 1852 }, decimals: 3)
    text(",N,")
    number(fix.speed.map { $0 * 3.6 }, decimals: 3)
    text(",K,")
    text(mode)
    endSentence()
  }

  /// Writes the sentences of a receiver without a fix.
  package mutating func appendVoid(at stamp: Timestamp) {
    beginSentence("RMC")
    time(.utc(stamp))
    text(",V,,,,,,,")
    date(stamp)
    text(",,,N")
    endSentence()
    beginSentence("GGA")
    time(.utc(stamp))
    text(",,,,,0,00,,,M,,M,,")
    endSentence()
    beginSentence("GSA")
    text("A,1,,,,,,,,,,,,,,,")
    endSentence()
    beginSentence("VTG")
    text(",T,,M,,N,,K,N")
    endSentence()
  }

  private mutating func appendGSA(_ fix: Fix) {
    beginSentence("GSA")
    text("A,")
    digits(Int64(fix.mode.rawValue), width: 1)
    for satellite in 1...12 {
      text(",")
      if satellite <= fix.satellites ?? 0 { digits(Int64(satellite), width: 2) }
    }
    // VDOP is usually about 1.6 times HDOP.
    text(",")
    number(fix.hdop.map { $0 * 1.9 }, decimals: 2)
    text(",")
    number(fix.hdop, decimals: 2)
    text(",")
    number(fix.hdop.map { $0 * 1.6 }, decimals: 2)
    endSentence()
  }

  private mutating func beginSentence(_ type: String) {
    sentenceStart = bytes.count
    text("$GP")
    text(type)
    text(",")
  }

  private mutating func endSentence() {
    let sum = bytes[sentenceStart...].dropFirst().reduce(0, ^)
    bytes.append(UInt8(ascii: "*"))
    for nibble in [sum >> 4, sum & 15] {
      bytes.append(nibble < 10 ? UInt8(ascii: "0") + nibble : UInt8(ascii: "A") + nibble - 10)
    }
    text("\r\n")
  }

  private mutating func text(_ text: String) {
    bytes.append(contentsOf: text.utf8)
  }

  private mutating func time(_ time: Fix.Time?) {
    let timeOfDay: Int64
    switch time {
    case .utc(let stamp): timeOfDay = stamp.millisecondsOfDay
    case .ofDay(let milliseconds): timeOfDay = min(max(milliseconds, 0), 86_399_999)
    case nil: return
    }
    digits(timeOfDay / 3_600_000, width: 2)
    digits(timeOfDay / 60_000 % 60, width: 2)
    digits(timeOfDay / 1000 % 60, width: 2)
    text(".")
    digits(timeOfDay % 1000, width: 3)
  }

  private mutating func date(_ stamp: Timestamp?) {
    guard let date = stamp?.date else { return }
    digits(Int64(date.day), width: 2)
    digits(Int64(date.month), width: 2)
    digits(Int64(date.year % 100), width: 2)
  }

  private mutating func position(_ coordinate: Coordinate) {
    angle(coordinate.latitude, width: 2)
    text(coordinate.latitude < 0 ? ",S," : ",N,")
    angle(coordinate.longitude, width: 3)
    text(coordinate.longitude < 0 ? ",W" : ",E")
  }

  /// Degrees and minutes with five decimals; rounded as one number, so that 59.999999 minutes become the next degree.
  private mutating func angle(_ degrees: Double, width: Int) {
    let units = Int64((degrees.magnitude * 6_000_000).rounded())
    digits(units / 6_000_000, width: width)
    digits(units % 6_000_000 / 100_000, width: 2)
    text(".")
    digits(units % 100_000, width: 5)
  }

  /// 359.996 is rounded to 0.
  private mutating func heading(_ degrees: Double?) {
    guard let degrees, degrees.magnitude <= 360 else { return }
    number(Double(Int64((degrees * 100).rounded()) % 36_000) / 100, decimals: 2)
  }

  /// Writes nothing if the value is not a valid measurement.
  private mutating func number(_ value: Double?, decimals: Int) {
    guard let value, value.magnitude < 1e9 else { return }
    var unit: Int64 = 1
    for _ in 0..<decimals { unit *= 10 }
    let scaled = Int64((value * Double(unit)).rounded())
    if scaled < 0 { text("-") }
    let (whole, rest) = scaled.magnitude.quotientAndRemainder(dividingBy: unit.magnitude)
    digits(Int64(whole), width: 1)
    text(".")
    digits(Int64(rest), width: decimals)
  }

  /// - Parameters:
  ///   - value: 0 or more.
  ///   - width: the minimum number of digits.
  private mutating func digits(_ value: Int64, width: Int) {
    let first = bytes.count
    var rest = value.magnitude
    repeat {
      bytes.append(UInt8(ascii: "0") + UInt8(rest % 10))
      rest /= 10
    } while rest > 0
    while bytes.count - first < width { bytes.append(UInt8(ascii: "0")) }
    bytes[first...].reverse()
  }

  /// The mode indicator of version 2.3.
  private static func modeIndicator(_ quality: Fix.Quality) -> String {
    switch quality {
    case .gnss: "A"
    case .dgnss: "D"
    case .rtkFixed: "R"
    case .rtkFloat: "F"
    case .estimated: "E"
    case .simulated: "S"
    }
  }

  /// GGA field 6.
  private static func qualityIndicator(_ quality: Fix.Quality) -> Int64 {
    switch quality {
    case .gnss: 1
    case .dgnss: 2
    case .rtkFixed: 4
    case .rtkFloat: 5
    case .estimated: 6
    case .simulated: 8
    }
  }
}
