// SPDX-License-Identifier: Apache-2.0

/// Prevents pages of other sites, open in a browser of this machine, from reading or controlling the emulator.
enum BrowserGuard {
  /// Accepts requests of the emulator's own page and of programs.
  ///
  /// - Throws: `APIError`, PERMISSION_DENIED, if the `Host` is not a loopback name (DNS rebinding), or the `Origin` is
  ///   not that of the page.
  static func check(_ request: Request) throws(APIError) {
    let host = request.header("host")
    if let host, !isLoopback(host) {
      throw APIError(
        .permissionDenied, "This is served as 127.0.0.1, [::1] or localhost only, not as \(UpdateLine.plain(host)).",
        reason: "FOREIGN_HOST")
    }
    if let origin = request.header("origin"), origin.lowercased() != "http://\(host ?? "")".lowercased() {
      throw APIError(
        .permissionDenied, "Requests from pages of \(UpdateLine.plain(origin)) are not allowed.",
        reason: "FOREIGN_ORIGIN")
    }
  }

  /// Accepts requests of programs, of the emulator's own page, and of a person who enters the address: a page of
  /// another site could fill the map with vehicles.
  ///
  /// - Throws: `APIError`, PERMISSION_DENIED, if a browser says that the request is that of another site.
  static func checkSite(_ request: Request) throws(APIError) {
    guard let site = request.header("sec-fetch-site")?.lowercased(), site == "cross-site" || site == "same-site" else {
      return
    }
    throw APIError(.permissionDenied, "Requests from pages of other sites are not allowed.", reason: "FOREIGN_ORIGIN")
  }

  /// - Parameter host: with or without a port. Any port is accepted, because an ssh tunnel may have changed it.
  static func isLoopback(_ host: String) -> Bool {
    let parts = host.split(separator: ":", omittingEmptySubsequences: false)
    if host.hasPrefix("[") {
      return host.hasPrefix("[::1]") && isPort(host.dropFirst("[::1]".count))
    }
    guard let name = parts.first, isPort(host.dropFirst(name.count)) else { return false }
    if name.lowercased() == "localhost" { return true }
    let numbers = name.split(separator: ".", omittingEmptySubsequences: false)
    return numbers.count == 4 && numbers[0] == "127"
      && numbers.allSatisfy { UInt8($0) != nil && $0.utf8.allSatisfy { (0x30...0x39).contains($0) } }
  }

  private static func isPort(_ text: Substring) -> Bool {
    text.isEmpty || text.hasPrefix(":") && UInt16(text.dropFirst()) != nil
  }
}
