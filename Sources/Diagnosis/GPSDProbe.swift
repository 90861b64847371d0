// SPDX-License-Identifier: Apache-2.0
import Observability
import ExternalInput
import FixSources
package import Timekeeping

/// Decodes gpsd's reports, and derives findings from them.
package struct GPSDProbe: Sendable {
  private let address: String
  private let device: String?
  private var decoder: GPSDDecoder
  private var version: (release: String, major: Int, minor: Int)?
  private var devices: [String]?
  private var refusal: String?
  private var reportingDevice: String?
  private var received: ReceiverProbe.ReceivedFix?

  /// - Parameters:
  ///   - address: for messages.
  ///   - device: the receiver to use; nil for any.
  package init(address: String, device: String?) {
    self.address = address
    self.device = device
    decoder = GPSDDecoder(device: device, silenceTimeout: .seconds(10))
  }

  /// Nil until gpsd has reported it.
  private var satellitesInView: Int?

  /// Whether all findings are known.
  package var isDone: Bool { received != nil || refusal != nil }

  /// Decodes bytes from gpsd.
  package mutating func receive(_ bytes: Span<UInt8>, at now: Moment) {
    var events: [GPSDDecoder.Event] = []
    decoder.decode(bytes, at: now.boot) { events.append($0) }
    for event in events {
      switch event {
      case .version(let release, let major, let minor): version = (release, major, minor)
      case .devices(let paths): devices = paths
      case .refused(let why): refusal = why
      case .sky(let count): satellitesInView = count
      case .report(let device, let fix):
        reportingDevice = device
        if let fix { received = ReceiverProbe.ReceivedFix(fix: fix, at: now) }
      }
    }
  }

  /// The findings.
  ///
  /// - Parameter timeLimit: of the check.
  package func findings(timeLimit: Duration, buildDate: Timestamp) -> [Finding] {
    guard let version else {
      return [
        .fail(.otherServer, "\(address) accepts connections, but does not answer as gpsd does", "Check source.address")
      ]
    }
    let name = "gpsd \(version.release), protocol \(version.major).\(version.minor)"
    guard version.major == 3 else {
      return [.fail(.gpsdVersion, "\(name), which is not supported", "Install gpsd 3.x")]
    }
    var findings = [Finding.pass(name)]
    if let refusal {
      findings.append(.fail(.gpsdRefused, "gpsd reports an error: \(ExternalText(refusal))", "Check source.device"))
      return findings
    }
    findings += deviceFindings
    guard findings.allSatisfy({ $0.severity != .fail }) else { return findings }
    if let received {
      let receiver = reportingDevice.map { $0.isEmpty ? "" : " of \($0)" } ?? ""
      findings.append(.pass("a fix\(receiver): \(FixText.quality(received.fix))"))
      findings += ClockFindings.findings(received, buildDate: buildDate)
    } else if let reportingDevice {
      findings.append(
        .warn(
          .noFix, "\(reportingDevice) reports, but has no fix\(FixText.inView(satellitesInView))",
          "\(SkyAdvice.text(inView: satellitesInView)): cgps shows the progress"))
    } else {
      findings.append(
        .fail(
          .receiverSilent, "no receiver has reported within \(timeLimit.wholeSeconds) s",
          "Check its power and its plug; gpsd does not report an unplugged receiver: cgps, systemctl restart gpsd"))
    }
    return findings
  }

  private var deviceFindings: [Finding] {
    let devices = devices ?? []
    guard !devices.isEmpty else {
      return [
        .fail(
          .deviceMissing, "gpsd has no receiver",
          "Name one in DEVICES (/etc/default/gpsd), or: sudo gpsdctl add /dev/ttyUSB0")
      ]
    }
    let list = devices.map { path in path + (decoder.driver(of: path).map { " (\($0))" } ?? "") }
      .joined(separator: ", ")
    if let device, !devices.contains(device) {
      return [.fail(.deviceMissing, "gpsd has \(list), but not \(device)", "Check source.device")]
    }
    return [.pass("gpsd has \(list)")]
  }
}
