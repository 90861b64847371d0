// SPDX-License-Identifier: Apache-2.0

/// A receiver on a serial line.
package struct SerialSettings: Equatable, Sendable {
  /// Absolute path.
  package var device = ""
  /// Bits per second; nil is the speed at which sentences have the right checksum.
  package var baud: Int? = 9600
}

extension SerialSettings: SourceSettings {
  static let type = "serial"

  static let keys: [Setting<SerialSettings>] = [
    Setting(
      "device", \.device, .device, isRequired: true, "The receiver's device, best under `/dev/serial/by-id/`."),
    Setting(
      "baud", \.baud, .baud,
      "The receiver's speed in bits per second. With `\"auto\"` each is tried until sentences have the right checksum, the one that was right last first."
    ),
  ]

  var kind: SourceKind { .serial(self) }
  var name: String { device }

  func check(after others: [SourceKind], _ reader: inout SettingsReader) {
    guard others.contains(where: { if case .serial(let other) = $0 { other.device == device } else { false } }) else {
      return
    }
    reader.problem(with: \SerialSettings.device, "is the device of another source; a port has one reader")
  }
}
