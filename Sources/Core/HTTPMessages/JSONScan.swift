// SPDX-License-Identifier: Apache-2.0
import ExternalInput

/// Validates JSON (RFC 8259) without creating values: for responses whose content is not needed.
package struct JSONScan {
  /// Maximum nesting of arrays and objects.
  package static let deepest = JSONBounds.maximumDepth

  private let bytes: [UInt8]
  private var next = 0

  /// Whether a document is an object, and has a member.
  ///
  /// - Parameters:
  ///   - bytes: any input. It is only accepted as one complete JSON document in UTF-8, not nested deeper than
  ///     ``deepest``, without a byte order mark.
  ///   - key: ASCII.
  /// - Returns: whether the object has a member of this name; nil if it is not a valid object.
  package static func object(_ bytes: [UInt8], hasMember key: String) -> Bool? {
    var scan = JSONScan(bytes: bytes)
    return scan.document(lookingFor: Array(key.utf8))
  }

  private init(bytes: [UInt8]) {
    self.bytes = bytes
  }

  /// What is expected next.
  private enum Expectation {
    case value
    /// A value, or the end of the array that has just begun.
    case firstElement
    case key
    /// A key, or the end of the object that has just begun.
    case firstKey
    /// A comma, or the end of what is open.
    case separator
  }

  private mutating func document(lookingFor wanted: [UInt8]) -> Bool? {
    // One bit per nesting level, the innermost lowest: whether it is an object.
    var (levels, depth, isFound) = (UInt64(0), 0, false)
    var expected = Expectation.value
    skipSpace()
    guard byte == UInt8(ascii: "{") else { return nil }
    repeat {
      skipSpace()
      guard let first = byte else { return nil }
      let isObject = levels & 1 == 1
      switch (expected, first) {
      case (.firstKey, UInt8(ascii: "}")), (.firstElement, UInt8(ascii: "]")),
        (.separator, UInt8(ascii: "}")) where isObject, (.separator, UInt8(ascii: "]")) where !isObject:
        next += 1
        levels >>= 1
        depth -= 1
        expected = .separator
      case (.separator, UInt8(ascii: ",")):
        next += 1
        expected = isObject ? .key : .value
      case (.key, UInt8(ascii: "\"")), (.firstKey, UInt8(ascii: "\"")):
        guard let isWanted = string(is: depth == 1 ? wanted : nil) else { return nil }
        isFound = isFound || isWanted
        skipSpace()
        guard byte == UInt8(ascii: ":") else { return nil }
        next += 1
        expected = .value
      case (.value, UInt8(ascii: "{")), (.firstElement, UInt8(ascii: "{")), (.value, UInt8(ascii: "[")),
        (.firstElement, UInt8(ascii: "[")):
        guard depth < JSONScan.deepest else { return nil }
        next += 1
        depth += 1
        let opensObject = first == UInt8(ascii: "{")
        levels = levels << 1 | (opensObject ? 1 : 0)
        expected = opensObject ? .firstKey : .firstElement
      case (.value, _), (.firstElement, _):
        guard scalar(first) else { return nil }
        expected = .separator
      default: return nil
      }
    } while depth > 0
    skipSpace()
    return byte == nil ? isFound : nil
  }

  private var byte: UInt8? { next < bytes.count ? bytes[next] : nil }

  private mutating func skipSpace() {
    while let byte, byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 { next += 1 }
  }

  /// A value that is neither array nor object.
  private mutating func scalar(_ first: UInt8) -> Bool {
    switch first {
    case UInt8(ascii: "\""): string(is: nil) != nil
    case UInt8(ascii: "t"): word("true")
    case UInt8(ascii: "f"): word("false")
    case UInt8(ascii: "n"): word("null")
    default: number()
    }
  }

  private mutating func word(_ word: String) -> Bool {
    for wanted in word.utf8 {
      guard byte == wanted else { return false }
      next += 1
    }
    return true
  }

  /// - Returns: whether there is at least one digit.
  private mutating func digits() -> Bool {
    let start = next
    while let byte, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) { next += 1 }
    return next > start
  }

  private mutating func number() -> Bool {
    if byte == UInt8(ascii: "-") { next += 1 }
    if byte == UInt8(ascii: "0") {
      next += 1
    } else if !digits() {
      return false
    }
    if byte == UInt8(ascii: ".") {
      next += 1
      guard digits() else { return false }
    }
    if byte == UInt8(ascii: "e") || byte == UInt8(ascii: "E") {
      next += 1
      if byte == UInt8(ascii: "+") || byte == UInt8(ascii: "-") { next += 1 }
      return digits()
    }
    return true
  }

  // MARK: - Strings

  /// - Parameter wanted: ASCII; nil matches no string.
  /// - Returns: whether the string is the wanted one; nil if it is not a valid string.
  private mutating func string(is wanted: [UInt8]?) -> Bool? {
    next += 1
    // The number of characters that match so far; nil after a mismatch.
    var matched = wanted == nil ? nil : 0 as Int?
    while let byte {
      var unit = UInt32(byte)
      switch byte {
      case UInt8(ascii: "\""):
        next += 1
        return matched.map { $0 == wanted?.count } ?? false
      case UInt8(ascii: "\\"):
        guard let escaped = escape() else { return nil }
        unit = escaped
      case ..<0x20: return nil
      case ..<0x80: next += 1
      default: guard skipCharacter(byte) else { return nil }
      }
      if let count = matched, let wanted {
        matched = count < wanted.count && UInt32(wanted[count]) == unit ? count + 1 : nil
      }
    }
    return nil
  }

  /// - Returns: the escaped character, or for characters beyond ASCII any of them; nil if the escape is invalid.
  private mutating func escape() -> UInt32? {
    next += 1
    guard let byte else { return nil }
    next += 1
    switch byte {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return UInt32(byte)
    case UInt8(ascii: "b"): return 0x08
    case UInt8(ascii: "f"): return 0x0C
    case UInt8(ascii: "n"): return 0x0A
    case UInt8(ascii: "r"): return 0x0D
    case UInt8(ascii: "t"): return 0x09
    case UInt8(ascii: "u"):
      guard let unit = hexadecimal() else { return nil }
      switch unit {
      case 0xD800..<0xDC00:
        guard word("\\u"), let low = hexadecimal(), (0xDC00..<0xE000).contains(low) else { return nil }
      case 0xDC00..<0xE000: return nil
      default: break
      }
      return unit
    default: return nil
    }
  }

  private mutating func hexadecimal() -> UInt32? {
    var value: UInt32 = 0
    for _ in 0..<4 {
      guard let byte else { return nil }
      switch byte {
      case UInt8(ascii: "0")...UInt8(ascii: "9"): value = value << 4 | UInt32(byte - UInt8(ascii: "0"))
      case UInt8(ascii: "a")...UInt8(ascii: "f"): value = value << 4 | UInt32(byte - UInt8(ascii: "a") + 10)
      case UInt8(ascii: "A")...UInt8(ascii: "F"): value = value << 4 | UInt32(byte - UInt8(ascii: "A") + 10)
      default: return nil
      }
      next += 1
    }
    return value
  }

  /// One character beyond ASCII, in UTF-8 (RFC 3629, section 4): the second byte has a special range after some first
  /// ones.
  private mutating func skipCharacter(_ first: UInt8) -> Bool {
    let (length, second): (Int, ClosedRange<UInt8>) =
      switch first {
      case 0xC2...0xDF: (2, 0x80...0xBF)
      case 0xE0: (3, 0xA0...0xBF)
      case 0xED: (3, 0x80...0x9F)
      case 0xE1...0xEF: (3, 0x80...0xBF)
      case 0xF0: (4, 0x90...0xBF)
      case 0xF1...0xF3: (4, 0x80...0xBF)
      case 0xF4: (4, 0x80...0x8F)
      default: (0, 0...0)
      }
    guard length > 0, bytes.count - next >= length, second.contains(bytes[next + 1]) else { return false }
    for index in next + 2..<next + length where !(0x80...0xBF).contains(bytes[index]) { return false }
    next += length
    return true
  }
}
