// SPDX-License-Identifier: Apache-2.0
import ExternalInput
import FixSources
import NMEA
import Positioning
import SimulatedDrives
import RouteFile
import Timekeeping

/// Decodes a recording: NMEA 0183, gpsd's JSON or GPX, recognized by its content, and GPX also by the file's name.
struct RecordingDecoder {
  /// A GPX file is recognized by its first character (`<`) or its name. Input that contains a JSON object is decoded
  /// both as NMEA and as gpsd's JSON until one of them has a fix, because gpsd writes JSON before NMEA sentences, too.
  private enum Kind {
    case unread
    case gpx(GPXParser)
    case nmeaOrGPSD
    case nmea
    case gpsd
  }

  private let name: String
  private var kind = Kind.unread
  private var nmea = NMEADecoder()
  private var gpsd = GPSDRecordingDecoder()
  private var fixCount = 0

  /// - Parameter name: the name of the file, for messages.
  init(name: String) {
    self.name = name
  }

  /// Decodes the next bytes, at least one.
  ///
  /// - Parameter emit: receives each fix as soon as the input completes it; those of GPX at the end.
  mutating func decode(_ bytes: ArraySlice<UInt8>, into emit: (Fix) -> Void) throws(CommandError) {
    if case .unread = kind {
      kind = try firstKind(of: bytes)
      nmea.learnSentenceOrder(from: bytes.span)
    }
    switch kind {
    case .unread: break
    case .gpx(let parser):
      do {
        try parser.parse(bytes)
      } catch {
        throw CommandError(.data, error.message)
      }
    case .nmeaOrGPSD, .nmea, .gpsd: decodeStream(bytes.span, into: emit)
    }
  }

  /// Decodes what remains when the input has ended.
  mutating func finish(into emit: (Fix) -> Void) throws(CommandError) {
    if case .gpx(let parser) = kind {
      do {
        for point in try parser.finish().points {
          fixCount += 1
          emit(Fix(point))
        }
      } catch {
        throw CommandError(.data, error.message)
      }
      return
    }
    var fixes: [Fix] = []
    if !isGPSD { nmea.finish { fixes.append($0) } }
    if !isNMEA, fixes.isEmpty { gpsd.finish { fixes.append($0) } }
    for fix in fixes { emit(fix) }
    fixCount += fixes.count
  }

  /// A message if the whole recording has no fix; nil if it has one.
  ///
  /// - Throws: code `data` if the input is not a recording.
  func warning() throws(CommandError) -> String? {
    if fixCount > 0 { return nil }
    if nmea.counters.sentences > 0 {
      return "\(name): \(nmea.counters.sentences.counted("sentence")), but none with a valid position"
    }
    if gpsd.counters.messages > 0 {
      return "\(name): \(gpsd.counters.messages.counted("message")) of gpsd, but none with a position and a time"
    }
    throw CommandError(
      .data,
      """
      \(name): no NMEA sentence with a correct checksum (\(nmea.counters.wrongChecksum) with a wrong one, \
      \(nmea.counters.unchecked) truncated or without a checksum), and neither gpsd's JSON nor GPX; is it a recording of a \
      receiver, made at the correct baud rate?
      """)
  }

  private var isNMEA: Bool { if case .nmea = kind { true } else { false } }
  private var isGPSD: Bool { if case .gpsd = kind { true } else { false } }

  private mutating func decodeStream(_ bytes: Span<UInt8>, into emit: (Fix) -> Void) {
    var nmeaFixes: [Fix] = []
    if !isGPSD { nmea.decode(bytes, at: .boot) { nmeaFixes.append($0) } }
    var gpsdFixes: [Fix] = []
    if !isNMEA { gpsd.decode(bytes) { gpsdFixes.append($0) } }
    if case .nmeaOrGPSD = kind {
      if !nmeaFixes.isEmpty { kind = .nmea } else if !gpsdFixes.isEmpty { kind = .gpsd }
    }
    for fix in isGPSD ? gpsdFixes : nmeaFixes { emit(fix) }
    fixCount += isGPSD ? gpsdFixes.count : nmeaFixes.count
  }

  private func firstKind(of bytes: ArraySlice<UInt8>) throws(CommandError) -> Kind {
    let byteOrderMark: [UInt8] = [0xEF, 0xBB, 0xBF]
    let text = bytes.starts(with: byteOrderMark) ? bytes.dropFirst(byteOrderMark.count) : bytes
    let first = text.first { ![0x20, 0x09, 0x0A, 0x0D].contains($0) }
    guard first == UInt8(ascii: "<") || name.lowercased().hasSuffix(".gpx") else {
      return bytes.contains(UInt8(ascii: "{")) ? .nmeaOrGPSD : .nmea
    }
    do {
      return .gpx(try GPXParser(file: name))
    } catch {
      throw CommandError(.data, error.message)
    }
  }
}

extension Fix {
  /// A point of a GPX file, which has a position, and may have an elevation and a time.
  fileprivate init(_ point: Route.Point) {
    self.init(
      coordinate: point.coordinate, time: point.time.map { .utc($0) }, mode: point.elevation == nil ? .twoD : .threeD)
    altitude = point.elevation
  }
}
