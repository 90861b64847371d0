// SPDX-License-Identifier: Apache-2.0
import NMEA
import Positioning
import Timekeeping

/// The sentences that a receiver sends, written from the text of NMEA 0183. The daemon's own writer is only one of the
/// dialects, so that the tests notice a mistake shared by writer and decoder.
enum NMEADialect: CaseIterable, Sendable {
  /// RMC, GGA.
  case brief
  /// GGA, RMC.
  case dateLast
  /// RMC, VTG, GGA, GSA, GLL: the usual order of u-blox.
  case usual
  /// RMC, GGA, GSA, GST, VTG, by `NMEAWriter`.
  case own

  /// The sentences of one epoch.
  func epoch(of fix: Fix) -> [UInt8] {
    if self == .own {
      var writer = NMEAWriter()
      writer.append(fix)
      return writer.bytes
    }
    return [UInt8](unsafeUninitializedCapacity: 512) { buffer, count in
      guard let start = buffer.baseAddress else { return }
      var pen = Pen(start)
      switch self {
      case .brief, .own:
        pen.rmc(fix)
        pen.gga(fix)
      case .dateLast:
        pen.gga(fix)
        pen.rmc(fix)
      case .usual:
        pen.rmc(fix)
        pen.vtg(fix)
        pen.gga(fix)
        pen.gsa()
        pen.gll(fix)
      }
      count = pen.end - start
    }
  }

  /// The sentences of an epoch without a fix.
  func void(at stamp: Timestamp, isDated: Bool) -> [UInt8] {
    var writer = NMEAWriter()
    if self == .own, isDated {
      writer.appendVoid(at: stamp)
      return writer.bytes
    }
    return [UInt8](unsafeUninitializedCapacity: 512) { buffer, count in
      guard let start = buffer.baseAddress else { return }
      var pen = Pen(start)
      let time = isDated ? Fix.Time.utc(stamp) : .ofDay(milliseconds: stamp.millisecondsOfDay)
      pen.voidRMC(time)
      pen.voidGGA(time)
      count = pen.end - start
    }
  }
}

/// Writes sentences into a buffer that is large enough for an epoch; fast even without optimization.
private struct Pen {
  private(set) var end: UnsafeMutablePointer<UInt8>
  private var sentence: UnsafeMutablePointer<UInt8>

  init(_ start: UnsafeMutablePointer<UInt8>) {
    end = start
    sentence = start
  }

  mutating func rmc(_ fix: Fix) {
    open("$GPRMC,")
    time(fix.time)
    text(",A,")
    place(fix.coordinate)
    text(",")
    thousandths((fix.speed ?? 0) * 3600 / 1852)
    text(",")
    course(fix.heading ?? 0)
    text(",")
    date(fix.time)
    text(",,,A")
    close()
  }

  mutating func gga(_ fix: Fix) {
    open("$GPGGA,")
    time(fix.time)
    text(",")
    place(fix.coordinate)
    text(",1,11,0.80,515.0,M,45.0,M,,")
    close()
  }

  mutating func gll(_ fix: Fix) {
    open("$GPGLL,")
    place(fix.coordinate)
    text(",")
    time(fix.time)
    text(",A,A")
    close()
  }

  mutating func vtg(_ fix: Fix) {
    open("$GPVTG,")
    course(fix.heading ?? 0)
    text(",T,,M,")
    thousandths((fix.speed ?? 0) * 3600 / 1852)
    text(",N,")
    thousandths((fix.speed ?? 0) * 3.6)
    text(",K,A")
    close()
  }

  mutating func gsa() {
    open("$GPGSA,A,3,02,03,05,07,08,10,13,16,21,27,30,,1.50,0.80,1.27")
    close()
  }

  mutating func voidRMC(_ stamp: Fix.Time) {
    open("$GPRMC,")
    time(stamp)
    text(",V,,,,,,,")
    date(stamp)
    text(",,,N")
    close()
  }

  mutating func voidGGA(_ stamp: Fix.Time) {
    open("$GPGGA,")
    time(stamp)
    text(",,,,,0,00,99.99,,,,,,")
    close()
  }

  private mutating func open(_ start: StaticString) {
    sentence = end
    text(start)
  }

  private mutating func close() {
    var sum: UInt8 = 0
    var next = sentence + 1
    while next != end {
      sum ^= next.pointee
      next += 1
    }
    text("*")
    for nibble in [sum >> 4, sum & 15] {
      end.pointee = nibble < 10 ? 48 + nibble : 55 + nibble
      end += 1
    }
    text("\r\n")
  }

  private mutating func text(_ text: StaticString) {
    end.update(from: text.utf8Start, count: text.utf8CodeUnitCount)
    end += text.utf8CodeUnitCount
  }

  private mutating func digits(_ value: Int64, _ width: Int) {
    var rest = value
    var place = end + width
    while place != end {
      place -= 1
      place.pointee = 48 + UInt8(truncatingIfNeeded: rest % 10)
      rest /= 10
    }
    end += width
  }

  private mutating func time(_ time: Fix.Time?) {
    let ofDay: Int64
    switch time {
    case .utc(let stamp): ofDay = stamp.millisecondsOfDay
    case .ofDay(let milliseconds): ofDay = milliseconds
    case nil: return
    }
    digits(ofDay / 3_600_000 * 10_000 + ofDay / 60_000 % 60 * 100 + ofDay / 1000 % 60, 6)
    text(".")
    digits(ofDay % 1000 / 10, 2)
  }

  private mutating func date(_ time: Fix.Time?) {
    guard case .utc(let stamp) = time else { return }
    let date = stamp.date
    digits(Int64(date.day * 10_000 + date.month * 100 + date.year % 100), 6)
  }

  private mutating func place(_ coordinate: Coordinate) {
    angle(coordinate.latitude, 2)
    text(coordinate.latitude < 0 ? ",S," : ",N,")
    angle(coordinate.longitude, 3)
    text(coordinate.longitude < 0 ? ",W" : ",E")
  }

  private mutating func angle(_ degrees: Double, _ width: Int) {
    let units = Int64((degrees.magnitude * 6_000_000).rounded())
    digits(units / 6_000_000, width)
    digits(units % 6_000_000 / 100_000, 2)
    text(".")
    digits(units % 100_000, 5)
  }

  private mutating func course(_ degrees: Double) {
    let hundredths = Int64((degrees * 100).rounded()) % 36_000
    digits(hundredths / 100, 3)
    text(".")
    digits(hundredths % 100, 2)
  }

  private mutating func thousandths(_ value: Double) {
    let units = Int64((value * 1000).rounded())
    digits(units / 1000, units < 100_000 ? 2 : 3)
    text(".")
    digits(units % 1000, 3)
  }
}
