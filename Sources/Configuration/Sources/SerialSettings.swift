// SPDX-License-Identifier: Apache-2.0

/// A receiver on a serial line.
package struct SerialSettings: Equatable, Sendable {
  /// Absolute path.
  package var device = ""
  /// Bits per second; nil to try each rate until sentences have correct checksums.
  package var baud: Int? = 9600
}

extension SerialSettings: SourceSettings {
  static let type = "serial"

  static let keys: [Setting<SerialSettings>] = [
    Setting(
      "device", \.device, .device, isRequired: true,
      "The receiver's device. Prefer a name under `/dev/serial/by-id/`, which does not change."),
    Setting(
      "baud", \.baud, .baud,
      "The port's baud rate. `\"auto\"` tries each baud rate until sentences have correct checksums, beginning with the one that last worked. A receiver that sends nothing is awaited at that one; the others are tried every 15 minutes or less."
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
