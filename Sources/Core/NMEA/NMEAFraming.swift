// SPDX-License-Identifier: Apache-2.0

/// Finds sentences in a byte stream: from `$` to the second digit of the checksum.
///
/// Binary noise, comments, AIS (`!`) and truncated lines are skipped. A sentence that is split between two inputs is
/// buffered, in a buffer that is allocated once.
package struct NMEAFraming {
  /// Maximum length from `$` to the checksum's last digit, in bytes. NMEA 0183 specifies 82 with the line end, which
  /// receivers with many constellations or decimals exceed.
  static let maximumLength = 512

  /// The result of examining the bytes from a `$` on.
  package enum Finding {
    /// A sentence with a valid checksum; `end` is the index after its last byte.
    case sentence(end: Int)
    /// A complete sentence with a wrong checksum.
    case wrongChecksum(end: Int)
    /// The line ended, another sentence began, or there was noise before the checksum. The byte at `next` was not read
    /// yet.
    case unchecked(next: Int)
    case overlong(next: Int)
    /// More bytes are needed.
    case partial
  }

  private var held: [UInt8] = []

  init() {
    held.reserveCapacity(2 * Self.maximumLength)
  }

  /// Whether the last input ended within a sentence.
  var isHolding: Bool { !held.isEmpty }

  /// Examines the bytes from the `$` at `start` on.
  package static func examine(_ bytes: Span<UInt8>, from start: Int) -> Finding {
    let limit = min(bytes.count, start + maximumLength)
    var checksum: UInt8 = 0
    var index = start + 1
    while index < limit {
      let byte = bytes[index]
      // Nearly every byte of a sentence is above `*` in ASCII.
      if byte <= UInt8(ascii: "*") {
        if byte == UInt8(ascii: "*") {
          guard index + 1 < limit else { break }
          guard let high = hexadecimal(bytes[index + 1]) else { return .unchecked(next: index + 1) }
          guard index + 2 < limit else { break }
          guard let low = hexadecimal(bytes[index + 2]) else { return .unchecked(next: index + 2) }
          return high << 4 | low == checksum ? .sentence(end: index + 3) : .wrongChecksum(end: index + 3)
        }
        if byte < 0x20 || byte == UInt8(ascii: "$") { return .unchecked(next: index) }
      }
      checksum ^= byte
      index += 1
    }
    return limit - start == maximumLength ? .overlong(next: index) : .partial
  }

  /// Buffers the rest of an input, which begins with `$`.
  mutating func hold(_ bytes: Span<UInt8>, from start: Int) {
    held.removeAll(keepingCapacity: true)
    append(bytes, start..<bytes.count)
  }

  /// Returns the buffered bytes, completed from the new input up to the end of the line or the maximum length.
  ///
  /// - Parameter scratch: receives the bytes; give it back with `returnBuffer`, so that its memory is reused.
  /// - Returns: the number of bytes from earlier inputs.
  mutating func borrowBuffer(filledFrom bytes: Span<UInt8>, into scratch: inout [UInt8]) -> Int {
    let count = held.count
    let limit = min(bytes.count, Self.maximumLength - min(count, Self.maximumLength))
    var end = 0
    while end < limit {
      end += 1
      if bytes[end - 1] < 0x20 { break }
    }
    append(bytes, 0..<end)
    swap(&held, &scratch)
    return count
  }

  /// Returns the buffer of `borrowBuffer`. `keeping`: whether the sentence is still incomplete.
  mutating func returnBuffer(_ scratch: inout [UInt8], keeping: Bool) {
    swap(&held, &scratch)
    if !keeping { held.removeAll(keepingCapacity: true) }
  }

  /// Discards an incomplete sentence. Returns whether there was one.
  mutating func drop() -> Bool {
    defer { held.removeAll(keepingCapacity: true) }
    return isHolding
  }

  private mutating func append(_ bytes: Span<UInt8>, _ range: Range<Int>) {
    for index in range { held.append(bytes[index]) }
  }

  private static func hexadecimal(_ byte: UInt8) -> UInt8? {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
    case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
    case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
    default: nil
    }
  }
}
