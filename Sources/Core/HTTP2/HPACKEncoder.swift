// SPDX-License-Identifier: Apache-2.0

/// A header field to send.
struct HPACKField: Equatable, HPACKEntry {
  /// In lower case.
  var name: [UInt8]
  var value: [UInt8]
  /// Whether later requests will most likely have this field with the same value, so that it deserves a table entry
  /// even if other entries are evicted.
  var repeats = true

  init(_ name: String, _ value: String, repeats: Bool = true) {
    self.name = Array(name.utf8)
    self.value = Array(value.utf8)
    self.repeats = repeats
  }

  /// Its size in a table and in a header list.
  var size: Int { name.count + value.count + HPACKDynamicTable<HPACKField>.overhead }

  mutating func wipe() {
    for index in value.indices { value[index] = 0 }
  }
}

/// Encodes header blocks (RFC 7541) so that a field that is the same in each request costs one byte: every field is
/// indexed, including the bearer token and `:path`, which most libraries send in full each time. docs/threat-model.md
/// explains why that is safe here. The encoder contains the token in the clear until `wipe`.
struct HPACKEncoder: Sendable {
  private(set) var table = HPACKDynamicTable<HPACKField>()
  /// The smallest size that the peer has requested since the last block, which must be signalled before the latest
  /// size.
  private var minimumCapacity: Int?
  /// Whether the repeated fields do not all fit into the table, so that no other field gets an entry.
  private var isTableFull = false
  /// The number of added entries: an encoded block can be reused while this is unchanged.
  private(set) var additions = 0

  /// Whether the next block must begin with a table size update.
  var hasPendingUpdate: Bool { minimumCapacity != nil }

  /// The peer's table size, SETTINGS_HEADER_TABLE_SIZE, in bytes. More than 4,096 are not used.
  mutating func setPeerCapacity(_ bytes: Int) {
    let capacity = min(max(bytes, 0), HPACKDynamicTable<HPACKField>.initialCapacity)
    guard capacity != table.capacity || minimumCapacity != nil else { return }
    minimumCapacity = min(minimumCapacity ?? capacity, capacity)
    table.setCapacity(capacity)
  }

  /// Appends the header block of these fields.
  mutating func encode(_ fields: [HPACKField], into output: inout [UInt8]) {
    if let minimumCapacity {
      if minimumCapacity < table.capacity { HPACKEncoder.write(minimumCapacity, prefix: 5, 0x20, into: &output) }
      HPACKEncoder.write(table.capacity, prefix: 5, 0x20, into: &output)
      self.minimumCapacity = nil
    }
    let indexed = indexed(fields)
    for (field, isIndexed) in zip(fields, indexed) { encode(field, isIndexed: isIndexed, into: &output) }
  }

  /// The fields that get an entry: if the table is too small for all, the largest that fit together, so that they do
  /// not evict each other with each request.
  private mutating func indexed(_ fields: [HPACKField]) -> [Bool] {
    var indexed = fields.map(\.repeats)
    if indexed.contains(true) { isTableFull = false }
    var room = table.capacity
    for (_, index) in fields.indices.map({ (fields[$0].size, $0) }).sorted(by: { $0.0 > $1.0 }) where indexed[index] {
      if HPACKEncoder.staticNumbers(of: fields[index]).field != nil { continue }
      if fields[index].size <= room {
        room -= fields[index].size
      } else {
        indexed[index] = false
        isTableFull = true
      }
    }
    return indexed
  }

  private static let staticFields = HPACKStaticTable.entries.map { HPACKField($0.name, $0.value) }

  /// The indices in the static table of the same field, and of the first with its name; nil if there is none.
  private static func staticNumbers(of field: HPACKField) -> (field: Int?, name: Int?) {
    var name: Int?
    for index in staticFields.indices
    where staticFields[index].name.count == field.name.count && staticFields[index].name == field.name {
      if staticFields[index].value == field.value { return (index + 1, name ?? index + 1) }
      name = name ?? index + 1
    }
    return (nil, name)
  }

  private mutating func encode(_ field: HPACKField, isIndexed: Bool, into output: inout [UInt8]) {
    let known = HPACKEncoder.staticNumbers(of: field)
    if let number = known.field { return HPACKEncoder.write(number, prefix: 7, 0x80, into: &output) }
    let first = HPACKEncoder.staticFields.count + 1
    if let index = table.firstIndex(where: { $0.value == field.value && $0.name == field.name }) {
      return HPACKEncoder.write(first + index, prefix: 7, 0x80, into: &output)
    }
    let name = known.name ?? table.firstIndex { $0.name == field.name }.map { first + $0 }
    // A field that does not repeat only gets an entry if nothing has to be evicted for it.
    let isAdded = isIndexed || (!isTableFull && field.size <= table.capacity - table.size)
    if isAdded {
      HPACKEncoder.write(name ?? 0, prefix: 6, 0x40, into: &output)
    } else {
      HPACKEncoder.write(name ?? 0, prefix: 4, 0, into: &output)
    }
    if name == nil { HPACKEncoder.write(field.name, into: &output) }
    HPACKEncoder.write(field.value, into: &output)
    if isAdded {
      table.add(field, length: field.name.count + field.value.count)
      additions &+= 1
    }
  }

  /// An integer (RFC 7541, section 5.1); `pattern` is in the bits above its prefix.
  private static func write(_ value: Int, prefix: Int, _ pattern: UInt8, into output: inout [UInt8]) {
    let limit = 1 << prefix - 1
    if value < limit { return output.append(pattern | UInt8(truncatingIfNeeded: value)) }
    output.append(pattern | UInt8(truncatingIfNeeded: limit))
    var rest = value - limit
    while rest >= 128 {
      output.append(UInt8(truncatingIfNeeded: rest & 127 | 128))
      rest >>= 7
    }
    output.append(UInt8(truncatingIfNeeded: rest))
  }

  /// A string (RFC 7541, section 5.2), Huffman-encoded if that is shorter.
  private static func write(_ text: [UInt8], into output: inout [UInt8]) {
    let size = HuffmanCode.size(of: text)
    if size < text.count {
      write(size, prefix: 7, 0x80, into: &output)
      HuffmanCode.encode(text, into: &output)
    } else {
      write(text.count, prefix: 7, 0, into: &output)
      output += text
    }
  }

  /// Overwrites the table, which contains the token: no block can be encoded after that.
  mutating func wipe() { table.wipe() }
}
