// SPDX-License-Identifier: Apache-2.0

/// Reads the payload of a netlink message: numbers in native byte order, attributes padded to four bytes. Missing data
/// is nil.
struct NetlinkReader {
  private var rest: ArraySlice<UInt8>

  init(_ bytes: ArraySlice<UInt8>) {
    rest = bytes
  }

  mutating func number<Number: FixedWidthInteger>(_: Number.Type) -> Number? {
    let size = Number.bitWidth / 8
    guard rest.count >= size else { return nil }
    var number: Number = 0
    for (place, byte) in rest.prefix(size).enumerated() {
      number |= Number(truncatingIfNeeded: byte) << Number(truncatingIfNeeded: place * 8)
    }
    rest.removeFirst(size)
    // Assembled in little-endian order.
    return Number(littleEndian: number)
  }

  mutating func read(_ count: Int) -> ArraySlice<UInt8>? {
    guard count >= 0, count <= rest.count else { return nil }
    defer { rest.removeFirst(count) }
    return rest.prefix(count)
  }

  mutating func skip(_ count: Int) -> Bool { read(count) != nil }

  /// Skips to the next multiple of four, after this many bytes.
  mutating func align(_ count: Int) {
    _ = read(min(-count & 3, rest.count))
  }

  /// Calls `body` with each attribute and its type, without flag bits, up to the first malformed one.
  func attributes(_ body: (UInt16, ArraySlice<UInt8>) -> Void) {
    var reader = self
    while let length = reader.number(UInt16.self), let type = reader.number(UInt16.self), length >= 4,
      let value = reader.read(Int(length) - 4)
    {
      body(type & 0x3FFF, value)
      reader.align(Int(length))
    }
  }

  /// The links of RTA_MULTIPATH: a list of struct rtnexthop, without dead ones.
  mutating func nextHops() -> [Int32] {
    var links: [Int32] = []
    while let length = number(UInt16.self), let flags = number(UInt8.self), skip(1), let link = number(Int32.self),
      length >= 8, skip(Int(length) - 8)
    {
      if flags & 0x1 == 0 { links.append(link) }
      align(Int(length))
    }
    return links
  }
}
