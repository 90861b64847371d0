// SPDX-License-Identifier: Apache-2.0

/// Reads the members of a JSON object by name, and then reports all other members as unknown.
struct JSONObjectReader {
  private let json: JSON
  /// What the object is, with its article, for messages: `a fault`.
  private let subject: String
  private var known: [String] = []

  init(_ json: JSON, of subject: String) {
    self.json = json
    self.subject = subject
  }

  private mutating func value(_ key: String) -> JSON? {
    known.append(key)
    return json[key]
  }

  mutating func choice<T>(_ key: String, _: T.Type) throws(APIError) -> T?
  where T: RawRepresentable<String> & CaseIterable {
    guard let value = value(key) else { return nil }
    guard let choice = value.string.flatMap(T.init(rawValue:)) else {
      let allowed = T.allCases.map { "\"\($0.rawValue)\"" }.joined(separator: ", ")
      throw .invalid("\"\(key)\" is one of \(allowed).", field: key)
    }
    return choice
  }

  mutating func integer(_ key: String, _ range: ClosedRange<Int64>) throws(APIError) -> Int64? {
    guard let value = value(key) else { return nil }
    guard let number = value.integer, range.contains(number) else {
      throw .invalid("\"\(key)\" is a whole number from \(range.lowerBound) to \(range.upperBound).", field: key)
    }
    return number
  }

  /// A text that is allowed in a header; a number is converted to its text.
  mutating func text(_ key: String) throws(APIError) -> String? {
    guard let value = value(key) else { return nil }
    let text = value.string ?? value.integer.map(String.init)
    guard let text, text.utf8.count <= 200, text.utf8.allSatisfy({ $0 >= 0x20 && $0 < 0x7F }) else {
      throw .invalid("\"\(key)\" is at most 200 printable ASCII characters.", field: key)
    }
    return text
  }

  /// The ID of a vehicle; a number is converted to its text.
  mutating func identifier(_ key: String) throws(APIError) -> String? {
    guard let value = value(key) else { return nil }
    let identifier = value.string ?? value.integer.map(String.init)
    guard let identifier, ResourceName.isValid(identifier) else {
      throw .invalid("\"\(key)\" is a resource ID: \(ResourceName.rule).", field: key)
    }
    return identifier
  }

  mutating func flag(_ key: String) throws(APIError) -> Bool {
    guard let value = value(key) else { return false }
    guard let flag = value.bool else { throw .invalid("\"\(key)\" is true or false.", field: key) }
    return flag
  }

  func finish() throws(APIError) {
    guard case .object(let members) = json else { throw .invalid("Expected a JSON object: \(subject).") }
    if let unknown = members.first(where: { !known.contains($0.name) }) {
      throw .invalid(
        "\"\(unknown.name)\" is not a key of \(subject); the known keys are \(known.joined(separator: ", ")).",
        field: unknown.name)
    }
  }
}
