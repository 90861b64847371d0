// SPDX-License-Identifier: Apache-2.0

/// A range of addresses with a common prefix, as in `192.168.0.0/24`.
package struct AddressRange: Hashable, Sendable, CustomStringConvertible {
  /// Its first address.
  package let first: IPAddress
  /// The prefix length, out of 128 bits; at least 96 for an IPv4 range.
  private let prefixLength: Int

  /// - Parameter prefixLength: the prefix length as written, 0...32 or 0...128.
  /// - Returns: nil if it is out of range, or the address has bits after the prefix.
  package init?(_ address: IPAddress, prefixLength: Int) {
    let maximum = address.isV4 ? 32 : 128
    guard (0...maximum).contains(prefixLength) else { return nil }
    self.prefixLength = address.isV4 ? prefixLength + IPAddress.mappedBits : prefixLength
    first = AddressRange.masked(address, self.prefixLength)
    guard first == address else { return nil }
  }

  /// As in `192.168.0.0/24`, `fe80::/10`, or a single address. Nil for any other text, and if the address has bits
  /// after the prefix.
  package init?(_ text: String) {
    let parts = text.split(separator: "/", omittingEmptySubsequences: false)
    guard let address = parts.first.flatMap({ IPAddress(String($0)) }), parts.count <= 2 else { return nil }
    guard parts.count == 2 else {
      self.init(address, prefixLength: address.isV4 ? 32 : 128)
      return
    }
    guard (1...3).contains(parts[1].utf8.count), parts[1].utf8.allSatisfy({ (0x30...0x39).contains($0) }),
      let prefixLength = Int(parts[1])
    else { return nil }
    self.init(address, prefixLength: prefixLength)
  }

  /// The sources that can reach a socket at a loopback address.
  package static let loopback = ["127.0.0.0/8", "::1"].compactMap(AddressRange.init)
  /// The sources that can reach a socket at a link-local address.
  package static let linkLocal = ["169.254.0.0/16", "fe80::/10"].compactMap(AddressRange.init)

  /// Whether it contains every address of a family.
  package var coversWholeFamily: Bool { prefixLength == 0 || first.isV4 && prefixLength == IPAddress.mappedBits }

  /// Whether the address has the prefix and the same family.
  package func contains(_ address: IPAddress) -> Bool {
    address.isV4 == first.isV4 && AddressRange.masked(address, prefixLength) == first
  }

  package var description: String { "\(first)/\(first.isV4 ? prefixLength - IPAddress.mappedBits : prefixLength)" }

  private static func masked(_ address: IPAddress, _ prefixLength: Int) -> IPAddress {
    // A shift by the full width or more results in 0.
    IPAddress(
      high: address.high & ~(UInt64.max >> UInt64(min(prefixLength, 64))),
      low: prefixLength <= 64 ? 0 : address.low & ~(UInt64.max >> UInt64(prefixLength - 64)))
  }
}
