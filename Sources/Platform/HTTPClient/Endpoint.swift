// SPDX-License-Identifier: Apache-2.0

/// The party that a URL names: what a message may show, unlike the path and the query.
struct Endpoint: Equatable, CustomStringConvertible {
  enum Scheme: String {
    case http
    case https
  }

  let scheme: Scheme
  /// As in the URL, so an IPv6 address stands in brackets.
  let host: Substring
  let port: Int

  /// Nil when the URL is not `http` or `https`, has no host, or a port that is none.
  init?(url: String) {
    guard let colon = url.firstIndex(of: ":"), let scheme = Scheme(rawValue: url[..<colon].lowercased()),
      url[colon...].hasPrefix("://")
    else { return nil }
    let rest = url[colon...].dropFirst(3)
    var authority = rest.prefix { $0 != "/" && $0 != "?" && $0 != "#" }
    if let at = authority.lastIndex(of: "@") { authority = authority[authority.index(after: at)...] }
    // The colons of an IPv6 address end with its bracket.
    let afterHost = authority.lastIndex(of: "]") ?? authority.startIndex
    let portColon = authority[afterHost...].firstIndex(of: ":")
    let host = authority[..<(portColon ?? authority.endIndex)]
    guard !host.isEmpty else { return nil }
    let digits = portColon.map { authority[authority.index(after: $0)...] } ?? ""
    if digits.isEmpty {
      port = scheme == .https ? 443 : 80
    } else {
      guard let port = UInt16(digits), port > 0 else { return nil }
      self.port = Int(port)
    }
    self.scheme = scheme
    self.host = host
  }

  /// `host:port`.
  var description: String { "\(host):\(port)" }
}
