// SPDX-License-Identifier: Apache-2.0

/// Why a text is not accepted as JSON.
package enum JSONError: Error, Equatable {
  /// It is not one complete JSON document in UTF-8.
  ///
  /// - Parameter offset: of the first byte that does not fit, from 0; the number of bytes if the text is cut off.
  case malformed(offset: Int)
  /// Arrays and objects are nested deeper than ``JSONReader/maximumDepth``, there are more values than allowed, or more
  /// than ``JSONReader/maximumMarks`` combining marks in a row.
  case tooComplex
}

/// Reads one JSON document (RFC 8259) token by token: in one pass, without recursion, and without creating values.
package struct JSONReader {
  /// Maximum nesting of arrays and objects, including the outermost.
  package static let maximumDepth = 32
  /// Maximum number of combining marks in a row, as in stream-safe text (UAX #15, section 13): no language needs more.
  package static let maximumMarks = 30

  /// A part of the document. Texts are byte ranges between the quotation marks.
  enum Token: Equatable {
    case openObject
    case openArray
    /// The end of the innermost array or object.
    case close
    case key(Text)
    case string(Text)
    case number(Range<Int>)
    case bool(Bool)
    case null
    /// The end of the document. Only white space follows the value.
    case end
  }

  /// A string as written, valid and in UTF-8.
  struct Text: Equatable {
    let range: Range<Int>
    let hasEscapes: Bool
  }

  private let bytes: [UInt8]
  private var next = 0
  /// One bit per nesting level, the innermost lowest: whether it is an object.
  private var levels: UInt64 = 0
  private var depth = 0
  /// The number of values that may still be read.
  private var remainingValues: Int
  private var expected = Expectation.value

  /// What is expected next.
  private enum Expectation {
    case value
    /// A value, or the end of the array that has just begun.
    case firstElement
    case key
    /// A key, or the end of the object that has just begun.
    case firstKey
    /// A comma, or the end of the innermost array or object.
    case separator
  }

  /// - Parameters:
  ///   - bytes: any input. A byte order mark before the document is skipped.
  ///   - maximumValues: the maximum number of values, including arrays and objects.
  init(_ bytes: [UInt8], maximumValues: Int = .max) {
    self.bytes = bytes
    remainingValues = maximumValues
    if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { next = 3 }
  }

  /// Whether a document is an object that has a member of this name. The whole document is validated.
  ///
  /// - Parameter key: ASCII, without quotation marks and backslashes.
  /// - Returns: nil if it is not a valid object.
  package static func object(_ bytes: [UInt8], hasMember key: String) -> Bool? {
    var reader = JSONReader(bytes)
    do throws(JSONError) {
      guard try reader.token() == .openObject else { return nil }
      var isFound = false
      while true {
        switch try reader.token() {
        case .end: return isFound
        case .key(let text) where reader.depth == 1 && !isFound: isFound = reader.text(text, is: key)
        default: break
        }
      }
    } catch {
      return nil
    }
  }

  // MARK: - Tokens

  /// The next token; `end` after the document.
  mutating func token() throws(JSONError) -> Token {
    skipSpace()
    if depth == 0, expected == .separator {
      guard next == bytes.count else { throw malformed }
      return .end
    }
    if expected == .separator {
      guard byte == UInt8(ascii: ",") else { return try close() }
      next += 1
      expected = levels & 1 == 1 ? .key : .value
      skipSpace()
    }
    switch expected {
    case .firstKey where byte == UInt8(ascii: "}"), .firstElement where byte == UInt8(ascii: "]"): return try close()
    case .key, .firstKey: return .key(try key())
    default: return try value()
    }
  }

  /// Reads the value of a key, and validates it.
  mutating func skipValue() throws(JSONError) {
    let outside = depth
    repeat { _ = try token() } while depth > outside
  }

  private mutating func close() throws(JSONError) -> Token {
    guard byte == (levels & 1 == 1 ? UInt8(ascii: "}") : UInt8(ascii: "]")) else { throw malformed }
    next += 1
    levels >>= 1
    depth -= 1
    expected = .separator
    return .close
  }

  private mutating func key() throws(JSONError) -> Text {
    let key = try string()
    skipSpace()
    guard byte == UInt8(ascii: ":") else { throw malformed }
    next += 1
    expected = .value
    return key
  }

  private mutating func value() throws(JSONError) -> Token {
    guard remainingValues > 0 else { throw .tooComplex }
    remainingValues -= 1
    expected = .separator
    switch byte {
    case UInt8(ascii: "{"):
      try open(isObject: true)
      return .openObject
    case UInt8(ascii: "["):
      try open(isObject: false)
      return .openArray
    case UInt8(ascii: "\""): return .string(try string())
    case UInt8(ascii: "t"): return try literal("true", .bool(true))
    case UInt8(ascii: "f"): return try literal("false", .bool(false))
    case UInt8(ascii: "n"): return try literal("null", .null)
    default: return .number(try number())
    }
  }

  private mutating func open(isObject: Bool) throws(JSONError) {
    guard depth < JSONReader.maximumDepth else { throw .tooComplex }
    next += 1
    depth += 1
    levels = levels << 1 | (isObject ? 1 : 0)
    expected = isObject ? .firstKey : .firstElement
  }

  private var byte: UInt8? { next < bytes.count ? bytes[next] : nil }

  private var malformed: JSONError { .malformed(offset: next) }

  private mutating func skipSpace() {
    while let byte, byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 { next += 1 }
  }

  private mutating func literal(_ literal: StaticString, _ token: Token) throws(JSONError) -> Token {
    try expect(literal)
    return token
  }

  private mutating func expect(_ ascii: StaticString) throws(JSONError) {
    for wanted in ascii.description.utf8 {
      guard byte == wanted else { throw malformed }
      next += 1
    }
  }

  // MARK: - Numbers

  private mutating func number() throws(JSONError) -> Range<Int> {
    let start = next
    if byte == UInt8(ascii: "-") { next += 1 }
    if byte == UInt8(ascii: "0") {
      next += 1
    } else {
      try digits()
    }
    if byte == UInt8(ascii: ".") {
      next += 1
      try digits()
    }
    if byte == UInt8(ascii: "e") || byte == UInt8(ascii: "E") {
      next += 1
      if byte == UInt8(ascii: "+") || byte == UInt8(ascii: "-") { next += 1 }
      try digits()
    }
    return start..<next
  }

  /// At least one digit.
  private mutating func digits() throws(JSONError) {
    let start = next
    while let byte, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) { next += 1 }
    guard next > start else { throw malformed }
  }

  /// The value of a number; nil if it exceeds the range of `Double`.
  func number(_ range: Range<Int>) -> JSONValue? {
    let text = string(range)
    if let integer = Int64(text) { return .integer(integer) }
    guard let number = Double(text), number.isFinite else { return nil }
    return JSONValue(number)
  }

  // MARK: - Strings

  private mutating func string() throws(JSONError) -> Text {
    guard byte == UInt8(ascii: "\"") else { throw malformed }
    next += 1
    let start = next
    var hasEscapes = false
    while let byte {
      switch byte {
      case UInt8(ascii: "\""):
        next += 1
        return Text(range: start..<next - 1, hasEscapes: hasEscapes)
      case UInt8(ascii: "\\"):
        hasEscapes = true
        _ = try escape()
      case ..<0x20: throw malformed
      case ..<0x80: next += 1
      default: try skipCharacter(byte)
      }
    }
    throw malformed
  }

  /// The content of a string.
  ///
  /// - Throws: `tooComplex` if it has more than ``maximumMarks`` combining marks in a row.
  func string(_ text: Text) throws(JSONError) -> String {
    let content = text.hasEscapes ? unescaped(text.range) : string(text.range)
    guard !JSONReader.hasTooManyMarks(content) else { throw .tooComplex }
    return content
  }

  /// Whether a text has more than ``maximumMarks`` combining marks in a row. Swift compares and hashes canonically
  /// equivalent strings as equal, and sorts combining marks for this, in time quadratic in their number.
  package static func hasTooManyMarks(_ text: String) -> Bool {
    // The first combining mark is U+0300: no smaller first byte begins one.
    guard text.utf8.contains(where: { $0 >= 0xCC }) else { return false }
    var marks = 0
    for scalar in text.unicodeScalars {
      marks = scalar.properties.canonicalCombiningClass == .notReordered ? 0 : marks + 1
      if marks > maximumMarks { return true }
    }
    return false
  }

  private func string(_ range: Range<Int>) -> String { String(decoding: bytes[range], as: UTF8.self) }

  private func unescaped(_ range: Range<Int>) -> String {
    var reader = self
    reader.next = range.lowerBound
    var content: [UInt8] = []
    content.reserveCapacity(range.count)
    while reader.next < range.upperBound {
      let byte = bytes[reader.next]
      if byte == UInt8(ascii: "\\"), let scalar = try? reader.escape() {
        content.append(contentsOf: String(scalar).utf8)
      } else {
        content.append(byte)
        reader.next += 1
      }
    }
    return String(decoding: content, as: UTF8.self)
  }

  private func text(_ text: Text, is ascii: String) -> Bool {
    text.hasEscapes ? unescaped(text.range).utf8.elementsEqual(ascii.utf8) : bytes[text.range].elementsEqual(ascii.utf8)
  }

  /// - Returns: the escaped character.
  private mutating func escape() throws(JSONError) -> Unicode.Scalar {
    next += 1
    guard let byte else { throw malformed }
    next += 1
    switch byte {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return Unicode.Scalar(byte)
    case UInt8(ascii: "b"): return "\u{8}"
    case UInt8(ascii: "f"): return "\u{C}"
    case UInt8(ascii: "n"): return "\n"
    case UInt8(ascii: "r"): return "\r"
    case UInt8(ascii: "t"): return "\t"
    case UInt8(ascii: "u"):
      let unit = try hexadecimal()
      if let scalar = Unicode.Scalar(unit) { return scalar }
      // This is half of a surrogate pair, and must be the first half.
      guard unit < 0xDC00 else { throw malformed }
      try expect("\\u")
      let low = try hexadecimal()
      guard (0xDC00..<0xE000).contains(low),
        let scalar = Unicode.Scalar(0x10000 + ((unit - 0xD800) << 10) + (low - 0xDC00))
      else { throw malformed }
      return scalar
    default:
      next -= 1
      throw malformed
    }
  }

  private mutating func hexadecimal() throws(JSONError) -> UInt32 {
    var value: UInt32 = 0
    for _ in 0..<4 {
      switch byte {
      case .some(let byte) where (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte):
        value = value << 4 | UInt32(byte - UInt8(ascii: "0"))
      case .some(let byte) where (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(byte | 0x20):
        value = value << 4 | UInt32((byte | 0x20) - UInt8(ascii: "a") + 10)
      default: throw malformed
      }
      next += 1
    }
    return value
  }

  /// One character beyond ASCII, in UTF-8 (RFC 3629, section 4): the second byte has a special range after some first
  /// bytes.
  private mutating func skipCharacter(_ first: UInt8) throws(JSONError) {
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
    guard length > 0, bytes.count - next >= length, second.contains(bytes[next + 1]) else { throw malformed }
    for index in next + 2..<next + length where !(0x80...0xBF).contains(bytes[index]) { throw malformed }
    next += length
  }
}
