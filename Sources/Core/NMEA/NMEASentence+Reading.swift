// SPDX-License-Identifier: Apache-2.0
import Positioning
import Timekeeping

extension NMEASentence {
  /// Parses a sentence.
  ///
  /// - Parameter line: from `$` to the checksum, which is valid; four bytes or more.
  package static func read(_ line: Span<UInt8>) -> NMEASentence {
    guard line.count > 9 else { return .unknown }
    let line = line.extracting(0..<line.count - 3)
    // A talker of two letters and a type of three; `P` begins proprietary sentences.
    guard line[1] != UInt8(ascii: "P") else { return readProprietary(line) }
    guard line[6] == UInt8(ascii: ",") else { return .unknown }
    var fields = NMEAFields(from: 7)
    let sentence: NMEASentence
    switch type(line) {
    case pack("R", "M", "C"): sentence = .position(rmc(line, &fields))
    case pack("G", "G", "A"): sentence = .position(gga(line, &fields))
    case pack("G", "N", "S"): sentence = .position(gns(line, &fields))
    case pack("G", "L", "L"): sentence = .position(gll(line, &fields))
    case pack("V", "T", "G"): sentence = .motion(vtg(line, &fields))
    case pack("G", "S", "A"): sentence = .satellites(gsa(line, &fields))
    case pack("G", "S", "T"): sentence = .errors(gst(line, &fields))
    case pack("G", "S", "V"): sentence = gsv(line, &fields)
    case pack("Z", "D", "A"):
      sentence = zda(line, &fields)
    default: return .unknown
    }
    return fields.isMalformed ? .unusable : sentence
  }

  /// The proprietary sentences with a receiver's accuracy.
  private static func readProprietary(_ line: Span<UInt8>) -> NMEASentence {
    let vendor = UInt32(line[1]) << 8 | UInt32(line[2])
    let report: ErrorReport?
    var fields: NMEAFields
    switch (vendor, type(line)) {
    case (vendorGarmin, pack("R", "M", "E")) where line[6] == UInt8(ascii: ","):
      fields = NMEAFields(from: 7)
      report = pgrme(line, &fields)
    case (vendorUBX, pack("B", "X", ",")) where line.count > 8 && line[6] == UInt8(ascii: "0") && line[7] == line[6]:
      fields = NMEAFields(from: 6)
      fields.skip(in: line)
      report = pubx(line, &fields)
    case (vendorQuectel, pack("T", "M", "E"))
    where line.count > 8 && line[6] == UInt8(ascii: "P") && line[7] == UInt8(ascii: "E") && line[8] == UInt8(ascii: ","):
      fields = NMEAFields(from: 9)
      report = pqtmepe(line, &fields)
    default: return .unknown
    }
    guard !fields.isMalformed else { return .unusable }
    return report.map { .errors($0) } ?? .unknown
  }

  private static let vendorGarmin = UInt32(UInt8(ascii: "P")) << 8 | UInt32(UInt8(ascii: "G"))
  private static let vendorUBX = UInt32(UInt8(ascii: "P")) << 8 | UInt32(UInt8(ascii: "U"))
  private static let vendorQuectel = UInt32(UInt8(ascii: "P")) << 8 | UInt32(UInt8(ascii: "Q"))

  /// Garmin: horizontal error, M, vertical error, M, spherical error, M. Garmin does not document the confidence. Nil
  /// if the errors are missing.
  private static func pgrme(_ line: Span<UInt8>, _ fields: inout NMEAFields) -> ErrorReport? {
    var report = ErrorReport()
    report.horizontal = fields.number(in: line).flatMap(deviation)
    fields.skip(in: line)
    report.vertical = fields.number(in: line).flatMap(deviation)
    return report.horizontal == nil && report.vertical == nil ? nil : report
  }

  /// u-blox: time, latitude, N/S, longitude, E/W, altitude, status, horizontal accuracy, vertical accuracy, … Nil
  /// without a fix, when the accuracy is meaningless.
  private static func pubx(_ line: Span<UInt8>, _ fields: inout NMEAFields) -> ErrorReport? {
    var report = ErrorReport()
    report.time = fields.timeOfDay(in: line)
    fields.skip(5, in: line)
    // NF: no fix.
    guard let status = fields.letter(in: line), status != UInt8(ascii: "N") else { return nil }
    report.horizontal = fields.number(in: line).flatMap(deviation)
    report.vertical = fields.number(in: line).flatMap(deviation)
    return report
  }

  /// Quectel: version, errors to the north, the east and downwards, in two and in three dimensions. Quectel does not
  /// document the confidence. Nil if the errors are missing.
  private static func pqtmepe(_ line: Span<UInt8>, _ fields: inout NMEAFields) -> ErrorReport? {
    var report = ErrorReport()
    fields.skip(3, in: line)
    report.vertical = fields.number(in: line).flatMap(deviation)
    report.horizontal = fields.number(in: line).flatMap(deviation)
    return report.horizontal == nil && report.vertical == nil ? nil : report
  }

  /// Talker and type as one number, which identifies the kind of sentence.
  package static func address(_ line: Span<UInt8>) -> UInt64 {
    guard line.count > 5 else { return 0 }
    return UInt64(line[1]) << 32 | UInt64(line[2]) << 24 | UInt64(type(line))
  }

  private static func type(_ line: Span<UInt8>) -> UInt32 {
    UInt32(line[3]) << 16 | UInt32(line[4]) << 8 | UInt32(line[5])
  }

  private static func pack(_ first: Unicode.Scalar, _ second: Unicode.Scalar, _ third: Unicode.Scalar) -> UInt32 {
    first.value << 16 | second.value << 8 | third.value
  }

  /// Time, status, latitude, N/S, longitude, E/W, knots, course, date, variation, E/W, mode (2.3), navigational status
  /// (4.1).
  private static func rmc(_ line: Span<UInt8>, _ fields: inout NMEAFields) -> PositionReport {
    var report = PositionReport(kind: .rmc)
    report.time = fields.timeOfDay(in: line)
    let status = fields.letter(in: line)
    report.position = fields.position(in: line)
    report.motion.speed = fields.number(in: line).flatMap(metresPerSecond(knots:))
    report.motion.heading = fields.number(in: line).flatMap(heading)
    report.date = fields.shortDate(in: line)
    fields.skip(2, in: line)
    let mode = fields.letter(in: line)
    report.validity = validity(status: status, mode: mode)
    report.quality = mode.flatMap(quality(mode:))
    return report
  }

  /// Time, latitude, N/S, longitude, E/W, quality, satellites, HDOP, altitude, M, geoid separation, M, age, station.
  private static func gga(_ line: Span<UInt8>, _ fields: inout NMEAFields) -> PositionReport {
    var report = PositionReport(kind: .gga)
    report.time = fields.timeOfDay(in: line)
    report.position = fields.position(in: line)
    if let number = fields.integer(in: line) {
      report.validity = number == 0 ? .void : .valid
      report.quality = quality(number: number)
    }
    report.satellites = fields.integer(in: line)
    report.hdop = fields.number(in: line).flatMap(Fix.validDilution)
    report.altitude = fields.number(in: line)
    fields.skip(in: line)
    report.geoidSeparation = fields.number(in: line)
    return report
  }

  /// Time, latitude, N/S, longitude, E/W, a mode for each constellation, satellites, HDOP, altitude, geoid separation,
  /// …
  private static func gns(_ line: Span<UInt8>, _ fields: inout NMEAFields) -> PositionReport {
    var report = PositionReport(kind: .gns)
    report.time = fields.timeOfDay(in: line)
    report.position = fields.position(in: line)
    var best: UInt8?
    fields.letters(in: line) { mode in
      if rank(mode: mode) > best.map(rank(mode:)) ?? -1 { best = mode }
    }
    report.validity = validity(status: nil, mode: best)
    report.quality = best.flatMap(quality(mode:))
    report.satellites = fields.integer(in: line)
    report.hdop = fields.number(in: line).flatMap(Fix.validDilution)
    report.altitude = fields.number(in: line)
    report.geoidSeparation = fields.number(in: line)
    return report
  }

  /// Latitude, N/S, longitude, E/W, time, status, mode (2.3).
  private static func gll(_ line: Span<UInt8>, _ fields: inout NMEAFields) -> PositionReport {
    var report = PositionReport(kind: .gll)
    report.position = fields.position(in: line)
    report.time = fields.timeOfDay(in: line)
    let status = fields.letter(in: line)
    let mode = fields.letter(in: line)
    report.validity = validity(status: status, mode: mode)
    report.quality = mode.flatMap(quality(mode:))
    return report
  }

  /// Course true, T, course magnetic, M, knots, N, km/h, K, mode (2.3).
  private static func vtg(_ line: Span<UInt8>, _ fields: inout NMEAFields) -> MotionReport {
    var report = MotionReport()
    let course = fields.number(in: line)
    // Before version 2 there were no unit letters, and the fields differed.
    guard fields.letter(in: line) == UInt8(ascii: "T") else { return report }
    fields.skip(2, in: line)
    let knots = fields.number(in: line)
    fields.skip(in: line)
    let kilometres = fields.number(in: line)
    fields.skip(in: line)
    guard fields.letter(in: line) != UInt8(ascii: "N") else { return report }
    report.heading = course.flatMap(heading)
    report.speed = knots.flatMap(metresPerSecond(knots:)) ?? kilometres.flatMap { $0 >= 0 ? $0 / 3.6 : nil }
    return report
  }

  /// Selection, mode, twelve satellites, PDOP, HDOP, VDOP, system (4.1).
  private static func gsa(_ line: Span<UInt8>, _ fields: inout NMEAFields) -> SatelliteReport {
    var report = SatelliteReport()
    fields.skip(in: line)
    report.mode = fields.integer(in: line)
    for _ in 0..<12 where fields.letter(in: line) != nil { report.count += 1 }
    fields.skip(in: line)
    report.hdop = fields.number(in: line).flatMap(Fix.validDilution)
    report.vdop = fields.number(in: line).flatMap(Fix.validDilution)
    return report
  }

  /// Number of sentences, number of this one, satellites in view, four fields for each satellite of this sentence,
  /// signal (4.1).
  private static func gsv(_ line: Span<UInt8>, _ fields: inout NMEAFields) -> NMEASentence {
    fields.skip(2, in: line)
    guard let inView = fields.integer(in: line), (0...99).contains(inView) else { return .unknown }
    var last: UInt8?
    var count = 0
    while !fields.isAtEnd(of: line) {
      last = fields.letter(in: line)
      count += 1
    }
    let signal = count % 4 == 1 ? last : nil
    return .sky(inView: inView, signal: signal ?? UInt8(ascii: "0"))
  }

  /// Time, RMS of the range residuals, the axes and orientation of the error ellipse, then the standard deviations.
  private static func gst(_ line: Span<UInt8>, _ fields: inout NMEAFields) -> ErrorReport {
    var report = ErrorReport()
    report.time = fields.timeOfDay(in: line)
    fields.skip(4, in: line)
    let latitude = fields.number(in: line).flatMap(deviation)
    let longitude = fields.number(in: line).flatMap(deviation)
    if let latitude, let longitude {
      report.horizontal = (latitude * latitude + longitude * longitude).squareRoot()
    }
    report.vertical = fields.number(in: line).flatMap(deviation)
    return report
  }

  /// Time, day, month, year, zone. The fields are empty before the first fix: then the sentence counts as unknown. Some
  /// senders write a year of two digits.
  private static func zda(_ line: Span<UInt8>, _ fields: inout NMEAFields) -> NMEASentence {
    let time = fields.timeOfDay(in: line)
    let day = fields.integer(in: line)
    let month = fields.integer(in: line)
    let year = fields.integer(in: line).map(NMEAFields.year)
    guard let time, let day, let month, let year, let date = CivilDate(year: year, month: month, day: day) else {
      return .unknown
    }
    return .date(date, timeOfDay: time)
  }
}
