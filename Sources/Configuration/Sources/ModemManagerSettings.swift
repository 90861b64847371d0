// SPDX-License-Identifier: Apache-2.0
package import Positioning

/// The receiver of a modem that ModemManager has.
package struct ModemManagerSettings: Equatable, Sendable {
  /// Where the modem is plugged in, as ModemManager calls it, or the path of its object; nil for any.
  package var device: String?
  /// Its IMEI; nil for any.
  package var imei: String?

  /// Which modem is meant.
  package var selection: ModemSelection { ModemSelection(device: device, imei: imei) }
}

extension ModemManagerSettings: SourceSettings {
  static let type = "modemmanager"

  static let keys: [Setting<ModemManagerSettings>] = [
    Setting(
      "device", \.device, .device,
      "The modem, by the device that `mmcli -m any` shows (`/sys/devices/…`, the same after each start), or by the path of its D-Bus object. Default: the first with a receiver."
    ),
    Setting("imei", \.imei, .imei, "The modem, by its IMEI, whatever it is plugged into."),
  ]

  var kind: SourceKind { .modemManager(self) }
  /// Every local user reads it: an IMEI stays in the settings.
  var name: String {
    "ModemManager" + (device.map { ", modem \($0)" } ?? imei.map { ", modem …\($0.suffix(4))" } ?? "")
  }

  func finish(_ reader: inout SettingsReader) {
    guard device != nil, imei != nil else { return }
    reader.problem(with: \ModemManagerSettings.imei, "names the modem as `device` does; one of them is enough")
  }

  func check(after others: [SourceKind], _ reader: inout SettingsReader) {
    guard others.contains(where: { if case .modemManager(let other) = $0 { other == self } else { false } }) else {
      return
    }
    reader.problem(with: \ModemManagerSettings.device, "is missing or the same: another source is this modem already")
  }
}

extension SettingKind where Value == String {
  /// The number of a modem: 14 or 15 digits of an IMEI, or 16 with its software version.
  static let imei = SettingKind(name: "string", allowed: "14 to 16 digits") { value throws(ValueProblem) in
    let text = try value.line(expected: "a number in quotes")
    guard (14...16).contains(text.utf8.count), text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else {
      throw ValueProblem(
        message: "\"\(text.printable)\" is no IMEI; 14 to 16 digits are expected, as mmcli -m any shows them")
    }
    return text
  }
}
