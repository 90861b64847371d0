// SPDX-License-Identifier: Apache-2.0

/// RFC 4648, both alphabets.
enum Base64 {
  enum Alphabet {
    /// With `+`, `/` and padding.
    case standard
    /// With `-`, `_` and no padding, as JWTs use it.
    case url

    fileprivate var characters: [UInt8] {
      let common = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
      return Array((common + (self == .standard ? "+/" : "-_")).utf8)
    }
  }

  /// URL alphabet, no padding.
  static func encodeURLSafe(_ bytes: [UInt8]) -> String {
    let characters = Alphabet.url.characters
    var out: [UInt8] = []
    var (buffer, bits) = (0 as UInt32, 0)
    for byte in bytes {
      buffer = buffer << 8 | UInt32(byte)
      bits += 8
      while bits >= 6 {
        bits -= 6
        out.append(characters[Int(buffer >> bits & 63)])
      }
    }
    if bits > 0 { out.append(characters[Int(buffer << (6 - bits) & 63)]) }
    return String(decoding: out, as: UTF8.self)
  }

  /// - Returns: nil if a character, the length or the padding is invalid.
  static func decode(_ text: some StringProtocol, alphabet: Alphabet) -> [UInt8]? {
    var digits = Array(text.utf8)
    if alphabet == .standard {
      guard digits.count % 4 == 0 else { return nil }
      for _ in 0..<2 where digits.last == UInt8(ascii: "=") { digits.removeLast() }
    }
    guard digits.count % 4 != 1 else { return nil }
    let characters = alphabet.characters
    var values = [UInt8](repeating: 64, count: 256)
    for (value, character) in characters.enumerated() { values[Int(character)] = UInt8(value) }
    var out: [UInt8] = []
    var (buffer, bits) = (0 as UInt32, 0)
    for digit in digits {
      let value = values[Int(digit)]
      guard value < 64 else { return nil }
      buffer = (buffer << 6 | UInt32(value)) & 0xFFFF
      bits += 6
      if bits >= 8 {
        bits -= 8
        out.append(UInt8(truncatingIfNeeded: buffer >> bits))
      }
    }
    return out
  }
}
