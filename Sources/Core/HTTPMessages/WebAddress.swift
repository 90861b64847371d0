// SPDX-License-Identifier: Apache-2.0

/// A URL as the reader of URLs (`URLReader`, in Platform) has read it: the parts that this program decides by.
package struct WebAddress: Equatable, Sendable, CustomStringConvertible {
  /// In lower case.
  package var scheme: String
  /// In lower case; an IPv6 address without its brackets. An IPv4 address has four numbers, however it was written.
  package var host: String
  /// Nil where the URL names none.
  package var port: Int?
  /// Path and query; `/` where the URL has neither.
  package var path: String
  /// Whether there is a user name or a password in it.
  package var hasCredentials: Bool

  package init(scheme: String, host: String, port: Int? = nil, path: String = "/", hasCredentials: Bool = false) {
    self.scheme = scheme
    self.host = host
    self.port = port
    self.path = path
    self.hasCredentials = hasCredentials
  }

  /// Scheme, host and port, as in `https://[::1]:8443`.
  package var origin: String { "\(scheme)://\(name)\(port.map { ":\($0)" } ?? "")" }

  /// Whether the two are the same party by name, as when their origins are the same.
  package func hasOrigin(of other: WebAddress) -> Bool {
    host == other.host && port == other.port && scheme == other.scheme
  }

  /// The port to connect to: the one that is named, or the scheme's.
  package var connectPort: Int { port ?? (scheme == "https" ? 443 : 80) }

  /// `host:port`: what a message may show, unlike path and query.
  package var description: String { "\(name):\(connectPort)" }

  private var name: String { host.contains(":") ? "[\(host)]" : host }

  /// 127.0.0.0/8, ::1 or localhost: what never leaves the machine.
  package var isLoopback: Bool {
    if host == "localhost" || host == "::1" { return true }
    let parts = host.split(separator: ".", omittingEmptySubsequences: false).map { UInt8($0) }
    return parts.count == 4 && parts.first == 127 && !parts.contains(nil)
  }
}
