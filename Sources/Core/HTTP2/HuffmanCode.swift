// SPDX-License-Identifier: Apache-2.0

/// The Huffman code of HPACK (RFC 7541, appendix B). It is canonical: the lengths determine the code, because codes of
/// one length are consecutive in the order of their symbols.
enum HuffmanCode {
  /// The code length of each symbol in bits; the last is EOS, which strings must not contain.
  private static let lengths: [UInt8] = [
    13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 30, 28, 28, 28, 28, 28,
    28, 28, 28, 28, 6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6, 5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 7, 8, 15,
    6, 12, 10, 13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19, 13, 14, 6,
    15, 5, 6, 5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5, 6, 7, 6, 5, 5, 6, 7, 7, 7, 7, 7, 15, 11, 14, 13, 28, 20, 22, 20,
    20, 22, 22, 22, 23, 22, 23, 23, 23, 23, 23, 24, 23, 24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23,
    24, 22, 21, 20, 22, 22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23, 21, 21, 22, 21, 23, 22, 23, 23, 20, 22, 22,
    22, 23, 22, 22, 23, 26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25, 19, 21, 26, 27, 27, 26, 27,
    24, 21, 21, 26, 26, 28, 27, 27, 27, 20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25, 25, 24, 24, 26, 23, 26, 27, 26,
    26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26, 30,
  ]
  private static let maximumLength = 30
  private static let endOfString: UInt16 = 256

  /// The codes of one length: the first, and the index of its symbol in `symbols`.
  private struct Row {
    var first: UInt32 = 0
    var count: UInt32 = 0
    var offset = 0
  }

  /// Symbols in the order of their codes.
  private static let symbols: [UInt16] = lengths.indices.map { UInt16($0) }
    .sorted { (lengths[Int($0)], $0) < (lengths[Int($1)], $1) }

  /// By length, 0 to 30.
  private static let rows: [Row] = {
    var rows = [Row](repeating: Row(), count: maximumLength + 1)
    for length in lengths { rows[Int(length)].count += 1 }
    for length in 1...maximumLength {
      rows[length].first = (rows[length - 1].first + rows[length - 1].count) << 1
      rows[length].offset = rows[length - 1].offset + Int(rows[length - 1].count)
    }
    return rows
  }()

  /// The code of each byte.
  private static let codes: [UInt32] = {
    var codes = [UInt32](repeating: 0, count: 257)
    for length in 1...maximumLength {
      for index in 0..<Int(rows[length].count) {
        codes[Int(symbols[rows[length].offset + index])] = rows[length].first + UInt32(index)
      }
    }
    return codes
  }()

  /// The size of an encoded text in bytes.
  static func size(of text: [UInt8]) -> Int {
    var bits = 0
    for byte in text { bits += Int(lengths[Int(byte)]) }
    return (bits + 7) / 8
  }

  /// Appends an encoded text, padded with ones.
  static func encode(_ text: [UInt8], into output: inout [UInt8]) {
    var bits: UInt64 = 0
    var count = 0
    for byte in text {
      let length = Int(lengths[Int(byte)])
      bits = bits << UInt64(length) | UInt64(codes[Int(byte)])
      count += length
      while count >= 8 {
        count -= 8
        output.append(UInt8(truncatingIfNeeded: bits >> UInt64(count)))
      }
    }
    if count > 0 {
      output.append(UInt8(truncatingIfNeeded: bits << UInt64(8 - count)) | UInt8(0xFF) >> UInt8(count))
    }
  }

  /// Decodes a text; nil if it contains EOS, or is not padded with at most seven ones (RFC 7541, section 5.2).
  static func decode(_ input: ArraySlice<UInt8>) -> [UInt8]? {
    var output: [UInt8] = []
    output.reserveCapacity(input.count * 8 / 5)
    var code: UInt32 = 0
    var length = 0
    for byte in input {
      for bit in (0..<8).reversed() {
        code = code << 1 | UInt32(byte >> UInt8(bit) & 1)
        length += 1
        let row = rows[length]
        if code >= row.first, code - row.first < row.count {
          let symbol = symbols[row.offset + Int(code - row.first)]
          guard symbol != endOfString else { return nil }
          output.append(UInt8(truncatingIfNeeded: symbol))
          code = 0
          length = 0
        } else if length == maximumLength {
          return nil
        }
      }
    }
    return length < 8 && code == UInt32(1) << UInt32(length) - 1 ? output : nil
  }
}
