// SPDX-License-Identifier: Apache-2.0

/// Sentences that were corrupted on the line but have a valid checksum, like one in 255 sentences with two or more
/// changed bytes. No decoder can detect this. So the simulation finds them with its own parser, and a wrong fix from
/// such a sentence is treated as reported by the receiver; any other wrong fix is a bug of the decoder.
struct ChecksumCollisions {
  private(set) var count = 0
  /// The seconds in which such sentences were written; a pipe may be read a minute later.
  private(set) var seconds: Set<Int> = []
  /// A sentence that began in the last corrupted epoch and has not ended.
  private var tail: [UInt8] = []

  /// Searches for sentences with a valid checksum that are not among those that were written.
  mutating func look(at bytes: [UInt8], written epoch: [UInt8], at second: Int) {
    let written = Set(ChecksumCollisions.sentences(in: epoch).whole)
    let (found, rest) = ChecksumCollisions.sentences(in: tail + bytes)
    for sentence in found where !written.contains(sentence) {
      count += 1
      seconds.insert(second)
    }
    tail = rest
  }

  /// The sentences from `$` to a valid checksum, and the beginning of a sentence that has not ended.
  private static func sentences(in bytes: [UInt8]) -> (whole: [[UInt8]], rest: [UInt8]) {
    var whole: [[UInt8]] = []
    var start = 0
    while let dollar = bytes[start...].firstIndex(of: UInt8(ascii: "$")) {
      start = dollar + 1
      var sum: UInt8 = 0
      var index = start
      while index < bytes.count, bytes[index] >= 0x20, bytes[index] != UInt8(ascii: "$"),
        bytes[index] != UInt8(ascii: "*")
      {
        sum ^= bytes[index]
        index += 1
      }
      guard index + 2 < bytes.count || bytes[index...].allSatisfy({ $0 > UInt8(ascii: "$") }) else { continue }
      guard index + 2 < bytes.count else { return (whole, Array(bytes[dollar...])) }
      guard bytes[index] == UInt8(ascii: "*") else { continue }
      let text = String(decoding: bytes[(index + 1)...(index + 2)], as: UTF8.self)
      if UInt8(text, radix: 16) == sum { whole.append(Array(bytes[dollar...(index + 2)])) }
    }
    return (whole, [])
  }
}
