// SPDX-License-Identifier: Apache-2.0
import CTOML

/// Parses a TOML text into values with their positions.
enum TOMLParser {
  /// Maximum nesting of arrays and tables. The settings need four levels.
  private static let maxNesting = 32
  /// Maximum number of dots in one line: every dot of a key nests another table, and tables are released recursively.
  private static let maxDotsPerLine = 200

  /// - Parameters:
  ///   - bytes: the text; invalid UTF-8 is reported as an error.
  ///   - file: the name for positions.
  static func parse(_ bytes: [UInt8], file: String) throws(Diagnostic) -> TOMLValue {
    if let line = lineWithTooManyDots(bytes) {
      throw Diagnostic(
        position: SourcePosition(file: file, line: line),
        message: "has more than \(maxDotsPerLine) dots in one line; keys are not nested that deep")
    }
    var error = ctoml_error()
    let document = unsafe bytes.withUnsafeBytes { text in
      unsafe ctoml_parse(text.baseAddress?.assumingMemoryBound(to: CChar.self), text.count, &error)
    }
    guard let document = unsafe document else {
      let text = unsafe withUnsafeBytes(of: &error.description) { bytes in
        unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
      }
      throw Diagnostic(
        position: SourcePosition(file: file, error.position),
        message: TOMLMistake(bytes, line: Int(error.position.line), parserMessage: text).message)
    }
    defer { unsafe ctoml_free(document) }
    guard let root = unsafe Node(ctoml_root(document)), let value = value(of: root, file: file, depth: 0) else {
      throw Diagnostic(position: SourcePosition(file: file), message: "nests tables too deep")
    }
    return value
  }

  /// The number of the first line with too many dots; nil if there is none.
  private static func lineWithTooManyDots(_ bytes: [UInt8]) -> Int? {
    var (line, dots) = (1, 0)
    for byte in bytes {
      if byte == UInt8(ascii: "\n") {
        line += 1
        dots = 0
      } else if byte == UInt8(ascii: ".") {
        dots += 1
        if dots > maxDotsPerLine { return line }
      }
    }
    return nil
  }

  /// Nil if it is nested too deeply.
  private static func value(of node: Node, file: String, depth: Int) -> TOMLValue? {
    guard depth <= maxNesting else { return nil }
    let content: TOMLValue.Content
    switch node.content {
    case .value(let value): content = value
    case .members(let members):
      var table: [String: TOMLValue.Member] = [:]
      for member in members {
        guard let value = value(of: member.value, file: file, depth: depth + 1) else { return nil }
        let position = SourcePosition(file: file, member.position)
        table[member.key] = TOMLValue.Member(keyPosition: position, value: value)
      }
      content = .table(table)
    case .elements(let elements):
      var array: [TOMLValue] = []
      for element in elements {
        guard let value = value(of: element, file: file, depth: depth + 1) else { return nil }
        array.append(value)
      }
      content = .array(array)
    }
    return TOMLValue(content: content, position: SourcePosition(file: file, node.position))
  }
}

/// A node of a parsed document. It never leaves this file, and is used only while its document lives.
@safe private struct Node {
  typealias Member = (key: String, position: ctoml_position, value: Node)

  enum Content {
    case value(TOMLValue.Content)
    case members([Member])
    case elements([Node])
  }

  private let raw: OpaquePointer

  init?(_ raw: OpaquePointer?) {
    guard let raw = unsafe raw else { return nil }
    unsafe self.raw = raw
  }

  var position: ctoml_position { unsafe ctoml_node_position(raw) }

  var content: Content {
    switch unsafe ctoml_node_type(raw) {
    case CTOML_TABLE: .members(members)
    case CTOML_ARRAY: .elements(elements)
    case CTOML_STRING: .value(.string(unsafe Node.text(ctoml_string_value(raw))))
    case CTOML_INTEGER: .value(.integer(unsafe ctoml_integer_value(raw)))
    case CTOML_FLOAT: .value(.float(unsafe ctoml_float_value(raw)))
    case CTOML_BOOLEAN: .value(.boolean(unsafe ctoml_boolean_value(raw)))
    default: .value(.dateTime)
    }
  }

  private var members: [Member] {
    var list: [Member] = []
    unsafe withUnsafeMutablePointer(to: &list) { list in
      unsafe ctoml_each_member(raw, list) { context, key, position, value in
        guard let value = unsafe Node(value) else { return }
        let member = unsafe (key: Node.text(key), position: position, value: value)
        unsafe context?.assumingMemoryBound(to: [Member].self).pointee.append(member)
      }
    }
    return list
  }

  private var elements: [Node] {
    var list: [Node] = []
    unsafe withUnsafeMutablePointer(to: &list) { list in
      unsafe ctoml_each_element(raw, list) { context, value in
        guard let value = unsafe Node(value) else { return }
        unsafe context?.assumingMemoryBound(to: [Node].self).pointee.append(value)
      }
    }
    return list
  }

  private static func text(_ text: ctoml_text) -> String {
    unsafe String(decoding: UnsafeRawBufferPointer(start: text.bytes, count: text.length), as: UTF8.self)
  }
}

extension Diagnostic: Error {}

extension SourcePosition {
  init(file: String, _ position: ctoml_position) {
    self.init(file: file, line: Int(position.line), column: Int(position.column))
  }
}
