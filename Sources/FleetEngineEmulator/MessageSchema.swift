// SPDX-License-Identifier: Apache-2.0

/// The type of a protobuf field in JSON.
indirect enum FieldType: Sendable {
  case string(maximumLength: Int? = nil)
  case bool
  /// A finite number.
  case double(ClosedRange<Double>? = nil)
  /// A whole number of 32 bits.
  case int32(ClosedRange<Int64>? = nil)
  case timestamp
  case duration
  /// Standard base64.
  case bytes
  case enumeration(EnumSchema)
  case message(MessageSchema)
  case repeated(FieldType, maximumCount: Int? = nil)
}

/// The values of a protobuf enum; JSON has a name or a number.
struct EnumSchema: Sendable {
  let names: [String: Int64]
  /// Values that only the server may set.
  var outputOnly: Set<String> = []
}

/// The fields of a protobuf message under their JSON names.
struct MessageSchema: Sendable {
  struct Field: Sendable {
    enum Behaviour: Sendable {
      case plain
      /// Rejected in a request.
      case outputOnly
      /// Never in a response.
      case inputOnly
    }

    let type: FieldType
    var behaviour = Behaviour.plain
  }

  let name: String
  let fields: [String: Field]

  init(_ name: String, _ fields: [String: FieldType], outputOnly: Set<String> = [], inputOnly: Set<String> = []) {
    self.name = name
    self.fields = .init(
      uniqueKeysWithValues: fields.map { key, type in
        (
          key,
          Field(
            type: type,
            behaviour: outputOnly.contains(key) ? .outputOnly : inputOnly.contains(key) ? .inputOnly : .plain)
        )
      })
  }
}
