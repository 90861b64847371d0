// SPDX-License-Identifier: Apache-2.0

/// A JSON reader that is independent of the daemon's own: it rejects duplicate keys, and invalid numbers.
indirect enum StrictJSON: Equatable {
  case null
  case bool(Bool)
  case number(Double)
  case string(String)
  case array([StrictJSON])
  case object([String: StrictJSON])

  init?(_ bytes: [UInt8]) {
    var reader = Reader(bytes: bytes)
    guard let value = reader.value(), reader.isAtEnd else { return nil }
    self = value
  }

  var object: [String: StrictJSON]? { if case .object(let members) = self { members } else { nil } }
  var array: [StrictJSON]? { if case .array(let elements) = self { elements } else { nil } }
  var string: String? { if case .string(let text) = self { text } else { nil } }
  var number: Double? { if case .number(let value) = self { value } else { nil } }

  private struct Reader {
    let bytes: [UInt8]
    var index = 0

    init(bytes: [UInt8]) { self.bytes = bytes }

    var isAtEnd: Bool { index == bytes.count }
    private var current: UInt8? { index < bytes.count ? bytes[index] : nil }

    private mutating func skip(_ character: Unicode.Scalar) -> Bool {
      guard let byte = current, UInt32(byte) == character.value else { return false }
      index += 1
      return true
    }

    private mutating func skip(word: StaticString) -> Bool {
      let count = word.utf8CodeUnitCount
      guard index + count <= bytes.count else { return false }
      let matches = word.withUTF8Buffer { $0.elementsEqual(bytes[index..<index + count]) }
      if matches { index += count }
      return matches
    }

    mutating func value() -> StrictJSON? {
      switch current {
      case UInt8(ascii: "{"): return object()
      case UInt8(ascii: "["): return array()
      case UInt8(ascii: "\""): return text().map { .string($0) }
      case UInt8(ascii: "t"): return skip(word: "true") ? .bool(true) : nil
      case UInt8(ascii: "f"): return skip(word: "false") ? .bool(false) : nil
      case UInt8(ascii: "n"): return skip(word: "null") ? .null : nil
      default: return number()
      }
    }

    private mutating func object() -> StrictJSON? {
      var members: [String: StrictJSON] = [:]
      guard skip("{") else { return nil }
      if skip("}") { return .object(members) }
      repeat {
        guard let key = text(), skip(":"), let value = value(), members.updateValue(value, forKey: key) == nil else {
          return nil
        }
      } while skip(",")
      return skip("}") ? .object(members) : nil
    }

    private mutating func array() -> StrictJSON? {
      var elements: [StrictJSON] = []
      guard skip("[") else { return nil }
      if skip("]") { return .array(elements) }
      repeat {
        guard let value = value() else { return nil }
        elements.append(value)
      } while skip(",")
      return skip("]") ? .array(elements) : nil
    }

    /// A string without escapes except `\"`, `\\` and `\/`: requests contain no others.
    private mutating func text() -> String? {
      guard skip("\"") else { return nil }
      var text: [UInt8] = []
      while let byte = current, byte >= 32 {
        index += 1
        if byte == UInt8(ascii: "\"") { return String(decoding: text, as: UTF8.self) }
        if byte == UInt8(ascii: "\\") {
          guard let escaped = current, [34, 47, 92].contains(escaped) else { return nil }
          index += 1
          text.append(escaped)
        } else {
          text.append(byte)
        }
      }
      return nil
    }

    private mutating func number() -> StrictJSON? {
      let start = index
      while let byte = current, (48...57).contains(byte) || [43, 45, 46, 69, 101].contains(byte) { index += 1 }
      guard index > start, bytes[start] == UInt8(ascii: "-") || (48...57).contains(bytes[start]) else { return nil }
      return Double(String(decoding: bytes[start..<index], as: UTF8.self)).map { .number($0) }
    }
  }
}
