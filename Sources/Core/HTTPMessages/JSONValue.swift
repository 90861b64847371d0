// SPDX-License-Identifier: Apache-2.0
import ExternalInput
import FoundationEssentials

/// Any JSON value: for answers whose shape is told by the settings or may be anything.
package enum JSONValue: Equatable, Sendable {
  case null
  case bool(Bool)
  /// A number without fraction that fits 64 bits.
  case integer(Int64)
  case number(Double)
  case string(String)
  case array([JSONValue])
  case object([String: JSONValue])

  /// The document is larger than ``JSONBounds/message`` allows.
  package struct TooComplex: Error {}

  /// Reads one JSON document, which came from outside.
  ///
  /// - Throws: `DecodingError` when it is not JSON, `TooComplex` when it is nested deeper than 32 levels or has more values
  ///   than any message.
  package init(parsing bytes: [UInt8]) throws {
    guard JSONBounds.message.admits(bytes) else { throw TooComplex() }
    self = try JSONDecoder().decode(JSONValue.self, from: Data(bytes))
  }

  /// The value at a path of object keys joined by dots, as in `data.token`. A key that itself holds dots is found too,
  /// when it stands whole. Nil when there is none, or it is null.
  package func value(at path: String) -> JSONValue? {
    guard case .object(let members) = self else { return nil }
    if let value = members[path] { return value == .null ? nil : value }
    guard let dot = path.firstIndex(of: ".") else { return nil }
    return members[String(path[..<dot])]?.value(at: String(path[path.index(after: dot)...]))
  }

  /// The text of a string; nil for everything else.
  package var string: String? {
    if case .string(let text) = self { return text }
    return nil
  }

  /// The members of an object; nil for everything else.
  package var object: [String: JSONValue]? {
    if case .object(let members) = self { return members }
    return nil
  }

  /// The elements of an array; nil for everything else.
  package var array: [JSONValue]? {
    if case .array(let elements) = self { return elements }
    return nil
  }

  /// A whole number; one in a string counts too, for JSON writes 64-bit numbers so.
  package var integer: Int64? {
    switch self {
    case .integer(let value): value
    case .number(let value): Int64(exactly: value.rounded(.towardZero))
    case .string(let text): Int64(text)
    default: nil
    }
  }
}

extension JSONValue: Decodable {
  /// Any JSON value.
  ///
  /// - Throws: `DecodingError` for what is none, and for what nests too deep for the decoder.
  package init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    // Each try that fails costs an error made and thrown away: the kinds of most answers come first.
    if let value = try? container.decode(String.self) {
      self = .string(value)
    } else if let value = try? container.decode([String: JSONValue].self) {
      self = .object(value)
    } else if let value = try? container.decode([JSONValue].self) {
      self = .array(value)
    } else if let value = try? container.decode(Int64.self) {
      self = .integer(value)
    } else if container.decodeNil() {
      self = .null
    } else if let value = try? container.decode(Bool.self) {
      self = .bool(value)
    } else {
      self = .number(try container.decode(Double.self))
    }
  }
}
