// SPDX-License-Identifier: Apache-2.0

/// The background tiles of the live map: the only thing that the page loads from another server.
package struct TileSource: Equatable, Sendable {
  /// The template of the tiles' URLs, which contains `{z}`, `{x}` and `{y}`.
  package let url: String
  /// The copyright notice, as plain text.
  package let attribution: String
  /// Scheme, host and port, as a content security policy names them.
  package let origin: String

  /// - Throws: `EmulatorError` with the expected format.
  package init(url: String, attribution: String) throws(EmulatorError) {
    let formatError = EmulatorError(
      .tiles, "\(UpdateLine.plain(url)): expected a URL such as https://tiles.example.com/{z}/{x}/{y}.png")
    guard let scheme = ["https://", "http://"].first(where: url.hasPrefix), url.utf8.count <= 500 else {
      throw formatError
    }
    let rest = url.dropFirst(scheme.count)
    let authority = rest.prefix { $0 != "/" }
    // Other characters could change the content security policy that contains the host.
    guard !authority.isEmpty, authority.utf8.allSatisfy({ Self.isHostByte($0) }) else { throw formatError }
    let parts = rest.dropFirst(authority.count).split(separator: "{", omittingEmptySubsequences: false)
    // Each of {x}, {y} and {z} once.
    guard parts.count == 4, Set(parts.dropFirst().map { $0.prefix(2) }) == ["x}", "y}", "z}"] else { throw formatError }
    let path = parts[0] + parts.dropFirst().map { $0.dropFirst(2) }.joined()
    guard path.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && !Array("{}\"'<>\\#".utf8).contains($0) }) else {
      throw formatError
    }
    guard !attribution.isEmpty, attribution.utf8.count <= 500, UpdateLine.plain(attribution) == attribution else {
      throw EmulatorError(.tiles, "the attribution is a line of text, such as \"© OpenStreetMap contributors\"")
    }
    self.url = url
    self.attribution = attribution
    origin = scheme + authority
  }

  private static func isHostByte(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: ":"):
      true
    default: false
    }
  }

  var json: JSON { ["url": .string(url), "attribution": .string(attribution)] }
}
