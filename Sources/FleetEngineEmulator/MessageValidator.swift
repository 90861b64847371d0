// SPDX-License-Identifier: Apache-2.0

/// Checks a JSON body against a message: it rejects unknown fields, wrong types, values out of range, and fields that
/// only the server may set.
///
/// To reveal mistakes, it is stricter than Google in three points: only lowerCamelCase names, no number in a string, no
/// `NaN`.
enum MessageValidator {
  /// - Returns: the message without nulls, and with enums as names.
  /// - Throws: `APIError`, INVALID_ARGUMENT, with the field.
  static func check(_ json: JSON, as schema: MessageSchema, at path: String) throws(APIError) -> JSON {
    guard case .object(let members) = json else { throw wrong(json, expected: "an object", path) }
    var result: [JSON.Member] = []
    for member in members {
      guard let field = schema.fields[member.name] else {
        throw .invalid(
          "Invalid JSON payload received. Unknown name \"\(member.name)\" at '\(path)': Cannot find field.",
          field: path)
      }
      if member.value == .null { continue }
      let place = "\(path).\(member.name)"
      if field.behaviour == .outputOnly {
        throw .invalid("\(place) is output only: the server sets it.", field: place, reason: "OUTPUT_ONLY_FIELD")
      }
      result.append(JSON.Member(member.name, try check(member.value, as: field.type, at: place)))
    }
    return .object(result)
  }

  private static func wrong(_ json: JSON, expected: String, _ path: String) -> APIError {
    .invalid("Invalid value at '\(path)': expected \(expected), found \(json.kind).", field: path)
  }

  static func check(_ json: JSON, as type: FieldType, at path: String) throws(APIError) -> JSON {
    switch type {
    case .message(let schema):
      return try check(json, as: schema, at: path)
    case .repeated(let element, let maximum):
      guard let elements = json.array else { throw wrong(json, expected: "an array", path) }
      if let maximum, elements.count > maximum {
        throw .invalid("\(path) has \(elements.count) elements; at most \(maximum) are allowed.", field: path)
      }
      var result: [JSON] = []
      for (index, value) in elements.enumerated() {
        result.append(try check(value, as: element, at: "\(path)[\(index)]"))
      }
      return .array(result)
    case .bool:
      guard json.bool != nil else { throw wrong(json, expected: "a boolean", path) }
    case .double(let range):
      guard let value = json.double else { throw wrong(json, expected: "a finite number", path) }
      if let range, !range.contains(value) { throw outOfRange(value, path) }
    case .int32(let range):
      guard let value = json.integer else { throw wrong(json, expected: "a whole number", path) }
      guard Int32(exactly: value) != nil, range?.contains(value) ?? true else { throw outOfRange(value, path) }
    case .enumeration(let schema):
      return .string(try name(json, schema, path))
    case .string, .timestamp, .duration, .bytes:
      guard let text = json.string else { throw wrong(json, expected: "a string", path) }
      try check(text, as: type, at: path)
    }
    return json
  }

  private static func outOfRange(_ value: some CustomStringConvertible, _ path: String) -> APIError {
    .invalid("\(path) is out of range: \(value).", field: path, reason: "OUT_OF_RANGE")
  }

  private static func check(_ text: String, as type: FieldType, at path: String) throws(APIError) {
    switch type {
    case .string(let maximum):
      if let maximum, text.unicodeScalars.count > maximum {
        throw .invalid("\(path) is longer than \(maximum) characters.", field: path)
      }
    case .timestamp:
      guard RFC3339.milliseconds(text) != nil else {
        throw .invalid("Invalid value at '\(path)' (google.protobuf.Timestamp): not an RFC 3339 time.", field: path)
      }
    case .duration:
      guard isDuration(text) else {
        throw .invalid("Invalid value at '\(path)' (google.protobuf.Duration): expected such as 3.500s.", field: path)
      }
    case .bytes:
      guard Base64.decode(text, alphabet: .standard) != nil else {
        throw .invalid("Invalid value at '\(path)' (TYPE_BYTES): not base64.", field: path)
      }
    default: break
    }
  }

  private static func name(_ json: JSON, _ schema: EnumSchema, _ path: String) throws(APIError) -> String {
    let name: String? =
      if let text = json.string {
        schema.names[text] == nil ? nil : text
      } else if let number = json.integer {
        schema.names.first { $0.value == number }?.key
      } else {
        throw wrong(json, expected: "the name of an enum value", path)
      }
    guard let name else {
      throw .invalid("Invalid value at '\(path)': \(json.text) is not a value of the enum.", field: path)
    }
    if schema.outputOnly.contains(name) {
      throw .invalid("\(path) must not be \(name), which only the server may set.", field: path)
    }
    return name
  }

  /// `3s`, `-0.5s`: seconds, with up to nine fractional digits, at most 10,000 years.
  static func isDuration(_ text: String) -> Bool {
    guard text.hasSuffix("s") else { return false }
    let number = text.dropLast().drop { $0 == "-" }
    guard text.dropLast().count - number.count <= 1 else { return false }
    let parts = number.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.allSatisfy({ !$0.isEmpty && $0.utf8.allSatisfy { $0 >= 0x30 && $0 <= 0x39 } }) else { return false }
    guard let seconds = parts.first.flatMap({ Int64($0) }), seconds <= 315_576_000_000 else { return false }
    return parts.count == 1 || parts.last.map { $0.count <= 9 } ?? false
  }
}

extension MessageValidator {
  /// The message for a response, without input-only fields.
  static func response(_ json: JSON, as schema: MessageSchema) -> JSON {
    .object(
      json.members.compactMap { member in
        guard let field = schema.fields[member.name] else { return member }
        if field.behaviour == .inputOnly { return nil }
        guard case .message(let inner) = field.type else { return member }
        return JSON.Member(member.name, response(member.value, as: inner))
      })
  }

  /// The same message with enums as numbers, for `$alt=json;enum-encoding=int`.
  static func withNumericEnums(_ json: JSON, as type: FieldType) -> JSON {
    switch (type, json) {
    case (.message(let schema), .object(let members)):
      return .object(
        members.map { member in
          guard let field = schema.fields[member.name] else { return member }
          return JSON.Member(member.name, withNumericEnums(member.value, as: field.type))
        })
    case (.repeated(let element, _), .array(let elements)):
      return .array(elements.map { withNumericEnums($0, as: element) })
    case (.enumeration(let schema), .string(let name)): return schema.names[name].map { JSON($0) } ?? json
    default: return json
    }
  }
}
