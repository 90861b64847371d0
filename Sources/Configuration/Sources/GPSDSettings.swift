// SPDX-License-Identifier: Apache-2.0
import ExternalInput

/// The receivers of a gpsd.
package struct GPSDSettings: Equatable, Sendable {
  /// Where gpsd listens.
  package struct Address: Equatable, Sendable {
    /// A name, or a numeric address without brackets.
    package var host: String
    /// 1 to 65535.
    package var port: Int
    /// The receiver that the address names; nil for none.
    var device: String?

    /// Whether the host is this machine, by a loopback address or its name.
    package var isLocal: Bool { host.lowercased() == "localhost" || IPAddress(host)?.isLoopback == true }
  }

  /// Where gpsd listens.
  package var address: Address
  /// The receiver to use, as gpsd names it; nil for the first that reports a fix.
  package var device: String?

  /// The default is the gpsd of this machine.
  package init(address: Address = Address(host: "localhost", port: 2947), device: String? = nil) {
    self.address = address
    self.device = device
  }
}

extension GPSDSettings: SourceSettings {
  static let type = "gpsd"

  static let keys: [Setting<GPSDSettings>] = [
    Setting(
      "address", \.address, .gpsdAddress,
      "Host and port of gpsd. A device after another colon selects one of its receivers, as `device` does."),
    Setting(
      "device", \.device, .line,
      "The receiver to use, as gpsd names it. Default: the first receiver that reports a fix, until it has had none for `silence_timeout` and another one has."
    ),
  ]

  var kind: SourceKind { .gpsd(self) }
  var name: String { "gpsd at \(address.host):\(address.port)\(device.map { ":\($0)" } ?? "")" }

  mutating func finish(_ reader: inout SettingsReader) {
    if let device, let other = address.device, other != device {
      reader.problem(
        with: \GPSDSettings.device, "is not the receiver that `address` names, \"\(other.printable)\"")
    }
    device = device ?? address.device
    address.device = nil
  }
}

extension SettingType where Value == GPSDSettings.Address {
  /// Where gpsd listens: `host:port:device`; port and device are optional. An IPv6 address is in brackets.
  static let gpsdAddress = SettingType(
    name: "string", allowed: "`host:port` or `host:port:device`", text: { "\"\($0.host):\($0.port)\"" }
  ) { value throws(ValueProblem) in
    let text = try value.line(expected: "an address in quotes, as in \"localhost:2947\",")
    try HostAddress.requireBrackets(text)
    guard let (host, rest) = HostAddress.split(text), HostAddress.isHost(host) else {
      throw ValueProblem(
        message: "\"\(text.printable)\" has no valid host; an address as in \"localhost:2947\", "
          + "\"192.168.1.2:2947:/dev/ttyUSB0\" or \"[::1]:2947\" is expected")
    }
    guard let rest else { return GPSDSettings.Address(host: host, port: defaultPort) }
    let parts = rest.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
    let portText = parts.first.map(String.init) ?? ""
    let port = try HostAddress.port(portText)
    let device = parts.count > 1 ? parts.last.map(String.init) : nil
    guard device?.isEmpty != true else { throw ValueProblem(message: "ends in a colon without a device") }
    return GPSDSettings.Address(host: host, port: port, device: device)
  }

  /// The port that IANA has assigned to gpsd.
  private static var defaultPort: Int { 2947 }
}
