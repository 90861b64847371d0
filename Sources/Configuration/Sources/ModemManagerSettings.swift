// SPDX-License-Identifier: Apache-2.0
package import FixSources

/// The GNSS receiver of a modem that ModemManager manages.
package struct ModemManagerSettings: Equatable, Sendable {
  /// The modem's sysfs device, or the path of its D-Bus object; nil for any.
  package var device: String?
  /// Its IMEI; nil for any.
  package var imei: String?

  /// The default is any modem.
  package init(device: String? = nil, imei: String? = nil) {
    self.device = device
    self.imei = imei
  }

  /// The modem to use.
  package var selection: ModemSelection { ModemSelection(device: device, imei: imei) }
}

extension ModemManagerSettings: SourceSettings {
  static let type = "modemmanager"

  static let keys: [Setting<ModemManagerSettings>] = [
    Setting(
      "device", \.device, .device,
      "The modem's device as `mmcli -m any` shows it (`/sys/devices/…`, the same after each start), or the path of its D-Bus object. Default: the first modem with a GNSS receiver."
    ),
    Setting(
      "imei", \.imei, .imei,
      "The modem's IMEI, which finds the modem whichever port it is connected to. Use either this or `device`."),
  ]

  var kind: SourceKind { .modemManager(self) }
  /// Contains at most four digits of the IMEI, because every local user can read the name.
  var name: String {
    "ModemManager" + (device.map { ", modem \($0)" } ?? imei.map { ", modem …\($0.suffix(4))" } ?? "")
  }

  mutating func finish(_ reader: inout SettingsReader) {
    if reader.replaces(\ModemManagerSettings.imei, \ModemManagerSettings.device) { device = nil }
    if reader.replaces(\ModemManagerSettings.device, \ModemManagerSettings.imei) { imei = nil }
    guard device != nil, imei != nil else { return }
    reader.problem(with: \ModemManagerSettings.imei, "selects the modem, as `device` does; remove one of them")
  }

  func check(after others: [SourceKind], _ reader: inout SettingsReader) {
    guard others.contains(where: { if case .modemManager(let other) = $0 { other == self } else { false } }) else {
      return
    }
    reader.problem(
      with: \ModemManagerSettings.device,
      "selects the same modem as another source; each needs its own `device` or `imei`")
  }
}

extension SettingType where Value == String {
  /// The number of a modem: 14 or 15 digits of an IMEI, or 16 with its software version.
  static let imei = SettingType(name: "string", allowed: "14 to 16 digits") { value throws(ValueProblem) in
    let text = try value.line(expected: "a number in quotes")
    guard (14...16).contains(text.utf8.count), text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else {
      throw ValueProblem(
        message: "\"\(text.printable)\" is not an IMEI; 14 to 16 digits are expected, as mmcli -m any shows them")
    }
    return text
  }
}
