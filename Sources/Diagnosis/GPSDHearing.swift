// SPDX-License-Identifier: Apache-2.0
import ExternalInput
import Positioning
package import Timekeeping

/// Listens to what gpsd says after it was asked to tell, and gathers what a person wants to know.
package struct GPSDHearing: Sendable {
  private let address: String
  private let device: String?
  private var decoder: GPSDDecoder
  private var version: (release: String, major: Int, minor: Int)?
  private var devices: [String]?
  private var refusal: String?
  private var reporting: String?
  private var told: ReceiverHearing.Told?

  /// - Parameters:
  ///   - address: for messages.
  ///   - device: the only receiver that counts; nil for any.
  package init(address: String, device: String?) {
    self.address = address
    self.device = device
    decoder = GPSDDecoder(device: device, silenceTimeout: .seconds(10))
  }

  /// Nil when gpsd has not said.
  private var satellitesInView: Int?

  /// Whether there is nothing more to wait for.
  package var isDone: Bool { told != nil || refusal != nil }

  /// Takes what gpsd has sent.
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
        reporting = device
        if let fix { told = ReceiverHearing.Told(fix: fix, at: now) }
      }
    }
  }

  /// What to make of it.
  ///
  /// - Parameter waited: how long it was listened to at most.
  package func findings(waited: Duration, buildDate: Timestamp) -> [Finding] {
    guard let version else {
      return [
        .fail("\(address) takes the connection, and does not answer as gpsd does", "Check source.address")
      ]
    }
    let name = "gpsd \(version.release), protocol \(version.major).\(version.minor)"
    guard version.major == 3 else {
      return [.fail("\(name), which is not understood", "Install a gpsd of a release 3.x")]
    }
    var findings = [Finding.pass(name)]
    if let refusal {
      findings.append(.fail("it refuses: \(ExternalText(refusal))", "Check source.device"))
      return findings
    }
    findings += receivers
    guard findings.allSatisfy({ $0.verdict != .fail }) else { return findings }
    if let told {
      let receiver = reporting.map { $0.isEmpty ? "" : " of \($0)" } ?? ""
      findings.append(.pass("a fix\(receiver): \(FixText.quality(told.fix))"))
      findings += ClockFindings.findings(told, buildDate: buildDate)
    } else if let reporting {
      findings.append(
        .warn(
          "\(reporting) reports and has no fix\(FixText.inView(satellitesInView))",
          "It needs a view of the sky and some minutes: cgps shows how it goes"))
    } else {
      findings.append(
        .fail(
          "no receiver has reported in \(waited.wholeSeconds) s",
          "Check its power and its plug; gpsd does not tell when one is unplugged: cgps, systemctl restart gpsd"))
    }
    return findings
  }

  private var receivers: [Finding] {
    let devices = devices ?? []
    guard !devices.isEmpty else {
      return [
        .fail("it has no receiver", "Name one in its DEVICES (/etc/default/gpsd), or: sudo gpsdctl add /dev/ttyUSB0")
      ]
    }
    let list = devices.map { path in path + (decoder.driver(of: path).map { " (\($0))" } ?? "") }
      .joined(separator: ", ")
    if let device, !devices.contains(device) {
      return [.fail("it has \(list), and not \(device)", "Check source.device")]
    }
    return [.pass("it has \(list)")]
  }
}
