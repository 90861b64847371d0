// SPDX-License-Identifier: Apache-2.0

/// The parts of a URL that this program needs, as parsed by `URLReader` in Platform.
package struct WebAddress: Equatable, Sendable, CustomStringConvertible {
  /// In lower case.
  package var scheme: String
  /// In lower case; an IPv6 address without brackets. An IPv4 address is in dotted-decimal form.
  package var host: String
  /// Nil if the URL has none.
  package var port: Int?
  /// Path and query; `/` if the URL has neither.
  package var path: String
  /// Whether it contains a user name or a password.
  package var hasCredentials: Bool

  package init(scheme: String, host: String, port: Int? = nil, path: String = "/", hasCredentials: Bool = false) {
    self.scheme = scheme
    self.host = host
    self.port = port
    self.path = path
    self.hasCredentials = hasCredentials
  }

  /// Scheme, host and port, as in `https://[::1]:8443`.
  package var origin: String { "\(scheme)://\(bracketedHost)\(port.map { ":\($0)" } ?? "")" }

  /// Whether both have the same origin.
  package func hasSameOrigin(as other: WebAddress) -> Bool {
    host == other.host && port == other.port && scheme == other.scheme
  }

  /// The port to connect to: the explicit one, or the scheme's default.
  package var connectPort: Int { port ?? (scheme == "https" ? 443 : 80) }

  /// `host:port`, which may be logged, unlike path and query.
  package var description: String { "\(bracketedHost):\(connectPort)" }

  private var bracketedHost: String { host.contains(":") ? "[\(host)]" : host }

  /// 127.0.0.0/8, ::1 or localhost.
  package var isLoopback: Bool {
    if host == "localhost" || host == "::1" { return true }
    let parts = host.split(separator: ".", omittingEmptySubsequences: false).map { UInt8($0) }
    return parts.count == 4 && parts.first == 127 && !parts.contains(nil)
  }
}
