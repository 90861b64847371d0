// SPDX-License-Identifier: Apache-2.0

/// A JSON document that preserves the order of members and the text of numbers, so that stored documents are returned
/// unchanged.
package indirect enum JSON: Equatable, Sendable {
  case null
  case bool(Bool)
  /// The text of the number, in the format of RFC 8259.
  case number(String)
  case string(String)
  case array([JSON])
  case object([Member])

  /// One name and its value in an object.
  package struct Member: Equatable, Sendable {
    package var name: String
    /// Any JSON value.
    package var value: JSON

    package init(_ name: String, _ value: JSON) {
      self.name = name
      self.value = value
    }
  }

  /// The members of an object, none otherwise.
  package var members: [Member] {
    if case .object(let members) = self { return members }
    return []
  }

  /// A member of an object. Nil if there is none or it is null, which is the same for protobuf.
  package subscript(name: String) -> JSON? {
    get {
      guard let value = members.first(where: { $0.name == name })?.value, value != .null else { return nil }
      return value
    }
    set {
      var members = members
      if let index = members.firstIndex(where: { $0.name == name }) {
        if let newValue { members[index].value = newValue } else { members.remove(at: index) }
      } else if let newValue {
        members.append(Member(name, newValue))
      }
      self = .object(members)
    }
  }

  /// The text of a string; nil for everything else.
  package var string: String? {
    if case .string(let text) = self { return text }
    return nil
  }

  /// The value of `true` or `false`; nil for everything else.
  package var bool: Bool? {
    if case .bool(let value) = self { return value }
    return nil
  }

  /// The value of a finite number; nil for everything else.
  package var double: Double? {
    guard case .number(let text) = self, let value = Double(text), value.isFinite else { return nil }
    return value
  }

  /// The number, if it is whole and within the range of Int64; `1.0` and `1e2` are whole.
  package var integer: Int64? {
    guard let double else { return nil }
    if case .number(let text) = self, let exact = Int64(text) { return exact }
    return Int64(exactly: double)
  }

  /// The elements of an array; nil for everything else.
  package var array: [JSON]? {
    if case .array(let elements) = self { return elements }
    return nil
  }

  /// The kind of value, for messages.
  package var kind: String {
    switch self {
    case .null: "null"
    case .bool: "a boolean"
    case .number: "a number"
    case .string: "a string"
    case .array: "an array"
    case .object: "an object"
    }
  }
}

extension JSON: ExpressibleByStringLiteral, ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral,
  ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
  package init(stringLiteral value: String) { self = .string(value) }
  package init(booleanLiteral value: Bool) { self = .bool(value) }
  package init(integerLiteral value: Int) { self = .number(String(value)) }
  package init(arrayLiteral elements: JSON...) { self = .array(elements) }
  package init(dictionaryLiteral elements: (String, JSON)...) { self = .object(elements.map { Member($0.0, $0.1) }) }

  package init(_ value: Int) { self = .number(String(value)) }
  package init(_ value: Int64) { self = .number(String(value)) }
  /// Null when there is no value.
  package init(_ value: Int64?) { self = value.map { .number(String($0)) } ?? .null }
  /// Null if there is no value, or JSON cannot represent it.
  package init(_ value: Double?) { self = value.flatMap { $0.isFinite ? .number("\($0)") : nil } ?? .null }
}

extension JSON {
  /// The document in one line, without white space.
  package var text: String {
    var out = ""
    write(to: &out)
    return out
  }

  private func write(to out: inout String) {
    switch self {
    case .null: out += "null"
    case .bool(let value): out += value ? "true" : "false"
    case .number(let text): out += text
    case .string(let text): JSON.quote(text, to: &out)
    case .array(let elements):
      out += "["
      for (index, element) in elements.enumerated() {
        if index > 0 { out += "," }
        element.write(to: &out)
      }
      out += "]"
    case .object(let members):
      out += "{"
      for (index, member) in members.enumerated() {
        if index > 0 { out += "," }
        JSON.quote(member.name, to: &out)
        out += ":"
        member.value.write(to: &out)
      }
      out += "}"
    }
  }

  private static func quote(_ text: String, to out: inout String) {
    let isPlain = text.utf8.allSatisfy {
      $0 >= 0x20 && $0 != 0x7F && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\")
    }
    if isPlain {
      out += "\""
      out += text
      out += "\""
      return
    }
    out += "\""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"": out += "\\\""
      case "\\": out += "\\\\"
      case "\n": out += "\\n"
      case "\r": out += "\\r"
      case "\t": out += "\\t"
      case _ where scalar.value < 0x20 || scalar.value == 0x7F:
        let hex = String(scalar.value, radix: 16)
        out += "\\u" + String(repeating: "0", count: 4 - hex.count) + hex
      default: out.unicodeScalars.append(scalar)
      }
    }
    out += "\""
  }
}
