// SPDX-License-Identifier: Apache-2.0
import ExternalInput
import FoundationEssentials

/// Any JSON value: for responses whose structure depends on the settings, or is unknown.
package enum JSONValue: Equatable, Sendable {
  case null
  case bool(Bool)
  /// A number without fraction that fits 64 bits.
  case integer(Int64)
  case number(Double)
  case string(String)
  case array([JSONValue])
  case object([String: JSONValue])

  /// The document exceeds ``JSONBounds/message``.
  package struct TooComplex: Error {}

  /// Parses one JSON document from an untrusted source.
  ///
  /// - Throws: `DecodingError` if it is not JSON, `TooComplex` if it is nested deeper than 32 levels or has more values
  ///   than any message.
  package init(parsing bytes: [UInt8]) throws {
    guard JSONBounds.message.admits(bytes) else { throw TooComplex() }
    self = try JSONDecoder().decode(JSONValue.self, from: Data(bytes))
  }

  /// The value at a path of object keys separated by dots, as in `data.token`. A key that itself contains dots is found
  /// if it is the whole path. Nil if there is none, or it is null.
  package func value(at path: String) -> JSONValue? {
    guard case .object(let members) = self else { return nil }
    if let value = members[path] { return value == .null ? nil : value }
    guard let dot = path.firstIndex(of: ".") else { return nil }
    return members[String(path[..<dot])]?.value(at: String(path[path.index(after: dot)...]))
  }

  /// The content of a string; nil for any other value.
  package var string: String? {
    if case .string(let text) = self { return text }
    return nil
  }

  /// The members of an object; nil for any other value.
  package var object: [String: JSONValue]? {
    if case .object(let members) = self { return members }
    return nil
  }

  /// The elements of an array; nil for any other value.
  package var array: [JSONValue]? {
    if case .array(let elements) = self { return elements }
    return nil
  }

  /// An integer, also from a string, because protobuf's JSON writes 64-bit integers as strings.
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
  /// - Throws: `DecodingError` for an invalid value, and for excessive nesting.
  package init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    // Each failed attempt creates an error: the most frequent kinds come first.
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
