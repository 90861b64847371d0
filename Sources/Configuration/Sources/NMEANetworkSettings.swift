// SPDX-License-Identifier: Apache-2.0
package import ExternalInput

/// NMEA 0183 over TCP connections: opened by the daemon, or by senders.
package struct NMEATCPSettings: Equatable, Sendable {
  /// Where to connect; nil when senders connect.
  package var address: HostAddress?
  /// Where senders connect; nil when the daemon connects.
  package var listen: HostAddress?
  /// The permitted senders.
  package var allow: [AddressRange] = []
  /// Maximum number of senders connected at once.
  package var maxConnections = 4
}

/// NMEA 0183 in UDP datagrams.
package struct NMEAUDPSettings: Equatable, Sendable {
  /// Where datagrams are received.
  package var listen = HostAddress(host: "0.0.0.0", port: 10_110)
  /// The multicast group to join.
  package var group: IPAddress?
  /// The network interface of the group; nil lets the kernel choose.
  package var interface: String?
  /// The permitted senders.
  package var allow: [AddressRange] = []
}

extension NMEATCPSettings: SourceSettings {
  static let type = "nmea-tcp"

  static let keys: [Setting<NMEATCPSettings>] = [
    Setting(
      "address", \.address, .hostAddress,
      "Host and port of the router or receiver that serves NMEA 0183. When the connection ends or is silent, it is opened again, with increasing delays. Either this or `listen`."
    ),
    Setting(
      "listen", \.listen, .listeningAddress,
      "Address of this machine to which senders connect. The first sender with a fix is used, until it has none for `silence_timeout`."
    ),
    Setting("allow", \.allow, .addressRanges, NMEANetworkRules.allowSummary),
    Setting(
      "connections", \.maxConnections, .integer(1...32),
      "Maximum number of senders connected to `listen`; further connections are closed unread, unless a sender is silent or has had no fix for a minute: then that one is closed."
    ),
  ]

  var kind: SourceKind { .nmeaTCP(self) }

  var name: String {
    if let listen { return "tcp listen \(listen)" }
    return address.map { "tcp \($0)" } ?? "tcp"
  }

  mutating func finish(_ reader: inout SettingsReader) {
    if reader.replaces(\NMEATCPSettings.listen, \NMEATCPSettings.address) { address = nil }
    if reader.replaces(\NMEATCPSettings.address, \NMEATCPSettings.listen) { listen = nil }
    switch (reader.isWritten(\NMEATCPSettings.address), reader.isWritten(\NMEATCPSettings.listen)) {
    case (true, true):
      reader.problem(
        with: \NMEATCPSettings.listen, "cannot be combined with `address`: either this program connects or senders do")
    case (false, false):
      reader.problem(
        with: \NMEATCPSettings.address,
        "is missing; the address to connect to is expected, as in \"192.168.0.1:60660\", or `listen` if senders connect"
      )
    case (true, false):
      if reader.replaces(\NMEATCPSettings.address, \NMEATCPSettings.allow) { allow = [] }
      if reader.replaces(\NMEATCPSettings.address, \NMEATCPSettings.maxConnections) {
        maxConnections = NMEATCPSettings().maxConnections
      }
      for key: AnyKeyPath in [\NMEATCPSettings.allow, \NMEATCPSettings.maxConnections] where reader.isWritten(key) {
        reader.problem(with: key, "has no effect with `address`: it applies to senders that connect to `listen`")
      }
    case (false, true):
      if let listen {
        NMEANetworkRules.completeAllow(&allow, \NMEATCPSettings.allow, listen, \NMEATCPSettings.listen, &reader)
      }
    }
  }

  func check(after others: [SourceKind], _ reader: inout SettingsReader) {
    for case .nmeaTCP(let other) in others {
      if let listen, other.listen == listen {
        reader.problem(with: \NMEATCPSettings.listen, "is the address of another source")
      } else if let listen, let address = other.listen, listen.overlaps(address) {
        reader.warning(
          about: \NMEATCPSettings.listen,
          "cannot be used at the same time as the address of another source, \(address): use another port")
      }
      if let address, other.address == address {
        reader.problem(with: \NMEATCPSettings.address, "is the address of another source")
      }
    }
  }
}

extension NMEAUDPSettings: SourceSettings {
  static let type = "nmea-udp"

  static let keys: [Setting<NMEAUDPSettings>] = [
    Setting(
      "listen", \.listen, .listeningAddress,
      "Address of this machine at which datagrams are received, including broadcast and those of the `group`. Each datagram must contain whole sentences."
    ),
    Setting(
      "group", \.group, .multicastGroup,
      "Multicast group to join. While nothing is received it is joined again, so that it works after the interface has been replaced."
    ),
    Setting(
      "interface", \.interface, .line,
      "Network interface on which the group is joined, as in `\"eth0\"`. Default: the interface that the kernel's routing table selects for the group."
    ),
    Setting("allow", \.allow, .addressRanges, NMEANetworkRules.allowSummary),
  ]

  var kind: SourceKind { .nmeaUDP(self) }
  var name: String { group.map { "udp \(HostAddress(host: "\($0)", port: listen.port))" } ?? "udp \(listen)" }

  mutating func finish(_ reader: inout SettingsReader) {
    NMEANetworkRules.completeAllow(&allow, \NMEAUDPSettings.allow, listen, \NMEAUDPSettings.listen, &reader)
    if interface != nil, group == nil, reader.isValid(\NMEAUDPSettings.group) {
      reader.problem(with: \NMEAUDPSettings.interface, "has no effect without `group`")
    }
    if let interface, interface.utf8.count > 15 {
      reader.problem(with: \NMEAUDPSettings.interface, "is longer than the 15 bytes of an interface's name")
    }
    if let group, let host = IPAddress(listen.host), group.isV4 != host.isV4 {
      reader.problem(with: \NMEAUDPSettings.group, "and `listen` are not both IPv4 or both IPv6")
    }
  }

  func check(after others: [SourceKind], _ reader: inout SettingsReader) {
    for case .nmeaUDP(let other) in others where other.listen.overlaps(listen) {
      if other.listen == listen, other.group == group {
        reader.problem(with: \NMEAUDPSettings.listen, "is the address of another source")
      } else if other.group == nil || group == nil {
        reader.warning(
          about: \NMEAUDPSettings.listen,
          "cannot be used at the same time as the address of another source, \(other.listen), unless both have a `group`: use another port"
        )
      }
    }
  }
}

/// Rules for `allow`, which are the same for TCP and UDP.
private enum NMEANetworkRules {
  static let allowSummary =
    "Addresses of the permitted senders, as in `[\"192.168.0.1\", \"10.0.0.0/8\"]`; data from others is dropped unread, and `status` lists them. Required, unless `listen` is a loopback or link-local address: then the default is all addresses of that kind, and for link-local ones a warning says so."

  /// Sets the default of `allow`, or reports that it is required.
  static func completeAllow(
    _ allow: inout [AddressRange], _ allowKey: AnyKeyPath, _ listen: HostAddress, _ listenKey: AnyKeyPath,
    _ reader: inout SettingsReader
  ) {
    guard reader.isValid(allowKey), reader.isValid(listenKey), let host = IPAddress(listen.host) else { return }
    if !host.isV4, host.isLinkLocal, !listen.host.contains("%") {
      reader.warning(
        about: listenKey,
        "cannot be used without its interface, as in \"\(HostAddress(host: "\(host)%eth0", port: listen.port))\"")
    }
    if reader.isWritten(allowKey) {
      if let open = allow.first(where: \.coversWholeFamily) {
        reader.warning(
          about: allowKey, "has \(open): any host that reaches this address can forge the vehicle's position")
      }
      return
    }
    if host.isLoopback {
      allow = AddressRange.loopback
    } else if host.isLinkLocal {
      allow = AddressRange.linkLocal
      reader.warning(
        about: allowKey,
        "is missing: any host that reaches \(listen) can forge the vehicle's position; the senders' addresses are expected, as in [\"\(host.isV4 ? "169.254.1.2" : "fe80::1")\"]"
      )
    } else {
      reader.problem(
        with: allowKey,
        "is missing; the senders' addresses are expected, as in [\"192.168.0.1\"]: any host that reaches \(listen) could forge the vehicle's position"
      )
    }
  }
}

extension SettingType where Value == HostAddress {
  /// A host and its port.
  static let hostAddress = SettingType(name: "string", allowed: "`host:port`", text: { "\"\($0)\"" }) {
    value throws(ValueProblem) in
    let example = "\"192.168.0.1:60660\""
    return try HostAddress(try value.line(expected: "an address in quotes, as in \(example),"), example: example)
  }

  /// A numeric address of this machine.
  static let listeningAddress = SettingType(
    name: "string", allowed: "`address:port` in digits", text: { "\"\($0)\"" }
  ) { value throws(ValueProblem) in
    let example = "\"0.0.0.0:10110\" or \"[::1]:10110\""
    let address = try HostAddress(try value.line(expected: "an address in quotes, as in \(example),"), example: example)
    guard let host = IPAddress(address.host), !host.isMulticast else {
      throw ValueProblem(
        message:
          "\"\(address.host.printable)\" is not a numeric address of this machine, as in \(example)")
    }
    return address
  }
}

extension SettingType where Value == IPAddress {
  /// A multicast group.
  static let multicastGroup = SettingType(name: "string", allowed: "a multicast address", text: { "\"\($0)\"" }) {
    value throws(ValueProblem) in
    let text = try value.line(expected: "an address in quotes, as in \"239.255.46.9\",")
    guard let address = IPAddress(text), address.isMulticast else {
      throw ValueProblem(
        message:
          "\"\(text.printable)\" is not a multicast address; one in 224.0.0.0/4 or ff00::/8 is expected, as in \"239.255.46.9\""
      )
    }
    return address
  }
}

extension SettingType where Value == [AddressRange] {
  /// Addresses and ranges of them.
  static let addressRanges = SettingType(name: "array", allowed: "1 to 64 addresses, or ranges as `192.168.0.0/24`") {
    value throws(ValueProblem) in
    let example = "[\"192.168.0.0/24\"]"
    guard case .array(let elements) = value.content else {
      throw .wrongType(of: value, expected: "an array of strings, as in \(example),")
    }
    guard (1...64).contains(elements.count) else {
      throw ValueProblem(message: "has \(elements.count) entries; allowed: 1 to 64, as in \(example)")
    }
    var ranges: [AddressRange] = []
    for element in elements {
      guard case .string(let text) = element.content else {
        throw ValueProblem(
          message: "has \(element.typeName) in it; strings are expected, as in \(example)", position: element.position)
      }
      guard let range = AddressRange(text) else {
        throw ValueProblem(
          message:
            "\"\(text.printable)\" is neither an address nor a range; a range has zero bits after the prefix, as in \(example)",
          position: element.position)
      }
      ranges.append(range)
    }
    return ranges
  }
}
