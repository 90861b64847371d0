// SPDX-License-Identifier: Apache-2.0

/// Why a document is not JSON.
package struct JSONError: Error, Equatable {
  /// What was expected.
  package var message: String
  /// Bytes from the start of the document.
  package var offset: Int
}

/// Parses strict RFC 8259: no comments, no trailing commas, only UTF-8, and no duplicate names in an object, which
/// Google's parser also rejects.
struct JSONParser {
  /// Maximum nesting; that of Google's parser is 100.
  private static let maximumDepth = 100

  private let bytes: [UInt8]
  private var position = 0

  private init(_ bytes: [UInt8]) {
    self.bytes = bytes
  }

  /// - Throws: `JSONError` with the offset of the first invalid byte.
  static func parse(_ bytes: [UInt8]) throws(JSONError) -> JSON {
    var parser = JSONParser(bytes)
    let value = try parser.value(depth: 0)
    parser.skipSpace()
    if parser.peek != nil { throw parser.error("nothing after the document") }
    return value
  }

  private var peek: UInt8? { position < bytes.count ? bytes[position] : nil }

  private func error(_ expected: String) -> JSONError {
    JSONError(message: "expected \(expected)", offset: position)
  }

  private mutating func skipSpace() {
    while let byte = peek, byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 { position += 1 }
  }

  private mutating func accept(_ character: Unicode.Scalar) -> Bool {
    guard peek == UInt8(ascii: character) else { return false }
    position += 1
    return true
  }

  private mutating func value(depth: Int) throws(JSONError) -> JSON {
    guard depth < Self.maximumDepth else { throw error("at most \(Self.maximumDepth) levels") }
    skipSpace()
    guard let byte = peek else { throw error("a value") }
    switch byte {
    case UInt8(ascii: "{"): return try object(depth: depth)
    case UInt8(ascii: "["): return try array(depth: depth)
    case UInt8(ascii: "\""): return .string(try string())
    case UInt8(ascii: "t"): return try word("true", .bool(true))
    case UInt8(ascii: "f"): return try word("false", .bool(false))
    case UInt8(ascii: "n"): return try word("null", .null)
    case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): return .number(try number())
    default: throw error("a value")
    }
  }

  private mutating func word(_ word: String, _ value: JSON) throws(JSONError) -> JSON {
    for byte in word.utf8 {
      guard peek == byte else { throw error("`\(word)`") }
      position += 1
    }
    return value
  }

  private mutating func object(depth: Int) throws(JSONError) -> JSON {
    position += 1
    var members: [JSON.Member] = []
    var names: Set<String> = []
    skipSpace()
    if accept("}") { return .object(members) }
    repeat {
      skipSpace()
      guard peek == UInt8(ascii: "\"") else { throw error("a name in quotes") }
      let name = try string()
      guard names.insert(name).inserted else { throw error("each name once; \"\(name)\" occurs twice") }
      skipSpace()
      guard accept(":") else { throw error("`:`") }
      members.append(JSON.Member(name, try value(depth: depth + 1)))
      skipSpace()
    } while accept(",")
    guard accept("}") else { throw error("`,` or `}`") }
    return .object(members)
  }

  private mutating func array(depth: Int) throws(JSONError) -> JSON {
    position += 1
    var elements: [JSON] = []
    skipSpace()
    if accept("]") { return .array(elements) }
    repeat {
      elements.append(try value(depth: depth + 1))
      skipSpace()
    } while accept(",")
    guard accept("]") else { throw error("`,` or `]`") }
    return .array(elements)
  }

  private mutating func digits() throws(JSONError) {
    let start = position
    while let byte = peek, byte >= 0x30, byte <= 0x39 { position += 1 }
    if position == start { throw error("a digit") }
  }

  private mutating func number() throws(JSONError) -> String {
    let start = position
    _ = accept("-")
    if !accept("0") { try digits() }
    if accept(".") { try digits() }
    if accept("e") || accept("E") {
      if !accept("+") { _ = accept("-") }
      try digits()
    }
    return String(decoding: bytes[start..<position], as: UTF8.self)
  }

  private mutating func string() throws(JSONError) -> String {
    position += 1
    var text: [UInt8] = []
    while let byte = peek {
      position += 1
      switch byte {
      case UInt8(ascii: "\""):
        guard let string = String(validating: text, as: UTF8.self) else { throw error("UTF-8 in the string before") }
        return string
      case UInt8(ascii: "\\"): text.append(contentsOf: String(try escape()).utf8)
      case 0..<0x20: throw error("no control character in a string")
      default: text.append(byte)
      }
    }
    throw error("the end of a string")
  }

  private mutating func escape() throws(JSONError) -> Character {
    guard let byte = peek else { throw error("an escape") }
    position += 1
    switch byte {
    case UInt8(ascii: "\""): return "\""
    case UInt8(ascii: "\\"): return "\\"
    case UInt8(ascii: "/"): return "/"
    case UInt8(ascii: "b"): return "\u{8}"
    case UInt8(ascii: "f"): return "\u{C}"
    case UInt8(ascii: "n"): return "\n"
    case UInt8(ascii: "r"): return "\r"
    case UInt8(ascii: "t"): return "\t"
    case UInt8(ascii: "u"):
      var code = UInt32(try codeUnit())
      if code >= 0xD800, code < 0xDC00, accept("\\"), accept("u") {
        let low = UInt32(try codeUnit())
        guard low >= 0xDC00, low < 0xE000 else { throw error("the second half of a surrogate pair") }
        code = 0x10000 + (code - 0xD800) << 10 + (low - 0xDC00)
      }
      guard let scalar = Unicode.Scalar(code) else { throw error("a whole surrogate pair") }
      return Character(scalar)
    default: throw error("a known escape")
    }
  }

  private mutating func codeUnit() throws(JSONError) -> UInt16 {
    var value: UInt16 = 0
    for _ in 0..<4 {
      guard let byte = peek, let digit = Character(Unicode.Scalar(byte)).hexDigitValue else {
        throw error("four hexadecimal digits")
      }
      position += 1
      value = value << 4 | UInt16(digit)
    }
    return value
  }
}
