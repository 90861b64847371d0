// SPDX-License-Identifier: Apache-2.0
package import Positioning
package import Timekeeping

/// Decodes gpsd's JSON protocol from a byte stream into fixes of one receiver.
///
/// gpsd may have several receivers. If a device is configured, only its reports are used. Otherwise the first receiver
/// with a fix is used until it is silent for the silence timeout: two receivers are never mixed.
///
/// **Accuracies.** If a receiver reports no accuracy, gpsd multiplies its dilution of precision by a constant
/// (`gpsd_error_model` in `libgpsd_core.c`): `eph` is 19 m times HDOP and `epv` 23 m times VDOP, or a quarter of that
/// with differential corrections. Such values are dilutions and not accuracies, and are used like the dilutions of an
/// NMEA sentence. Other errors are converted to one standard deviation: up to 3.19, gpsd_json(5) says that all errors
/// have a confidence of 95 %, so they are divided by 1.96. Later manuals call the confidence unknown, because some
/// drivers pass on the receiver's values. The driver for u-blox does (`driver_ubx.c`: hAcc, vAcc, sAcc of NAV-PVT): its
/// values are about one standard deviation and are used unchanged. It does not for u-blox 5 to 7, nor if the receiver
/// sends NMEA: then all errors are products of HDOP, which is recognized after a few of them.
package struct GPSDDecoder: Sendable {
  /// The content of a line.
  package enum Event: Equatable, Sendable {
    /// gpsd's release and protocol version.
    case version(release: String, major: Int, minor: Int)
    /// The receivers that gpsd has.
    case devices([String])
    /// gpsd rejected a command, with its message.
    case refused(String)
    /// A receiver's report, and its fix; the fix is nil if it has no position or no time, or if another receiver is
    /// used.
    case report(device: String, Fix?)
    /// The number of satellites in view of the used receiver.
    case sky(inView: Int)
  }

  /// Counters of the decoder.
  package struct Counters: Equatable, Sendable {
    /// Lines of gpsd's protocol of any class.
    package var messages: UInt64 = 0
    /// Lines that exceeded the maximum length, and were skipped.
    package var overlong: UInt64 = 0
    /// Decoded fixes.
    package var fixes: UInt64 = 0

    package init() {}
  }

  private struct Receiver {
    var driver: String?
    var satellites: Int?
    var hdop: Double?
    var skyAt = BootInstant.boot
    /// The last `eph`, and how many different ones in a row were products of HDOP.
    var error: Double?
    var productCount = 0
  }

  /// Satellites and dilution of an older SKY are not used for a fix.
  private static let maximumSkyAge = Duration.seconds(10)
  /// How many different `eph` of a u-blox in a row must be products of HDOP until they count as such. By chance a
  /// single one is in one of 94 cases, and with differential corrections in one of 24.
  private static let minimumProducts = 8
  /// Minor version of the protocol of gpsd 3.20. Since that release a TPV says whether its position is extrapolated,
  /// except for a u-blox.
  private static let minorWithStatus = 14
  /// Maximum number of receivers in memory: gpsd itself supports four by default.
  private static let maximumReceivers = 32
  /// The number of standard deviations for 95 % confidence.
  private static let sigmasOf95Percent = 1.96

  /// Metres by which gpsd multiplies HDOP and VDOP, without and with differential corrections.
  private static let rangeError = (plain: 19.0, corrected: 4.75)
  private static let verticalRangeError = (plain: 23.0, corrected: 5.75)

  /// Counters since initialization.
  package private(set) var counters = Counters()
  /// The length of the last fix's report in bytes, and the number of bytes between it and the report of the previous
  /// fix.
  private(set) var lastFix = (length: 0, precedingBytes: 0)
  /// The time of the last fix that was ignored because another receiver is used.
  private(set) var ignoredTime: Timestamp?
  /// The number of bytes in complete lines since the report of the last fix.
  private var completeLineBytesSinceFix = 0
  private let device: String?
  private let silenceTimeout: Duration
  private var splitter = GPSDLineSplitter()
  private var receivers: [String: Receiver] = [:]
  /// Minor version of gpsd's protocol; nil if it is not known, as in a recording.
  private var minorVersion: Int?
  /// The used receiver, and the time of its last fix.
  private var chosen: (device: String, fixAt: BootInstant)?

  /// - Parameters:
  ///   - device: the device to use, as gpsd names it; nil for the first with a fix.
  ///   - silenceTimeout: the time without a fix after which another receiver is used.
  package init(device: String?, silenceTimeout: Duration) {
    self.device = device
    self.silenceTimeout = silenceTimeout
  }

  /// The used receiver, if known: the configured one, or the selected one.
  private var currentDevice: String? { device ?? chosen?.device }

  /// The number of bytes since the report of the last fix.
  var bytesSinceFix: Int { completeLineBytesSinceFix + splitter.partialLength }

  /// gpsd's name for the protocol of a receiver, as in `NMEA0183`.
  package func driver(of device: String) -> String? { receivers[device]?.driver }

  /// A new connection begins: discards the incomplete line and what is known of the receivers, except which is used.
  package mutating func restart() {
    splitter.reset()
    completeLineBytesSinceFix = 0
    receivers = [:]
  }

  /// Until now the machine was suspended, or the reports were left unread: silence of the used receiver is counted from
  /// now on.
  mutating func noteUnread(until now: BootInstant) { chosen?.fixAt = now }

  /// Decodes the next bytes.
  ///
  /// - Parameters:
  ///   - bytes: any part of the stream.
  ///   - now: when they arrived.
  ///   - emit: called with each relevant event.
  package mutating func decode(_ bytes: Span<UInt8>, at now: BootInstant, into emit: (Event) -> Void) {
    var completeLines: [[UInt8]?] = []
    splitter.append(bytes) { completeLines.append($0) }
    for line in completeLines {
      // The length includes the line end.
      let (fixes, length) = (counters.fixes, (line?.count ?? GPSDLineSplitter.maximumLength) + 2)
      defer {
        if counters.fixes != fixes {
          (lastFix, completeLineBytesSinceFix) = ((length, completeLineBytesSinceFix), 0)
        } else {
          completeLineBytesSinceFix += length
        }
      }
      guard let line else {
        counters.overlong += 1
        continue
      }
      // A line that is not a JSON object with a class is skipped.
      guard let report = try? GPSDReport(parsing: line) else { continue }
      counters.messages += 1
      if let event = event(report, at: now) { emit(event) }
    }
  }

  /// Decodes the next bytes, as above.
  package mutating func decode(_ bytes: [UInt8], at now: BootInstant, into emit: (Event) -> Void) {
    decode(bytes.span, at: now, into: emit)
  }

  private mutating func event(_ report: GPSDReport, at now: BootInstant) -> Event? {
    switch report.kind {
    case .version:
      guard let major = report.majorProtocol else { return nil }
      minorVersion = report.minorProtocol
      return .version(release: report.release ?? "unknown", major: major, minor: report.minorProtocol ?? 0)
    case .devices:
      for device in report.devices { recordDriver(of: device) }
      return .devices(report.devices.map(\.path))
    case .device:
      if let device = report.device { recordDriver(of: device) }
    case .sky:
      updateSky(report, at: now)
      guard let count = report.satellitesInView, (0...999).contains(count) else { return nil }
      return currentDevice == nil || currentDevice == report.device?.path ? .sky(inView: count) : nil
    case .position: return positionEvent(report, at: now)
    case .error: return .refused(report.message ?? "no reason given")
    case .watch, .other: break
    }
    return nil
  }

  private mutating func recordDriver(of device: GPSDReport.Device) {
    update(device.path) { receiver in receiver.driver = device.driver ?? receiver.driver }
  }

  /// A SKY may have satellites, dilution, or both.
  private mutating func updateSky(_ report: GPSDReport, at now: BootInstant) {
    update(report.device?.path ?? "") { receiver in
      if now - receiver.skyAt > GPSDDecoder.maximumSkyAge {
        receiver.satellites = nil
        receiver.hdop = nil
      }
      receiver.skyAt = now
      receiver.satellites = report.satellitesUsed.flatMap { (0...999).contains($0) ? $0 : nil } ?? receiver.satellites
      receiver.hdop = report.hdop.flatMap { $0 > 0 && $0 < 100 ? $0 : nil } ?? receiver.hdop
    }
  }

  private mutating func positionEvent(_ report: GPSDReport, at now: BootInstant) -> Event? {
    let path = report.device?.path ?? ""
    if let device, path != device { return nil }
    let isUblox = receivers[path]?.driver == "u-blox"
    let isOwnEstimate = isUblox && hasOwnErrors(report, path)
    let receiver = receivers[path]
    guard var fix = Fix(report, sigmas: isOwnEstimate ? 1 : GPSDDecoder.sigmasOf95Percent) else {
      return .report(device: path, nil)
    }
    guard choose(path, at: now) else {
      ignoredTime = fix.timestamp
      return .report(device: path, nil)
    }
    if let receiver, now - receiver.skyAt <= GPSDDecoder.maximumSkyAge {
      // The SKY may be of an epoch in which no satellite was used.
      let isMeasured = fix.quality != .estimated && minorVersion ?? .max >= GPSDDecoder.minorWithStatus
      fix.satellites = receiver.satellites.flatMap { isMeasured && $0 == 0 ? nil : $0 }
      fix.hdop = receiver.hdop
    }
    // The SKY may be of another epoch.
    if !isOwnEstimate, let hdop = GPSDDecoder.dilution(of: report.horizontalError, fix.quality, horizontal: true) {
      fix.hdop = Fix.validDilution(hdop)
      fix.deriveAccuracy()
      let vdop = GPSDDecoder.dilution(of: report.verticalError, fix.quality, horizontal: false)
      fix.verticalAccuracy = vdop.flatMap(Fix.validDilution).flatMap { vdop in
        fix.quality.rangeError.map { vdop * $0 }
      }
      // gpsd derives these from the same errors, divided by the time between two fixes.
      (fix.speedAccuracy, fix.headingAccuracy) = (nil, nil)
    }
    // gpsd computes it for a u-blox, too.
    if isUblox { fix.headingAccuracy = nil }
    counters.fixes += 1
    return .report(device: path, fix)
  }

  /// Whether the errors of a u-blox are its own, as far as its last reports show.
  private mutating func hasOwnErrors(_ report: GPSDReport, _ path: String) -> Bool {
    guard let error = report.horizontalError else { return true }
    let quality = Fix.Quality(gpsdStatus: report.status)
    let isProduct = GPSDDecoder.dilution(of: error, quality, horizontal: true) != nil
    update(path) { receiver in
      // A parked vehicle repeats a value.
      guard error != receiver.error else { return }
      receiver.error = error
      receiver.productCount = isProduct ? min(receiver.productCount + 1, GPSDDecoder.minimumProducts) : 0
    }
    return receivers[path].map { $0.productCount < GPSDDecoder.minimumProducts } ?? true
  }

  /// The HDOP from which gpsd computed `eph`, or the VDOP from which it computed `epv`; nil if the error is not such a
  /// product. Receivers report dilutions with two decimals at most, and gpsd reports the product with three: another
  /// error looks like such a product by chance in about one of a hundred cases.
  private static func dilution(of error: Double?, _ quality: Fix.Quality, horizontal: Bool) -> Double? {
    guard let error, error > 0, error < 1e6 else { return nil }
    let factors = horizontal ? rangeError : verticalRangeError
    let factor = quality == .dgnss ? factors.corrected : factors.plain
    let dilution = (error / factor * 100).rounded() / 100
    return abs(dilution * factor - error) < 0.001 ? dilution : nil
  }

  /// Whether to use this receiver, which has a fix.
  private mutating func choose(_ path: String, at now: BootInstant) -> Bool {
    if device == nil, let chosen, chosen.device != path, now - chosen.fixAt < silenceTimeout { return false }
    chosen = (path, now)
    return true
  }

  private mutating func update(_ path: String, _ change: (inout Receiver) -> Void) {
    guard receivers[path] != nil || receivers.count < GPSDDecoder.maximumReceivers else { return }
    change(&receivers[path, default: Receiver()])
  }
}
