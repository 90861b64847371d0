// SPDX-License-Identifier: Apache-2.0
import FoundationEssentials
package import JSON

/// A document as FoundationEssentials reads it.
package struct ReferenceJSON: Decodable {
  private let value: JSONValue

  /// - Returns: nil if the library rejects the document. It accepts some things that RFC 8259 does not: a trailing
  ///   comma, unknown escapes.
  package init?(parsing bytes: [UInt8]) {
    guard let document = try? JSONDecoder().decode(ReferenceJSON.self, from: Data(bytes)) else { return nil }
    self = document
  }

  package init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    if let text = try? container.decode(String.self) {
      value = .string(text)
    } else if let members = try? container.decode([String: ReferenceJSON].self) {
      value = .object(members.mapValues(\.value))
    } else if let elements = try? container.decode([ReferenceJSON].self) {
      value = .array(elements.map(\.value))
    } else if let number = try? container.decode(Double.self) {
      value = .number(number)
    } else if let integer = try? container.decode(Int64.self) {
      // A number that is too small for a Double, such as 1e-400.
      value = .number(Double(integer))
    } else if container.decodeNil() {
      value = .null
    } else {
      value = .bool(try container.decode(Bool.self))
    }
  }

  /// Whether another reader has read the same value. Numbers are compared as doubles: if an integer is requested, the
  /// library truncates 44444444444444444.44 to one.
  package func agrees(with value: JSONValue) -> Bool { self.value == Self.withDoubles(value) }

  private static func withDoubles(_ value: JSONValue) -> JSONValue {
    switch value {
    case .integer(let integer): .number(Double(integer))
    case .array(let elements): .array(elements.map(withDoubles))
    case .object(let members): .object(members.mapValues(withDoubles))
    case .null, .bool, .number, .string: value
    }
  }
}
