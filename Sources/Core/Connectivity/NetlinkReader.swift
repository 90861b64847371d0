// SPDX-License-Identifier: Apache-2.0

/// Reads what the kernel packs into a netlink message: numbers in the machine's own byte order, attributes padded to four
/// bytes. What is not there is nil.
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
    // Put together as a little-endian machine has it in memory.
    return Number(littleEndian: number)
  }

  mutating func take(_ count: Int) -> ArraySlice<UInt8>? {
    guard count >= 0, count <= rest.count else { return nil }
    defer { rest.removeFirst(count) }
    return rest.prefix(count)
  }

  mutating func skip(_ count: Int) -> Bool { take(count) != nil }

  /// Goes on at the next multiple of four, after something of so many bytes.
  mutating func align(_ count: Int) {
    _ = take(min(-count & 3, rest.count))
  }

  /// Each attribute with its type, without the flag bits, until the first that is malformed.
  func attributes(_ body: (UInt16, ArraySlice<UInt8>) -> Void) {
    var reader = self
    while let length = reader.number(UInt16.self), let type = reader.number(UInt16.self), length >= 4,
      let value = reader.take(Int(length) - 4)
    {
      body(type & 0x3FFF, value)
      reader.align(Int(length))
    }
  }

  /// The links of RTA_MULTIPATH: a row of struct rtnexthop, those that are dead left out.
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
