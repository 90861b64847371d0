// SPDX-License-Identifier: Apache-2.0

/// An IPv4 or IPv6 address. IPv4 addresses are stored as IPv4-mapped IPv6 addresses, as a dual-stack socket reports
/// them.
package struct IPAddress: Hashable, Sendable, CustomStringConvertible {
  /// The first eight bytes, in network order.
  package let high: UInt64
  /// The last eight bytes, in network order.
  package let low: UInt64

  /// The bits before an IPv4 address.
  static let mappedBits = 96

  package init(high: UInt64, low: UInt64) {
    self.high = high
    self.low = low
  }

  /// - Parameter number: as in 0x7F00_0001 for 127.0.0.1.
  package init(v4 number: UInt32) {
    self.init(high: 0, low: 0xFFFF_0000_0000 | UInt64(number))
  }

  /// Nil if the text is not a numeric address. The zone of an IPv6 address (`%eth0`) is ignored.
  package init?(_ text: String) {
    guard text.utf8.count <= 64 else { return nil }
    if text.utf8.contains(UInt8(ascii: ":")) {
      self.init(v6: text.prefix { $0 != "%" })
    } else {
      guard let number = IPAddress.parseDotted(text[...]) else { return nil }
      self.init(v4: number)
    }
  }

  /// Whether it is an IPv4 address.
  package var isV4: Bool { high == 0 && low >> 32 == 0xFFFF }
  /// Whether it is a loopback address.
  package var isLoopback: Bool { isV4 ? low >> 24 & 0xFF == 127 : high == 0 && low == 1 }
  /// Whether it is a link-local address (RFC 3927, RFC 4291).
  package var isLinkLocal: Bool { isV4 ? low >> 16 & 0xFFFF == 0xA9FE : high >> 54 == 0x3FA }
  /// Whether it is a multicast address.
  package var isMulticast: Bool { isV4 ? low >> 28 & 0xF == 0xE : high >> 56 == 0xFF }

  package var description: String {
    if isV4 {
      let bytes: [UInt64] = [low >> 24, low >> 16, low >> 8, low]
      return bytes.map { "\($0 & 0xFF)" }.joined(separator: ".")
    }
    let groups: [UInt64] = [high, low].flatMap { half in
      [half >> 48, half >> 32, half >> 16, half].map { (part: UInt64) -> UInt64 in part & 0xFFFF }
    }
    // The longest run of zeros, or the first of several of that length, is compressed (RFC 5952).
    var (start, length) = (0, 0)
    for index in groups.indices where groups[index] == 0 {
      let run = groups[index...].prefix { $0 == 0 }.count
      if run > length, run > 1 { (start, length) = (index, run) }
    }
    func text(_ groups: ArraySlice<UInt64>) -> String {
      groups.map { String($0, radix: 16) }.joined(separator: ":")
    }
    return length == 0 ? text(groups[...]) : "\(text(groups[..<start]))::\(text(groups[(start + length)...]))"
  }

  private init?(v6 text: Substring) {
    var head: [UInt64] = []
    var tail: [UInt64] = []
    var rest = text
    var isTail = false
    if rest.hasPrefix("::") {
      isTail = true
      rest = rest.dropFirst(2)
    }
    while !rest.isEmpty {
      guard head.count + tail.count < 8 else { return nil }
      let group = rest.prefix { $0 != ":" }
      rest = rest[group.endIndex...]
      if rest.isEmpty, group.contains("."), let number = IPAddress.parseDotted(group) {
        let groups = [UInt64(number >> 16), UInt64(number & 0xFFFF)]
        if isTail { tail += groups } else { head += groups }
        continue
      }
      guard (1...4).contains(group.utf8.count), group.allSatisfy(\.isHexDigit), group.utf8.count == group.count,
        let value = UInt64(group, radix: 16)
      else { return nil }
      if isTail { tail.append(value) } else { head.append(value) }
      if rest.isEmpty { break }
      rest = rest.dropFirst()
      if rest.hasPrefix(":") {
        guard !isTail else { return nil }
        isTail = true
        rest = rest.dropFirst()
      } else if rest.isEmpty {
        return nil
      }
    }
    let count = head.count + tail.count
    guard isTail ? count < 8 : count == 8 else { return nil }
    let groups = head + [UInt64](repeating: 0, count: 8 - count) + tail
    self.init(high: groups[..<4].reduce(0) { $0 << 16 | $1 }, low: groups[4...].reduce(0) { $0 << 16 | $1 })
  }

  /// Four decimal numbers. A number with a leading zero could be octal, and is invalid.
  private static func parseDotted(_ text: Substring) -> UInt32? {
    let parts = text.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count == 4 else { return nil }
    var number: UInt32 = 0
    for part in parts {
      guard (1...3).contains(part.utf8.count), part.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
        part.utf8.count == 1 || part.utf8.first != 0x30, let byte = UInt8(part)
      else { return nil }
      number = number << 8 | UInt32(byte)
    }
    return number
  }
}
