// SPDX-License-Identifier: Apache-2.0

/// A URL as far as the settings judge one. It is strict, because what it calls loopback may go without encryption:
/// whatever another parser could read another way is refused.
struct WebAddress: Equatable, Sendable {
  /// In lower case.
  let scheme: String
  /// In lower case; an IPv6 address without its brackets.
  let host: String
  /// As it is written.
  let port: Int?
  /// Path and query, as they are written.
  let path: String

  /// Scheme, host and port.
  var origin: String {
    let name = host.contains(":") ? "[\(host)]" : host
    return "\(scheme)://\(name)\(port.map { ":\($0)" } ?? "")"
  }

  /// - Parameter schemes: those that are allowed, the preferred one first.
  static func parse(_ text: String, schemes: [String]) throws(ValueProblem) -> WebAddress {
    let example = "\"\(schemes.first ?? "https")://host.example.com\""
    guard text.utf8.allSatisfy({ (0x21...0x7E).contains($0) && $0 != UInt8(ascii: "\\") }) else {
      throw ValueProblem(message: "has a character that no URL has; a URL as in \(example) is expected")
    }
    guard let colon = text.firstIndex(of: ":"), text[colon...].hasPrefix("://") else {
      throw ValueProblem(message: "has no scheme; a URL as in \(example) is expected")
    }
    let scheme = text[..<colon].lowercased()
    guard schemes.contains(scheme) else {
      throw ValueProblem(
        message: "has the scheme \"\(scheme.printable)\"; allowed: \(schemes.joined(separator: ", "))")
    }
    let rest = text[colon...].dropFirst(3)
    let authority = rest.prefix { $0 != "/" && $0 != "?" && $0 != "#" }
    let path = rest[authority.endIndex...]
    guard !authority.contains("@") else {
      // It is not shown: it may hold a password.
      throw ValueProblem(message: "has a user name or password in it; secrets do not belong into the settings")
    }
    guard !path.contains("#") else { throw ValueProblem(message: "has a fragment (#), which is never sent") }
    let (host, portText) = split(authority)
    guard let host else {
      throw ValueProblem(
        message: "has no valid host name or address; a URL as in \(example) is expected, and no placeholder in its host"
      )
    }
    var port: Int?
    if let portText {
      guard !portText.isEmpty, portText.utf8.count <= 5, portText.allSatisfy({ $0.isASCII && $0.isNumber }),
        let number = Int(portText), (1...65_535).contains(number)
      else { throw ValueProblem(message: "has the port \"\(portText.printable)\"; allowed: 1 to 65535") }
      port = number
    }
    return WebAddress(scheme: scheme, host: host, port: port, path: String(path))
  }

  /// 127.0.0.0/8, ::1 or localhost: what never leaves the machine.
  var isLoopback: Bool {
    if host == "localhost" || host == "::1" { return true }
    let parts = host.split(separator: ".", omittingEmptySubsequences: false)
    return parts.count == 4 && parts.first == "127"
      && parts.allSatisfy { part in
        // "010" is eight to some and ten to others.
        (1...3).contains(part.utf8.count) && part.allSatisfy { $0.isASCII && $0.isNumber }
          && (part.utf8.count == 1 || part.first != "0") && Int(part).map { $0 <= 255 } == true
      }
  }

  /// Refuses what would carry tokens and positions in the clear.
  func requireEncryption() throws(ValueProblem) {
    guard scheme == "https" || isLoopback else {
      throw ValueProblem(
        message: "http:// would show tokens and positions to everybody on the way; write https:// "
          + "(http:// is allowed to 127.0.0.0/8, [::1] and localhost only)")
    }
  }

  /// Host and port; a nil host is not one.
  private static func split(_ authority: Substring) -> (host: String?, port: String?) {
    if authority.hasPrefix("[") {
      guard let close = authority.firstIndex(of: "]") else { return (nil, nil) }
      let host = authority[authority.index(after: authority.startIndex)..<close].lowercased()
      let rest = authority[authority.index(after: close)...]
      let isAddress =
        host.count >= 2 && host.contains(":") && host.allSatisfy { $0.isHexDigit || $0 == ":" || $0 == "." }
      guard isAddress, rest.isEmpty || rest.hasPrefix(":") else { return (nil, nil) }
      return (host, rest.isEmpty ? nil : String(rest.dropFirst()))
    }
    let parts = authority.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
    guard let host = parts.first?.lowercased(), !host.isEmpty, host.utf8.count <= 253,
      host.allSatisfy({ $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "." || $0 == "-" || $0 == "_") }),
      host.first != ".", host.first != "-"
    else { return (nil, nil) }
    return (host, parts.count > 1 ? parts.last.map(String.init) : nil)
  }
}
