// SPDX-License-Identifier: Apache-2.0

// Supports types whose `Codable` conformance the compiler synthesizes: keyed, unkeyed and single values, optional
// members and enums with associated values. Superclasses are not supported: no type here has one.

extension JSONValue {
  /// - Throws: what the type throws; `EncodingError` for a number that JSON cannot represent.
  package init(encoding value: some Encodable) throws {
    let encoder = JSONValueEncoder(path: [])
    try encoder.encode(value)
    self = encoder.node.json
  }

  /// - Throws: what the type throws; `DecodingError` if a member is missing, or of another type.
  package func decode<Value: Decodable>(_ type: Value.Type = Value.self) throws -> Value {
    try JSONValueDecoder(value: self, path: []).decode(type)
  }
}

// MARK: - Encoding

/// A value while its parts are being encoded.
private final class Node {
  enum Kind { case scalar, array, object }

  var kind = Kind.scalar
  var scalar = JSONValue.null
  private var elements: [Node] = []
  private var members: [(name: String, node: Node)] = []

  var count: Int { elements.count }

  var json: JSONValue {
    switch kind {
    case .scalar: scalar
    case .array: .array(elements.map(\.json))
    case .object: .object(Dictionary(members.map { ($0.name, $0.node.json) }, uniquingKeysWith: { _, last in last }))
    }
  }

  func member(_ name: String) -> Node {
    members.append((name, Node()))
    return members[members.count - 1].node
  }

  func element() -> Node {
    elements.append(Node())
    return elements[elements.count - 1]
  }
}

private struct JSONValueEncoder: Encoder, SingleValueEncodingContainer {
  let node: Node
  let codingPath: [any CodingKey]
  var userInfo: [CodingUserInfoKey: Any] { [:] }

  init(node: Node = Node(), path: [any CodingKey]) {
    self.node = node
    codingPath = path
  }

  func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
    node.kind = .object
    return KeyedEncodingContainer(JSONMemberEncoder(node: node, codingPath: codingPath))
  }

  func unkeyedContainer() -> any UnkeyedEncodingContainer {
    node.kind = .array
    return JSONElementEncoder(node: node, codingPath: codingPath)
  }

  func singleValueContainer() -> any SingleValueEncodingContainer { self }

  func encodeNil() { node.scalar = .null }

  func encode(_ value: some Encodable) throws {
    switch value {
    case let value as Bool: node.scalar = .bool(value)
    case let value as String: node.scalar = .string(value)
    case let value as any BinaryFloatingPoint: node.scalar = try number(Double(value))
    case let value as any BinaryInteger:
      node.scalar = try Int64(exactly: value).map { .integer($0) } ?? number(Double(value))
    default: try value.encode(to: self)
    }
  }

  private func number(_ value: Double) throws -> JSONValue {
    guard value.isFinite else {
      throw EncodingError.invalidValue(value, .init(codingPath: codingPath, debugDescription: "not finite"))
    }
    return JSONValue(value)
  }
}

private struct JSONMemberEncoder<Key: CodingKey>: KeyedEncodingContainerProtocol {
  let node: Node
  let codingPath: [any CodingKey]

  private func encoder(_ key: Key) -> JSONValueEncoder {
    JSONValueEncoder(node: node.member(key.stringValue), path: codingPath + [key])
  }

  func encodeNil(forKey key: Key) { encoder(key).encodeNil() }

  func encode(_ value: some Encodable, forKey key: Key) throws { try encoder(key).encode(value) }

  func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type, forKey key: Key) -> KeyedEncodingContainer<Nested>
  {
    encoder(key).container(keyedBy: type)
  }

  func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer { encoder(key).unkeyedContainer() }

  func superEncoder() -> any Encoder { JSONValueEncoder(node: node.member("super"), path: codingPath) }

  func superEncoder(forKey key: Key) -> any Encoder { encoder(key) }
}

private struct JSONElementEncoder: UnkeyedEncodingContainer {
  let node: Node
  let codingPath: [any CodingKey]

  var count: Int { node.count }

  private var encoder: JSONValueEncoder { JSONValueEncoder(node: node.element(), path: codingPath) }

  func encodeNil() { encoder.encodeNil() }

  func encode(_ value: some Encodable) throws { try encoder.encode(value) }

  func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type) -> KeyedEncodingContainer<Nested> {
    encoder.container(keyedBy: type)
  }

  func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer { encoder.unkeyedContainer() }

  func superEncoder() -> any Encoder { encoder }
}

// MARK: - Decoding

private struct JSONValueDecoder: Decoder, SingleValueDecodingContainer {
  let value: JSONValue
  let codingPath: [any CodingKey]
  var userInfo: [CodingUserInfoKey: Any] { [:] }

  init(value: JSONValue, path: [any CodingKey]) {
    self.value = value
    codingPath = path
  }

  func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
    guard let members = value.object else { throw mismatch([String: JSONValue].self) }
    return KeyedDecodingContainer(JSONMemberDecoder(members: members, codingPath: codingPath))
  }

  func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
    guard let elements = value.array else { throw mismatch([JSONValue].self) }
    return JSONElementDecoder(elements: elements, codingPath: codingPath)
  }

  func singleValueContainer() -> any SingleValueDecodingContainer { self }

  func decodeNil() -> Bool { value == .null }

  func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
    let decoded: Any? =
      switch type {
      case is Bool.Type: value.bool
      case is String.Type: value.string
      case is Double.Type: value.double
      case is Float.Type: value.double.map { Float($0) }
      case let type as any FixedWidthInteger.Type: integer(type)
      default: try type.init(from: self)
      }
    guard let decoded = decoded as? Value else { throw mismatch(type) }
    return decoded
  }

  private func integer<Value: FixedWidthInteger>(_ type: Value.Type) -> Value? {
    switch value {
    case .integer(let value): Value(exactly: value)
    case .number(let value): Value(exactly: value)
    default: nil
    }
  }

  private func mismatch(_ type: Any.Type) -> DecodingError {
    .typeMismatch(type, .init(codingPath: codingPath, debugDescription: "\(type) expected"))
  }
}

private struct JSONMemberDecoder<Key: CodingKey>: KeyedDecodingContainerProtocol {
  let members: [String: JSONValue]
  let codingPath: [any CodingKey]

  var allKeys: [Key] { members.keys.compactMap { Key(stringValue: $0) } }

  private func decoder(_ key: Key) throws -> JSONValueDecoder {
    guard let value = members[key.stringValue] else {
      throw DecodingError.keyNotFound(key, .init(codingPath: codingPath, debugDescription: "missing"))
    }
    return JSONValueDecoder(value: value, path: codingPath + [key])
  }

  func contains(_ key: Key) -> Bool { members[key.stringValue] != nil }

  func decodeNil(forKey key: Key) throws -> Bool { try decoder(key).decodeNil() }

  func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value { try decoder(key).decode(type) }

  func nestedContainer<Nested: CodingKey>(
    keyedBy type: Nested.Type, forKey key: Key
  ) throws -> KeyedDecodingContainer<Nested> {
    try decoder(key).container(keyedBy: type)
  }

  func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
    try decoder(key).unkeyedContainer()
  }

  func superDecoder() throws -> any Decoder { JSONValueDecoder(value: .object(members), path: codingPath) }

  func superDecoder(forKey key: Key) throws -> any Decoder { try decoder(key) }
}

private struct JSONElementDecoder: UnkeyedDecodingContainer {
  let elements: [JSONValue]
  let codingPath: [any CodingKey]
  var currentIndex = 0

  init(elements: [JSONValue], codingPath: [any CodingKey]) {
    self.elements = elements
    self.codingPath = codingPath
  }

  var count: Int? { elements.count }
  var isAtEnd: Bool { currentIndex == elements.count }

  private func decoder() throws -> JSONValueDecoder {
    guard !isAtEnd else {
      throw DecodingError.valueNotFound(
        JSONValue.self, .init(codingPath: codingPath, debugDescription: "\(currentIndex + 1) elements expected"))
    }
    return JSONValueDecoder(value: elements[currentIndex], path: codingPath)
  }

  mutating func decodeNil() throws -> Bool {
    guard try decoder().decodeNil() else { return false }
    currentIndex += 1
    return true
  }

  mutating func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
    let value = try decoder().decode(type)
    currentIndex += 1
    return value
  }

  mutating func nestedContainer<Nested: CodingKey>(
    keyedBy type: Nested.Type
  ) throws -> KeyedDecodingContainer<Nested> {
    let container = try decoder().container(keyedBy: type)
    currentIndex += 1
    return container
  }

  mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
    let container = try decoder().unkeyedContainer()
    currentIndex += 1
    return container
  }

  mutating func superDecoder() throws -> any Decoder {
    let next = try decoder()
    currentIndex += 1
    return next
  }
}
