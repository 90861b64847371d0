// SPDX-License-Identifier: Apache-2.0

/// A field mask in its JSON format, as in a query: lowerCamelCase paths separated by commas.
package struct UpdateMask: Equatable, Sendable {
  /// At least one; each one names a field of the vehicle.
  package let paths: [String]

  /// - Throws: `APIError`, INVALID_ARGUMENT: empty, a path that is not a field or that only the server sets, `name`, or
  ///   snake_case, which the canonical JSON of a mask does not allow.
  init(_ text: String, of schema: MessageSchema) throws(APIError) {
    guard !text.isEmpty else {
      throw .invalid("update_mask cannot be empty", field: "update_mask", reason: "EMPTY_UPDATE_MASK")
    }
    paths = text.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
    for path in paths {
      if path.contains("_") {
        throw .invalid("update_mask: \"\(path)\" must be in lowerCamelCase.", field: "update_mask")
      }
      guard let field = Self.field(path, of: schema) else {
        throw .invalid("update_mask: \"\(path)\" is not a field of \(schema.name).", field: "update_mask")
      }
      if field.behaviour == .outputOnly {
        throw .invalid(
          "update_mask: \"\(path)\" is output only: the server sets it.", field: "update_mask",
          reason: "OUTPUT_ONLY_FIELD")
      }
      if path == "name" {
        throw .invalid("update_mask: the name of a vehicle cannot be changed.", field: "update_mask")
      }
    }
  }

  /// The top-level fields that the mask touches.
  var topLevel: Set<String> {
    Set(paths.compactMap { $0.split(separator: ".").first.map(String.init) })
  }

  private static func field(_ path: String, of schema: MessageSchema) -> MessageSchema.Field? {
    let parts = path.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
    guard let first = parts.first, let field = schema.fields[String(first)] else { return nil }
    guard parts.count == 2, let rest = parts.last else { return field }
    guard case .message(let inner) = field.type else { return nil }
    return Self.field(String(rest), of: inner)
  }

  /// The stored vehicle after an update: what the mask names is replaced, or removed when the update lacks it.
  func apply(_ update: JSON, to stored: JSON) -> JSON {
    var result = stored
    for path in paths {
      let parts = path.split(separator: ".").map(String.init)[...]
      Self.copy(parts, from: update, to: &result)
    }
    return result
  }

  private static func copy(_ path: ArraySlice<String>, from update: JSON?, to target: inout JSON) {
    guard let first = path.first else { return }
    let rest = path.dropFirst()
    if rest.isEmpty {
      target[first] = update?[first]
    } else {
      var inner = target[first] ?? .object([])
      copy(rest, from: update?[first], to: &inner)
      target[first] = inner
    }
  }
}

/// `X-Goog-FieldMask` or `$fields`: which fields of the response are wanted.
enum ResponseMask {
  /// - Throws: `APIError`, INVALID_ARGUMENT, when a path is not a field of the response.
  static func trim(_ response: JSON, to mask: String, of schema: MessageSchema) throws(APIError) -> JSON {
    var result = JSON.object([])
    for path in mask.split(separator: ",", omittingEmptySubsequences: false) {
      if path == "*" { return response }
      let parts = path.split(separator: ".", omittingEmptySubsequences: false).map { camelCase($0) }
      guard isKnown(parts[...], schema) else {
        throw .invalid(
          "Request contains an invalid argument: no field \"\(path)\" in the response mask.", field: "fields")
      }
      pick(parts[...], from: response, into: &result)
    }
    return result
  }

  private static func camelCase(_ name: Substring) -> String {
    let words = name.split(separator: "_", omittingEmptySubsequences: false)
    return words.dropFirst().reduce(String(words.first ?? "")) { $0 + $1.prefix(1).uppercased() + $1.dropFirst() }
  }

  private static func isKnown(_ path: ArraySlice<String>, _ schema: MessageSchema) -> Bool {
    guard let first = path.first, let field = schema.fields[first] else { return false }
    let rest = path.dropFirst()
    if rest.isEmpty { return true }
    if case .message(let inner) = field.type { return isKnown(rest, inner) }
    return false
  }

  private static func pick(_ path: ArraySlice<String>, from response: JSON, into result: inout JSON) {
    guard let first = path.first, let value = response[first] else { return }
    let rest = path.dropFirst()
    if rest.isEmpty {
      result[first] = value
    } else {
      var inner = result[first] ?? .object([])
      pick(rest, from: value, into: &inner)
      result[first] = inner
    }
  }
}
