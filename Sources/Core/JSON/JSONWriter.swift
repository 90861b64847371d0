// SPDX-License-Identifier: Apache-2.0
package import Timekeeping

/// Writes one JSON document without white space, value by value. It inserts commas; the caller must close each object
/// and array, and write a key before each value in an object.
package struct JSONWriter: Sendable {
  /// The document so far.
  package private(set) var bytes: [UInt8] = []

  /// - Parameter capacity: the estimated size in bytes.
  package init(capacity: Int = 0) {
    bytes.reserveCapacity(capacity)
  }

  /// Begins an object, as a value.
  package mutating func openObject() { open("{") }

  /// Begins an array, as a value.
  package mutating func openArray() { open("[") }

  /// Ends the innermost object.
  package mutating func closeObject() { bytes.append(UInt8(ascii: "}")) }

  /// Ends the innermost array.
  package mutating func closeArray() { bytes.append(UInt8(ascii: "]")) }

  /// The key of the next value.
  ///
  /// - Parameter name: printable ASCII without quotation marks and backslashes.
  package mutating func key(_ name: String) {
    separate()
    bytes.append(UInt8(ascii: "\""))
    bytes.append(contentsOf: name.utf8)
    bytes.append(UInt8(ascii: "\""))
    bytes.append(UInt8(ascii: ":"))
  }

  /// A string of any characters.
  package mutating func string(_ text: String) {
    separate()
    bytes.append(UInt8(ascii: "\""))
    guard !text.utf8.allSatisfy({ $0 >= 0x20 && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\") }) else {
      bytes.append(contentsOf: text.utf8)
      return bytes.append(UInt8(ascii: "\""))
    }
    for byte in text.utf8 {
      switch byte {
      case UInt8(ascii: "\""), UInt8(ascii: "\\"):
        bytes.append(UInt8(ascii: "\\"))
        bytes.append(byte)
      case UInt8(ascii: "\n"): bytes.append(contentsOf: [UInt8(ascii: "\\"), UInt8(ascii: "n")])
      case ..<0x20:
        bytes.append(contentsOf: [UInt8(ascii: "\\"), UInt8(ascii: "u"), UInt8(ascii: "0"), UInt8(ascii: "0")])
        bytes.append(JSONWriter.hexadecimal(byte >> 4))
        bytes.append(JSONWriter.hexadecimal(byte & 0xF))
      default: bytes.append(byte)
      }
    }
    bytes.append(UInt8(ascii: "\""))
  }

  /// A time, as a string in protobuf's JSON form.
  package mutating func time(_ stamp: Timestamp) {
    separate()
    bytes.append(UInt8(ascii: "\""))
    stamp.appendCanonicalJSON(to: &bytes)
    bytes.append(UInt8(ascii: "\""))
  }

  /// An integer.
  package mutating func number(_ value: some BinaryInteger) {
    separate()
    if value < 0 { bytes.append(UInt8(ascii: "-")) }
    append(UInt64(value.magnitude), digits: 1)
  }

  /// Any value, the members of objects in the order of their names.
  package mutating func value(_ value: JSONValue) {
    switch value {
    case .null: word("null")
    case .bool(let value): word(value ? "true" : "false")
    case .integer(let value): number(value)
    case .number(let value): word("\(value)")
    case .string(let text): string(text)
    case .array(let elements):
      openArray()
      for element in elements { self.value(element) }
      closeArray()
    case .object(let members):
      openObject()
      for (name, member) in members.sorted(by: { $0.key < $1.key }) {
        string(name)
        bytes.append(UInt8(ascii: ":"))
        self.value(member)
      }
      closeObject()
    }
  }

  private mutating func word(_ ascii: String) {
    separate()
    bytes.append(contentsOf: ascii.utf8)
  }

  /// A number with at most this many decimals, rounded to the nearest, half away from zero. No exponent, no trailing
  /// zeros, no negative zero. Not-a-number, infinity and numbers that exceed 64 bits are written as 0; a receiver never
  /// reports these.
  ///
  /// - Parameter decimals: 0 to 9.
  package mutating func number(_ value: Double, decimals: Int) {
    var scale: UInt64 = 1
    for _ in 0..<decimals { scale *= 10 }
    let scaled = Int64(exactly: (value * Double(scale)).rounded()) ?? 0
    separate()
    if scaled < 0 { bytes.append(UInt8(ascii: "-")) }
    append(scaled.magnitude / scale, digits: 1)
    var (rest, width) = (scaled.magnitude % scale, decimals)
    guard rest > 0 else { return }
    while rest % 10 == 0 {
      rest /= 10
      width -= 1
    }
    bytes.append(UInt8(ascii: "."))
    append(rest, digits: width)
  }

  private mutating func open(_ bracket: Unicode.Scalar) {
    separate()
    bytes.append(UInt8(ascii: bracket))
  }

  /// Appends a comma if a value precedes.
  private mutating func separate() {
    switch bytes.last {
    case nil, UInt8(ascii: "{"), UInt8(ascii: "["), UInt8(ascii: ":"): break
    default: bytes.append(UInt8(ascii: ","))
    }
  }

  /// - Parameter digits: the minimum number of digits, 1 or more.
  private mutating func append(_ value: UInt64, digits: Int) {
    var (width, above) = (1, value / 10)
    while above > 0 {
      width += 1
      above /= 10
    }
    width = max(width, digits)
    bytes.append(contentsOf: repeatElement(UInt8(ascii: "0"), count: width))
    var (rest, place) = (value, bytes.count - 1)
    while rest > 0 {
      bytes[place] = UInt8(ascii: "0") + UInt8(rest % 10)
      rest /= 10
      place -= 1
    }
  }

  private static func hexadecimal(_ digit: UInt8) -> UInt8 {
    digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10
  }
}
