// SPDX-License-Identifier: Apache-2.0

/// Decodes header blocks (RFC 7541). An error makes every later block undecodable, so it ends the connection.
struct HPACKDecoder: Sendable {
  /// A decoded field.
  struct Field: Equatable, HPACKEntry {
    var name: String
    var value: String
    /// Whether name and value are allowed in a field of HTTP/2 (RFC 9113, section 8.2).
    var isValid: Bool
    /// Size of the name as received: invalid UTF-8 is repaired, but the original size counts (RFC 7541, section 4.1).
    var nameLength: Int
    /// Size of the value as received.
    var valueLength: Int

    var length: Int { nameLength + valueLength }

    /// Responses contain no secret.
    func wipe() {}
  }

  /// The block cannot be decoded: COMPRESSION_ERROR.
  enum Failure: Error {
    case malformed
  }

  /// The largest accepted number, far above any valid one.
  private static let maximumNumber = 1 << 24

  private var table = HPACKDynamicTable<Field>()

  private static let staticFields = HPACKStaticTable.entries.map {
    Field(
      name: $0.name, value: $0.value, isValid: true, nameLength: $0.name.utf8.count, valueLength: $0.value.utf8.count)
  }

  /// Decodes a complete block. Fields beyond `limit` bytes of the header list (RFC 9113, section 6.5.2) are decoded and
  /// discarded.
  mutating func decode(_ block: [UInt8], limit: Int) throws(Failure) -> [Field] {
    var reader = Reader(rest: block[...])
    var fields: [Field] = []
    var size = 0
    var mayResize = true
    while let first = reader.rest.first {
      let field: Field
      switch first {
      case 0x80...:
        field = try entry(try reader.number(prefix: 7))
        mayResize = false
      case 0x40..<0x80:
        field = try literal(try reader.number(prefix: 6), &reader)
        table.add(field, length: field.length)
        mayResize = false
      case 0x20..<0x40:
        let capacity = try reader.number(prefix: 5)
        guard mayResize, capacity <= HPACKDynamicTable<Field>.initialCapacity else { throw .malformed }
        table.setCapacity(capacity)
        continue
      default:
        field = try literal(try reader.number(prefix: 4), &reader)
        mayResize = false
      }
      size += field.length + HPACKDynamicTable<Field>.overhead
      if size <= limit { fields.append(field) }
    }
    return fields
  }

  private func entry(_ number: Int) throws(Failure) -> Field {
    let fields = HPACKDecoder.staticFields
    if number >= 1, number <= fields.count { return fields[number - 1] }
    guard let field = table[number - fields.count - 1] else { throw .malformed }
    return field
  }

  private func literal(_ name: Int, _ reader: inout Reader) throws(Failure) -> Field {
    if name > 0 {
      var field = try entry(name)
      let value = try reader.string()
      field.value = String(decoding: value, as: UTF8.self)
      field.valueLength = value.count
      field.isValid = HPACKDecoder.isAllowed(field.name, Array(field.name.utf8), value)
      return field
    }
    let name = try reader.string()
    let value = try reader.string()
    let text = String(decoding: name, as: UTF8.self)
    return Field(
      name: text, value: String(decoding: value, as: UTF8.self), isValid: HPACKDecoder.isAllowed(text, name, value),
      nameLength: name.count, valueLength: value.count)
  }

  private static func isAllowed(_ text: String, _ name: [UInt8], _ value: [UInt8]) -> Bool {
    isName(name) && isValue(value) && !HTTP2RequestHead.connectionHeaders.contains(text)
  }

  /// RFC 9113, section 8.2.1: no control characters, blanks, upper case letters or non-ASCII bytes; a colon only at the
  /// beginning.
  private static func isName(_ name: [UInt8]) -> Bool {
    !name.isEmpty && name != [UInt8(ascii: ":")]
      && name.indices.allSatisfy { index in
        let byte = name[index]
        return byte > 0x20 && byte < 0x7F && !(0x41...0x5A).contains(byte) && (byte != UInt8(ascii: ":") || index == 0)
      }
  }

  /// RFC 9113, section 8.2.1: no NUL and no line break, and no blank at either end.
  private static func isValue(_ value: [UInt8]) -> Bool {
    let blanks: [UInt8?] = [0x20, 0x09]
    return !value.contains { $0 == 0 || $0 == 0x0A || $0 == 0x0D }
      && !(value.first.map { blanks.contains($0) } ?? false) && !(value.last.map { blanks.contains($0) } ?? false)
  }

  private struct Reader {
    var rest: ArraySlice<UInt8>

    /// An integer that begins in the lowest `prefix` bits of the first byte (RFC 7541, section 5.1).
    mutating func number(prefix: Int) throws(Failure) -> Int {
      guard let first = rest.popFirst() else { throw .malformed }
      let limit = 1 << prefix - 1
      var value = Int(first) & limit
      guard value == limit else { return value }
      var shift = 0
      while let byte = rest.popFirst(), shift <= 21 {
        value += Int(byte & 127) << shift
        shift += 7
        if byte < 128 {
          guard value <= HPACKDecoder.maximumNumber else { throw .malformed }
          return value
        }
      }
      throw .malformed
    }

    mutating func string() throws(Failure) -> [UInt8] {
      guard let first = rest.first else { throw .malformed }
      let count = try number(prefix: 7)
      guard count <= rest.count else { throw .malformed }
      let bytes = rest.prefix(count)
      rest.removeFirst(count)
      guard first & 0x80 != 0 else { return Array(bytes) }
      guard let text = HuffmanCode.decode(bytes) else { throw .malformed }
      return text
    }
  }
}
