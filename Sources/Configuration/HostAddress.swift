// SPDX-License-Identifier: Apache-2.0
import ExternalInput

/// A host and a port, such as `192.168.0.1:10110`.
package struct HostAddress: Equatable, Sendable, CustomStringConvertible {
  /// A name, or a numeric address without brackets.
  package var host: String
  /// 1 to 65535.
  package var port: Int

  /// - Parameter host: a name, or a numeric address without brackets.
  package init(host: String, port: Int) {
    self.host = host
    self.port = port
  }

  /// As in a settings file.
  package var description: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }

  /// Whether nothing can listen at one of these numeric addresses while something listens at the other.
  func overlaps(_ other: HostAddress) -> Bool {
    let hosts = [host, other.host]
    guard port == other.port else { return false }
    // `::` also receives what is sent to IPv4 addresses.
    return host == other.host || hosts.contains("::")
      || (hosts.contains("0.0.0.0") && !hosts.contains { $0.contains(":") })
  }
}

extension HostAddress {
  /// Parses a host and a port; an IPv6 address is in brackets.
  init(_ text: String, example: String) throws(ValueProblem) {
    try HostAddress.requireBrackets(text)
    guard let (host, rest) = HostAddress.split(text), HostAddress.isHost(host), let rest else {
      throw ValueProblem(
        message: "\"\(text.printable)\" is not a host with a port; an address as in \(example) is expected")
    }
    if rest.contains(":") {
      throw ValueProblem(message: "\"\(text.printable)\" has several colons; \(HostAddress.bracketsAdvice)")
    }
    self.host = host
    port = try HostAddress.port(String(rest))
  }

  /// How an IPv6 address is written.
  static let bracketsAdvice = "write an IPv6 address in brackets, as in [fd00::1]:10110"

  /// Rejects an IPv6 address without brackets, with or without a port.
  ///
  /// - Parameter text: a host with or without a port.
  static func requireBrackets(_ text: String) throws(ValueProblem) {
    guard !text.hasPrefix("["), text.contains(text: "::") || text.filter({ $0 == ":" }).count > 2,
      text.allSatisfy({ $0.isHexDigit || ":.%".contains($0) })
    else { return }
    throw ValueProblem(message: "\"\(text.printable)\" has an IPv6 address without brackets; \(bracketsAdvice)")
  }

  /// Parses a port.
  static func port(_ text: String) throws(ValueProblem) -> Int {
    guard (1...5).contains(text.utf8.count), text.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
      let port = Int(text), (1...65_535).contains(port)
    else { throw ValueProblem(message: "has the port \"\(text.printable)\"; allowed: 1 to 65535") }
    return port
  }

  /// The host without brackets, and the text after its colon; nil if the text is not valid.
  static func split(_ text: String) -> (host: String, rest: Substring?)? {
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

  /// Whether it has the form of a name or of a numeric address.
  static func isHost(_ host: String) -> Bool {
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
