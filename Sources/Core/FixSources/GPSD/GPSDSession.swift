// SPDX-License-Identifier: Apache-2.0
import ExternalInput
import Positioning
package import Timekeeping

/// The connection to gpsd: connects, requests reports, reconnects when gpsd is gone or its receiver is silent, and
/// reports problems. `PortSupervisor` decides when to connect, `GPSDGroups` decides at how many unread bytes to read,
/// and `GPSDDecoder` decodes the lines. While no fix is needed, the connection is only emptied now and then.
package struct GPSDSession: ElapsedTimeSession, Sendable {
  /// The supported version of gpsd's protocol.
  private static let majorProtocol = 3
  /// Maximum length of a command without its end, in bytes (gpsd_json(5)).
  private static let maximumCommandLength = 80
  /// The number of unread bytes at which the connection is emptied while no fix is needed: gpsd closes a connection
  /// whose buffer is full.
  private static let idleLowWaterMark = 49_152

  private let address: String
  private let isLocal: Bool
  private let device: String?
  private var supervisor: PortSupervisor
  private var decoder: GPSDDecoder
  /// The receiver that was last reported as being read.
  private var announcedDevice: String?
  private var devices: [String]?
  private var sky = SatelliteCountReporter()
  private var isGPSD = false
  private var groups = GPSDGroups()
  /// The number of unread bytes at which the connection is read (SO_RCVLOWAT).
  private var lowWaterMark = 1
  private var isNeeded = true
  /// Whether data is read and discarded, because it arrived while no fix was needed.
  private var isDiscarding = false

  package var isPausable: Bool { true }

  /// - Parameters:
  ///   - address: gpsd's host and port, for messages.
  ///   - isLocal: whether gpsd is on this machine, so that the connection cannot end unnoticed.
  ///   - device: the device to use, as gpsd names it; nil for the first with a fix.
  ///   - silenceTimeout: the maximum time without a report from a receiver.
  ///   - seed: for the jitter of retries.
  package init(address: String, isLocal: Bool = true, device: String?, silenceTimeout: Duration, seed: UInt64) {
    self.address = address
    self.isLocal = isLocal
    self.device = device
    supervisor = PortSupervisor(device: "gpsd at \(address)", silenceTimeout: silenceTimeout, seed: seed)
    decoder = GPSDDecoder(device: device, silenceTimeout: silenceTimeout)
  }

  /// When to handle `deadline`; nil while connecting, which has a timeout of its own, and while data is discarded.
  package var nextDeadline: BootInstant? {
    guard supervisor.isOpen else { return supervisor.nextDeadline }
    return isDiscarding ? nil : BootInstant.earliest(supervisor.nextDeadline, groups.deadline)
  }

  /// Handles an input, and returns the effects in order.
  package mutating func handle(_ input: SourceInput, at now: BootInstant) -> [SourceEffect] {
    switch input {
    case .start: return supervise(.start, at: now)
    case .opened:
      decoder.restart()
      announcedDevice = nil
      devices = nil
      sky = SatelliteCountReporter()
      isGPSD = false
      groups.reset()
      (lowWaterMark, isDiscarding) = (1, false)
      updateProblem()
      return supervise(.opened, at: now) + [.line(.send(GPSDSession.watchCommand(for: device)))]
    case .openFailed(let why): return supervise(.openFailed(why), at: now)
    case .ended(let why):
      isDiscarding = false
      return supervise(.ended(why), at: now)
    case .deadline where isDiscarding: return []
    case .deadline:
      if let deadline = groups.deadline, now >= deadline { groups.deadlinePassed() }
      return supervise(.deadline, at: now) + awaitReport()
    case .needed(let isNeeded):
      self.isNeeded = isNeeded
      guard isNeeded, isDiscarding else { return leaveUnread() }
      return [.line(.read)]
    case .drained:
      guard isNeeded, isDiscarding else { return [] }
      isDiscarding = false
      decoder.noteUnread(until: now)
      return awaitReport()
    case .resumed:
      decoder.noteUnread(until: now)
      // A gpsd on this machine may be silent for some seconds, until its receiver is awake.
      return supervise(.resumed(mayHaveEnded: !isLocal), at: now)
    case .appeared, .baudRefused, .senderDisconnected, .endOfInput, .modem: return []
    }
  }

  package mutating func receive(_ bytes: Span<UInt8>, from sender: SourceSender, at now: Moment) -> [SourceEffect] {
    receive(bytes, at: now.boot)
  }

  /// Processes data from gpsd, in chunks of any size.
  package mutating func receive(_ bytes: Span<UInt8>, at now: BootInstant) -> [SourceEffect] {
    if isDiscarding { decoder.noteUnread(until: now) }
    var events: [GPSDDecoder.Event] = []
    decoder.decode(bytes, at: now) { events.append($0) }
    var effects: [SourceEffect] = []
    var reports = 0
    var fixes: [Fix] = []
    for event in events {
      switch event {
      case .version(let release, let major, _):
        isGPSD = true
        guard major == GPSDSession.majorProtocol else {
          return effects
            + giveUp(
              "gpsd\(GPSDSession.name(release, " ")) at \(address) speaks version \(major) of its protocol, and version 3 is "
                + "supported; install a release 3.x of gpsd, or upgrade this program", at: now)
        }
      case .devices(let paths): devices = paths
      case .refused:
        // gpsd's message is only shown by `doctor`: every local user can read this text (STATUS=).
        let refused =
          device.map { "its receiver \($0); check source.device" } ?? "to report; see fleet-locationctl doctor"
        return effects + giveUp("gpsd at \(address) refuses \(refused)", at: now)
      case .report(let device, let fix):
        reports += 1
        // Before the first fix, the first receiver that reports is named.
        if fix == nil ? announcedDevice == nil : announcedDevice != device {
          announcedDevice = device
          effects.append(.report(.reading(name(of: device))))
        }
        if let fix, !isDiscarding {
          sky.noteFix(at: now)
          fixes.append(fix)
          effects.append(.report(.fix(fix)))
        }
      case .sky(let count):
        if !isDiscarding, let report = sky.report(inView: count, at: now) { effects.append(.report(report)) }
      }
    }
    updateProblem()
    if fixes.count > 1 { groups.reset() }
    if let fix = fixes.last {
      groups.found(fix, length: decoder.lastFix.length, precedingBytes: decoder.lastFix.precedingBytes, at: now)
    }
    return supervise(.received(sentences: reports), at: now) + effects + leaveUnread() + awaitReport()
  }

  /// Leaves the connection unread if no fix is needed, once the receiver is known.
  private mutating func leaveUnread() -> [SourceEffect] {
    guard !isNeeded, !isDiscarding, supervisor.isOpen, announcedDevice != nil else { return [] }
    isDiscarding = true
    groups.reset()
    lowWaterMark = GPSDSession.idleLowWaterMark
    return [.line(.awaitBytes(lowWaterMark))]
  }

  /// Sets the number of unread bytes at which the connection is read next, if it changes.
  private mutating func awaitReport() -> [SourceEffect] {
    let count = groups.lowWaterMark(after: decoder.bytesSinceFix)
    guard supervisor.isOpen, !isDiscarding, count != lowWaterMark else { return [] }
    lowWaterMark = count
    return [.line(.awaitBytes(count))]
  }

  private mutating func supervise(_ input: PortSupervisor.Input, at now: BootInstant) -> [SourceEffect] {
    supervisor.handle(input, at: now).compactMap { effect in
      switch effect {
      case .open: return .line(.open())
      case .close:
        isDiscarding = false
        return .line(.close)
      case .lost(let why): return .report(.lost(why))
      case .reading:
        // gpsd responds, even without a fix.
        supervisor.silent = PortSupervisor.Problem(
          "has sent no report of its receiver", "it may be unplugged, which gpsd does not report; see what cgps shows")
        return nil
      }
    }
  }

  private mutating func giveUp(_ why: String, at now: BootInstant) -> [SourceEffect] {
    isDiscarding = false
    return [.line(.close)] + supervise(.ended(why), at: now)
  }

  /// Prepares the message for the case that no report arrives; it is as specific as possible.
  private mutating func updateProblem() {
    if announcedDevice == nil {
      supervisor.silent = PortSupervisor.Problem(
        "accepts the connection but sends nothing", "check source.address: it may not be gpsd")
    }
    let others = (devices ?? []).filter { $0 != device }
    if !isGPSD {
      supervisor.noSentences = PortSupervisor.Problem(
        "answers, but not as gpsd does,", "check source.address")
    } else if let device, let devices, !devices.contains(device) {
      supervisor.noSentences = PortSupervisor.Problem(
        "has had no receiver \(device)",
        (others.isEmpty ? "it has none" : "it has\(GPSDSession.name(others.joined(separator: ", "), " "))")
          + "; check source.device")
    } else if devices?.isEmpty == true {
      supervisor.noSentences = PortSupervisor.Problem(
        "has had no receiver", "name one in its DEVICES (/etc/default/gpsd), or: sudo gpsdctl add /dev/ttyUSB0")
    } else {
      supervisor.noSentences = PortSupervisor.Problem(
        "has sent no report of its receiver", "check the receiver and its power; see what cgps shows")
    }
  }

  private func name(of device: String) -> String {
    guard !device.isEmpty else { return "gpsd at \(address)" }
    let driver = decoder.driver(of: device).map { GPSDSession.name($0, ", ") } ?? ""
    return "gpsd at \(address), receiver\(GPSDSession.name(device, " "))\(driver)"
  }

  /// A name that gpsd reported, after a separator, as in `/dev/ttyUSB0` and `u-blox`; empty if it is not plain text. It
  /// appears in STATUS=, which every local user can read.
  private static func name(_ text: String, _ separator: String) -> String {
    text.unicodeScalars.count <= 96 && ExternalText(text).description == text ? separator + text : ""
  }

  /// Requests reports, and only those of the configured receiver if there is one. A name that is too long for a
  /// command, or has unusual characters, is omitted: reports of other receivers are ignored anyway.
  package static func watchCommand(for device: String?) -> [UInt8] {
    let all = "?WATCH={\"enable\":true,\"json\":true"
    guard let device, device.utf8.allSatisfy({ (0x21...0x7E).contains($0) && $0 != 0x22 && $0 != 0x5C }) else {
      return Array((all + "};\n").utf8)
    }
    let one = all + ",\"device\":\"\(device)\""
    return Array(((one.utf8.count + 2 <= GPSDSession.maximumCommandLength ? one : all) + "};\n").utf8)
  }
}
