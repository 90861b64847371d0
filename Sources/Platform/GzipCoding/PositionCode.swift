// SPDX-License-Identifier: Apache-2.0

/// Compresses an update with one position as one block of DEFLATE (RFC 1951) with a Huffman code that was made in
/// advance: zlib makes one for each body, which takes four times as long and is five bytes larger.
///
/// The code is the one for which the header and the bodies of recorded drives are smallest together; a code that fits
/// the bodies better takes more bytes to describe. Other bodies are left to zlib: longer ones, and those with a
/// character that has no code.
struct PositionCode: Sendable {
  /// The bits of a code, the first one lowest.
  fileprivate struct Code {
    var bits: UInt16 = 0
    /// 0: there is no code.
    var bitCount: UInt8 = 0
    /// For a match: the number of bytes that it repeats; otherwise 0.
    var matchLength: UInt8 = 0

    /// This code, followed by the extra bits of a length or a distance.
    func followed(by extra: Int, bitCount extraCount: Int) -> Code {
      Code(bits: bits | UInt16(extra) << UInt16(bitCount), bitCount: bitCount + UInt8(extraCount))
    }
  }

  /// The largest body that is encoded.
  private static let maximumSize = 511

  /// The beginning of the block, which describes the code (RFC 1951, section 3.2.7), and its last two bits.
  private static let header: [UInt8] = [
    0x6D, 0x4E, 0xB7, 0x0E, 0x40, 0x50, 0x00, 0xFC, 0x97, 0x9B, 0x91, 0xD7, 0xDB, 0x66, 0x37, 0x9A, 0x6C, 0x82, 0x20,
    0xD1, 0xA2, 0x0C, 0x22, 0xFE, 0x1D, 0x09, 0x61, 0xB0, 0xDD, 0x5D, 0xAE,
  ]
  private static let headerEnd = Code(bits: 1, bitCount: 2)
  /// The number of bits of the code of each byte, of the end of the block (256), and of the lengths of matches (from
  /// 257).
  private static let symbolLengths: [Int] = {
    var lengths = [Int](repeating: 0, count: 257 + lengthRanges.count)
    for (count, text) in [(3, "\""), (5, "0123456789:"), (6, ",-.ALTZacdeghilmnoprstuy{}")] {
      for byte in text.utf8 { lengths[Int(byte)] = count }
    }
    for symbol in [256, 257, 258, 261, 262, 264, 265, 269] { lengths[symbol] = 6 }
    return lengths
  }()
  /// The same for the distances of matches.
  private static let distanceLengths = [0, 0, 0, 0, 0, 0, 3, 3, 3, 0, 3, 3, 3, 3, 3]
  /// The shortest length of each symbol from 257 on, and the number of its extra bits.
  private static let lengthRanges = [
    (3, 0), (4, 0), (5, 0), (6, 0), (7, 0), (8, 0), (9, 0), (10, 0), (11, 1), (13, 1), (15, 1), (17, 1), (19, 2),
  ]

  /// The codes of the bytes, by byte, and the code of the end of the block.
  private let literals: [Code]
  private let endOfBlock: Code
  /// The codes of matches, by length: of that length, or of as much of it as one code allows.
  private let matches: [Code]
  /// The codes of the distances, by distance.
  private let distances: [Code]

  init() {
    let symbols = PositionCode.canonicalCodes(PositionCode.symbolLengths)
    literals = Array(symbols[..<256])
    endOfBlock = symbols[256]
    var matches = [Code(), Code(), Code()]
    for (index, (base, extraCount)) in PositionCode.lengthRanges.enumerated() {
      for extra in 0..<1 << extraCount {
        var code = symbols[257 + index].followed(by: extra, bitCount: extraCount)
        code.matchLength = UInt8(base + extra)
        matches.append(symbols[257 + index].bitCount > 0 ? code : matches[matches.count - 1])
      }
    }
    self.matches = matches
    var distances = [Code()]
    for (index, code) in PositionCode.canonicalCodes(PositionCode.distanceLengths).enumerated() {
      let extraCount = max(index / 2 - 1, 0)
      for extra in 0..<1 << extraCount {
        distances.append(code.bitCount > 0 ? code.followed(by: extra, bitCount: extraCount) : Code())
      }
    }
    self.distances = distances
  }

  /// The compressed body, between `prefix` and `suffix`.
  ///
  /// - Returns: nil if the body is too long, or a byte has no code: zlib has to compress it.
  func encode(_ body: [UInt8], after prefix: [UInt8], before suffix: @autoclosure () -> [UInt8]) -> [UInt8]? {
    guard body.count <= PositionCode.maximumSize else { return nil }
    let start = prefix.count + PositionCode.header.count
    var output = prefix + PositionCode.header
    // No code has more bits than the bytes that it stands for.
    output += repeatElement(0, count: body.count + 2)
    guard let count = encode(body.span, into: &output, at: start) else { return nil }
    output.removeLast(output.count - start - count)
    return output + suffix()
  }

  /// - Returns: the number of bytes written; nil if a byte has no code.
  private func encode(_ body: Span<UInt8>, into output: inout [UInt8], at start: Int) -> Int? {
    var output = output.mutableSpan
    var writer = BitWriter(next: start)
    writer.append(PositionCode.headerEnd, to: &output)
    var finder = RepeatFinder()
    var index = 0
    var found = match(&finder, in: body, at: 0)
    while index < body.count {
      let next = match(&finder, in: body, at: index &+ 1)
      if found.length > 0, found.length >= next.length {
        writer.append(matches[found.length], to: &output)
        writer.append(distances[found.distance], to: &output)
        for repeated in index &+ 2..<index &+ found.length { _ = finder.insert(repeated, in: body) }
        index &+= found.length
        found = match(&finder, in: body, at: index)
      } else {
        // A match that begins at the next byte is better, if it is longer.
        let literal = literals[Int(body[index])]
        guard literal.bitCount > 0 else { return nil }
        writer.append(literal, to: &output)
        index &+= 1
        found = next
      }
    }
    writer.append(endOfBlock, to: &output)
    writer.finish(in: &output)
    return writer.next - start
  }

  /// The earlier text that is repeated at this position; its length is 0 if there is none that can be referred to.
  private func match(
    _ finder: inout RepeatFinder, in body: Span<UInt8>, at index: Int
  ) -> (length: Int, distance: Int) {
    guard let earlier = finder.insert(index, in: body) else { return (0, 0) }
    let distance = index &- earlier
    guard distance < distances.count, distances[distance].bitCount > 0 else { return (0, 0) }
    let limit = min(matches.count &- 1, body.count &- index)
    var length = 0
    while length < limit, body[earlier &+ length] == body[index &+ length] { length &+= 1 }
    return (Int(matches[length].matchLength), distance)
  }

  /// The canonical code with these lengths (RFC 1951, section 3.2.2), by symbol.
  private static func canonicalCodes(_ lengths: [Int]) -> [Code] {
    var codes = [Code](repeating: Code(), count: lengths.count)
    var next = 0
    for count in 1...15 {
      next <<= 1
      for symbol in lengths.indices where lengths[symbol] == count {
        // The highest bit of a code is the first one.
        for bit in 0..<count where next >> bit & 1 == 1 { codes[symbol].bits |= 1 << UInt16(count - 1 - bit) }
        codes[symbol].bitCount = UInt8(count)
        next += 1
      }
    }
    return codes
  }
}

/// Finds the last occurrence of three bytes in a body.
private struct RepeatFinder {
  /// Positions by a hash of the three bytes there.
  private var latest = InlineArray<1024, Int16>(repeating: -1)

  /// Stores this index.
  ///
  /// - Returns: the last index with the same hash.
  mutating func insert(_ index: Int, in body: Span<UInt8>) -> Int? {
    guard index &+ 3 <= body.count else { return nil }
    let bytes = UInt32(body[index]) | UInt32(body[index &+ 1]) << 8 | UInt32(body[index &+ 2]) << 16
    let slot = Int((bytes &* 0x9E37_79B1) >> 22)
    let earlier = latest[slot]
    latest[slot] = Int16(truncatingIfNeeded: index)
    return earlier >= 0 ? Int(earlier) : nil
  }
}

/// Writes bits into bytes, the lowest first.
private struct BitWriter {
  /// The index of the next byte.
  var next: Int
  private var bits: UInt64 = 0
  private var count: UInt64 = 0

  init(next: Int) { self.next = next }

  mutating func append(_ code: PositionCode.Code, to bytes: inout MutableSpan<UInt8>) {
    bits |= UInt64(code.bits) << count
    count &+= UInt64(code.bitCount)
    while count >= 8 {
      bytes[next] = UInt8(truncatingIfNeeded: bits)
      next &+= 1
      bits >>= 8
      count &-= 8
    }
  }

  /// Writes the remaining bits.
  mutating func finish(in bytes: inout MutableSpan<UInt8>) {
    guard count > 0 else { return }
    bytes[next] = UInt8(truncatingIfNeeded: bits)
    next &+= 1
  }
}
