// SPDX-License-Identifier: Apache-2.0

/// Any JSON value: for documents whose structure depends on the settings, or is unknown.
package enum JSONValue: Equatable, Sendable {
  case null
  case bool(Bool)
  /// A number written as an integer that fits in 64 bits, or another whole number below 2^53.
  case integer(Int64)
  /// Any other number, to the nearest `Double`; finite.
  case number(Double)
  case string(String)
  case array([JSONValue])
  case object([String: JSONValue])

  /// Parses one JSON document from an untrusted source, in one pass. If several members of an object have the same
  /// name, the first counts.
  ///
  /// - Parameters:
  ///   - bytes: any input; the caller limits its size.
  ///   - maximumValues: the maximum number of values, including arrays and objects.
  ///   - names: the names of the members that are needed, in all objects; other members are skipped. Nil for all.
  /// - Throws: `malformed` if it is not a JSON document (RFC 8259), or a number that is needed exceeds the range of
  ///   `Double`; `tooComplex` if it is nested too deep or has too many values, or if a string that is needed has too
  ///   many combining marks in a row.
  package init(
    parsing bytes: [UInt8], maximumValues: Int = .max, members names: Set<String>? = nil
  ) throws(JSONError) {
    var reader = JSONReader(bytes, maximumValues: maximumValues)
    let first = try reader.token()
    self = try JSONValue(&reader, first, names)
    // Throws if something follows.
    _ = try reader.token()
  }

  /// Recurses up to ``JSONReader/maximumDepth`` levels.
  private init(_ reader: inout JSONReader, _ first: JSONReader.Token, _ names: Set<String>?) throws(JSONError) {
    switch first {
    case .openObject:
      var members: [String: JSONValue] = [:]
      while case .key(let name) = try reader.token() {
        let key = try reader.string(name)
        guard names?.contains(key) != false else {
          try reader.skipValue()
          continue
        }
        let token = try reader.token()
        let value = try JSONValue(&reader, token, names)
        if members[key] == nil { members[key] = value }
      }
      self = .object(members)
    case .openArray:
      var elements: [JSONValue] = []
      var token = try reader.token()
      while token != .close {
        elements.append(try JSONValue(&reader, token, names))
        token = try reader.token()
      }
      self = .array(elements)
    case .string(let text): self = .string(try reader.string(text))
    case .number(let range):
      guard let number = reader.number(range) else { throw .malformed(offset: range.lowerBound) }
      self = number
    case .bool(let value): self = .bool(value)
    // The reader never begins a value with one of the last three.
    case .null, .close, .key, .end: self = .null
    }
  }

  /// - Parameter number: finite. From 2^53 on, it is the nearest `Double` of several integers, so it is not stored as
  ///   an integer.
  init(_ number: Double) {
    if number.magnitude < 0x1p53, let integer = Int64(exactly: number) {
      self = .integer(integer)
    } else {
      self = .number(number)
    }
  }

  /// The value as one JSON document without white space, the members of objects in the order of their names.
  package var encoded: [UInt8] {
    var writer = JSONWriter()
    writer.value(self)
    return writer.bytes
  }

  /// The value at a path of object keys separated by dots, as in `data.token`. A key that itself contains dots is found
  /// if it is the last one. Nil if there is none, or it is null.
  package func value(at path: String) -> JSONValue? {
    guard case .object(let members) = self else { return nil }
    if let value = members[path] { return value == .null ? nil : value }
    guard let dot = path.firstIndex(of: ".") else { return nil }
    return members[String(path[..<dot])]?.value(at: String(path[path.index(after: dot)...]))
  }

  /// A member of an object; nil if there is none, or this is not an object.
  package subscript(key: String) -> JSONValue? { object?[key] }

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

  /// A number; nil for any other value.
  package var double: Double? {
    switch self {
    case .integer(let value): Double(value)
    case .number(let value): value
    default: nil
    }
  }

  /// True or false; nil for any other value.
  package var bool: Bool? {
    if case .bool(let value) = self { return value }
    return nil
  }

  /// An integer; the fraction of any other number is discarded. It may be written as a string, because protobuf's JSON
  /// writes 64-bit integers as strings. Nil for any other value.
  package var integer: Int64? {
    switch self {
    case .integer(let value): value
    case .number(let value): Int64(exactly: value.rounded(.towardZero))
    case .string(let text): Int64(text)
    default: nil
    }
  }
}
