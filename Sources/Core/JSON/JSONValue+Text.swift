// SPDX-License-Identifier: Apache-2.0

extension JSONValue {
  /// JSON on one line with sorted keys, for display: control characters are escaped.
  package var text: String {
    switch self {
    case .null: "null"
    case .bool(let value): value ? "true" : "false"
    case .integer(let value): "\(value)"
    case .number(let value): "\(value)"
    case .string(let value): JSONValue.quoted(value)
    case .array(let elements): "[\(elements.map(\.text).joined(separator: ", "))]"
    case .object(let members):
      "{"
        + members.sorted { $0.key < $1.key }.map { "\(JSONValue.quoted($0.key)): \($0.value.text)" }
        .joined(separator: ", ") + "}"
    }
  }

  private static func quoted(_ text: String) -> String {
    var quoted = "\""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"": quoted += "\\\""
      case "\\": quoted += "\\\\"
      default:
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .unassigned:
          for unit in String(scalar).utf16 {
            let hex = String(unit, radix: 16)
            quoted += "\\u" + String(repeating: "0", count: max(4 - hex.count, 0)) + hex
          }
        default: quoted.unicodeScalars.append(scalar)
        }
      }
    }
    return quoted + "\""
  }
}
