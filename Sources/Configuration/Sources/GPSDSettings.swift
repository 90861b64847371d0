// SPDX-License-Identifier: Apache-2.0

/// The receivers of a gpsd.
package struct GPSDSettings: Equatable, Sendable {
  /// Where gpsd listens.
  package struct Address: Equatable, Sendable {
    /// A name, or an address in digits without brackets.
    package var host: String
    /// 1 to 65535.
    package var port: Int
    /// What the address itself says of the receiver.
    var device: String?
  }

  /// Where gpsd listens.
  package var address = Address(host: "localhost", port: 2947)
  /// The only receiver that counts, as gpsd names it; nil for the first that gives fixes.
  package var device: String?
}

extension GPSDSettings: SourceSettings {
  static let type = "gpsd"

  static let keys: [Setting<GPSDSettings>] = [
    Setting(
      "address", \.address, .gpsdAddress,
      "Where gpsd listens, and after another colon the only receiver of its that counts."),
    Setting(
      "device", \.device, .line,
      "The only receiver that counts, as gpsd names it. Without one, the first that gives fixes is stayed with until it gives none for the `silence_timeout`."
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

extension SettingKind where Value == GPSDSettings.Address {
  /// Where gpsd listens: `host:port:device`, of which port and device may be missing. An IPv6 address is in brackets.
  static let gpsdAddress = SettingKind(
    name: "string", allowed: "`host:port` or `host:port:device`", text: { "\"\($0.host):\($0.port)\"" }
  ) { value throws(ValueProblem) in
    let text = try value.line(expected: "an address in quotes, as in \"localhost:2947\",")
    guard let (host, rest) = split(text), isHost(host) else {
      throw ValueProblem(
        message: "\"\(text.printable)\" has no valid host; an address as in \"localhost:2947\", "
          + "\"192.168.1.2:2947:/dev/ttyUSB0\" or \"[::1]:2947\" is expected")
    }
    guard let rest else { return GPSDSettings.Address(host: host, port: defaultPort) }
    let parts = rest.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
    let portText = parts.first.map(String.init) ?? ""
    guard (1...5).contains(portText.utf8.count), portText.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
      let port = Int(portText), (1...65_535).contains(port)
    else { throw ValueProblem(message: "has the port \"\(portText.printable)\"; allowed: 1 to 65535") }
    let device = parts.count > 1 ? parts.last.map(String.init) : nil
    guard device?.isEmpty != true else { throw ValueProblem(message: "ends in a colon without a device") }
    return GPSDSettings.Address(host: host, port: port, device: device)
  }

  /// The port that IANA has given to gpsd.
  private static var defaultPort: Int { 2947 }

  /// The host without brackets, and what follows its colon; nil when there is none.
  private static func split(_ text: String) -> (host: String, rest: Substring?)? {
    let host: Substring
    let after: Substring
    if text.hasPrefix("[") {
      guard let close = text.firstIndex(of: "]") else { return nil }
      host = text[text.index(after: text.startIndex)..<close]
      guard host.contains(":") else { return nil }
      after = text[text.index(after: close)...]
    } else {
      host = text.prefix { $0 != ":" }
      after = text[host.endIndex...]
    }
    if after.isEmpty { return (String(host), nil) }
    return after.hasPrefix(":") ? (String(host), after.dropFirst()) : nil
  }

  private static func isHost(_ host: String) -> Bool {
    let isAddress = host.contains(":")
    return (1...253).contains(host.utf8.count) && host.first != "." && host.first != "-"
      && host.unicodeScalars.allSatisfy { scalar in
        switch scalar {
        case "0"..."9", "a"..."z", "A"..."Z", ".", "-", "_": true
        // The zone of a link-local address follows a percent sign.
        case ":", "%": isAddress
        default: false
        }
      }
  }
}
