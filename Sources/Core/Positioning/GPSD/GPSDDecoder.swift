// SPDX-License-Identifier: Apache-2.0
package import Timekeeping

/// Decodes gpsd's JSON protocol from bytes in any portions into fixes of one receiver.
///
/// gpsd may have several receivers. With a device named, only its reports count. Without, the first that gives a fix
/// is stayed with, and another takes over when it has given none for the silence timeout: two are never mixed.
///
/// **Accuracies.** gpsd's errors become one standard deviation. Where a receiver tells none, gpsd multiplies its dilution of
/// precision with range errors of 95 % confidence (`gpsd_error_model` in `libgpsd_core.c`), and up to 3.19 gpsd_json(5)
/// calls all errors 95 %: they are divided by 1.96. Later manuals call the certainty unknown, because some drivers pass
/// on what the receiver says: that of u-blox does (`driver_ubx.c`: hAcc, vAcc, sAcc), and a u-blox says about
/// one standard deviation, which is taken as it is.
package struct GPSDDecoder: Sendable {
  /// What a line of gpsd's said.
  package enum Event: Equatable, Sendable {
    /// gpsd introduces itself: its release and the version of its protocol.
    case version(release: String, major: Int, minor: Int)
    /// gpsd tells which receivers it has.
    case devices([String])
    /// gpsd refuses a command, in its own words.
    case refused(String)
    /// A receiver that counts reported; nil while it has no position or no time, or another is stayed with.
    case report(device: String, Fix?)
    /// A receiver that counts has this many satellites in view.
    case sky(inView: Int)
  }

  /// What went through the decoder.
  package struct Counters: Equatable, Sendable {
    /// Lines of gpsd's protocol, of any class.
    package var messages: UInt64 = 0
    /// Lines that are no JSON object with a class.
    package var unreadable: UInt64 = 0
    /// Lines that were longer than gpsd's protocol allows, and were skipped.
    package var overlong: UInt64 = 0
    /// Reports of receivers that do not count.
    package var otherDevices: UInt64 = 0
    /// Reports of the receiver that had no position or no time.
    package var withoutFix: UInt64 = 0
    /// Fixes that were given.
    package var fixes: UInt64 = 0

    package init() {}
  }

  private struct Receiver {
    var driver: String?
    var satellites: Int?
    var hdop: Double?
    var skyAt = BootInstant.boot
  }

  /// Satellites and dilution of an older SKY say nothing about a fix.
  private static let longestSkyAge = Duration.seconds(10)
  /// Receivers that are remembered: gpsd itself takes four, or what it was built for.
  private static let mostReceivers = 32
  /// Standard deviations in an error of 95 % confidence.
  private static let sigmasOf95Percent = 1.96

  /// Since it was made.
  package private(set) var counters = Counters()
  private let device: String?
  private let silenceTimeout: Duration
  private var lines = GPSDLines()
  private var receivers: [String: Receiver] = [:]
  /// The receiver that is stayed with, and when it last gave a fix.
  private var chosen: (device: String, fixAt: BootInstant)?

  /// - Parameters:
  ///   - device: the only receiver that counts, as gpsd names it; nil for the first that gives fixes.
  ///   - silenceTimeout: after how long without a fix another may take over.
  package init(device: String?, silenceTimeout: Duration) {
    self.device = device
    self.silenceTimeout = silenceTimeout
  }

  /// The receiver that counts, if it is known: the one named, or stayed with.
  private var currentDevice: String? { device ?? chosen?.device }

  /// How gpsd calls the protocol of a receiver, as in `NMEA0183`.
  package func driver(of device: String) -> String? { receivers[device]?.driver }

  /// A new connection begins: what gpsd said on the last is forgotten, but not which receiver is stayed with.
  package mutating func restart() {
    lines.reset()
    receivers = [:]
  }

  /// Takes the next bytes.
  ///
  /// - Parameters:
  ///   - bytes: any number, from any place of the stream on.
  ///   - now: when they arrived.
  ///   - emit: receives what each line said, as far as it matters.
  package mutating func decode(_ bytes: Span<UInt8>, at now: BootInstant, into emit: (Event) -> Void) {
    var whole: [[UInt8]?] = []
    lines.append(bytes) { whole.append($0) }
    for line in whole {
      guard let line else {
        counters.overlong += 1
        continue
      }
      do {
        let report = try GPSDReport(parsing: line)
        counters.messages += 1
        if let event = take(report, at: now) { emit(event) }
      } catch {
        counters.unreadable += 1
      }
    }
  }

  /// Takes the next bytes, as above.
  package mutating func decode(_ bytes: [UInt8], at now: BootInstant, into emit: (Event) -> Void) {
    decode(bytes.span, at: now, into: emit)
  }

  private mutating func take(_ report: GPSDReport, at now: BootInstant) -> Event? {
    switch report.kind {
    case .version:
      guard let major = report.majorProtocol else { return nil }
      return .version(release: report.release ?? "unknown", major: major, minor: report.minorProtocol ?? 0)
    case .devices:
      for device in report.devices { note(device) }
      return .devices(report.devices.map(\.path))
    case .device:
      if let device = report.device { note(device) }
    case .sky:
      takeSky(report, at: now)
      guard let count = report.satellitesInView, (0...999).contains(count) else { return nil }
      return currentDevice == nil || currentDevice == report.device?.path ? .sky(inView: count) : nil
    case .position: return takePosition(report, at: now)
    case .error: return .refused(report.message ?? "no reason given")
    case .watch, .other: break
    }
    return nil
  }

  private mutating func note(_ device: GPSDReport.Device) {
    update(device.path) { receiver in receiver.driver = device.driver ?? receiver.driver }
  }

  /// A SKY may tell the satellites, the dilution, or both.
  private mutating func takeSky(_ report: GPSDReport, at now: BootInstant) {
    update(report.device?.path ?? "") { receiver in
      if now - receiver.skyAt > GPSDDecoder.longestSkyAge {
        receiver.satellites = nil
        receiver.hdop = nil
      }
      receiver.skyAt = now
      receiver.satellites = report.satellites.flatMap { (0...999).contains($0) ? $0 : nil } ?? receiver.satellites
      receiver.hdop = report.hdop.flatMap { $0 > 0 && $0 < 100 ? $0 : nil } ?? receiver.hdop
    }
  }

  private mutating func takePosition(_ report: GPSDReport, at now: BootInstant) -> Event? {
    let path = report.device?.path ?? ""
    if let device, path != device {
      counters.otherDevices += 1
      return nil
    }
    let receiver = receivers[path]
    let isOwnEstimate = receiver?.driver == "u-blox"
    guard var fix = Fix(report, sigmas: isOwnEstimate ? 1 : GPSDDecoder.sigmasOf95Percent) else {
      counters.withoutFix += 1
      return .report(device: path, nil)
    }
    guard choose(path, at: now) else {
      counters.otherDevices += 1
      return .report(device: path, nil)
    }
    if let receiver, now - receiver.skyAt <= GPSDDecoder.longestSkyAge {
      fix.satellites = receiver.satellites
      fix.hdop = receiver.hdop
    }
    counters.fixes += 1
    return .report(device: path, fix)
  }

  /// Whether the receiver, which has a fix, is the one to stay with.
  private mutating func choose(_ path: String, at now: BootInstant) -> Bool {
    if device == nil, let chosen, chosen.device != path, now - chosen.fixAt < silenceTimeout { return false }
    chosen = (path, now)
    return true
  }

  private mutating func update(_ path: String, _ change: (inout Receiver) -> Void) {
    guard receivers[path] != nil || receivers.count < GPSDDecoder.mostReceivers else { return }
    change(&receivers[path, default: Receiver()])
  }
}
