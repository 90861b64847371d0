// SPDX-License-Identifier: Apache-2.0
import ExternalInput

/// Expands placeholders such as `{vehicle_id}` from an authorization context.
enum ContextTemplate {
  /// All placeholders of all contexts.
  private static let placeholders = ["provider_id", "vehicle_id", "trip_id", "task_id", "tracking_id", "scope", "id"]

  /// Expands the placeholders in one pass from left to right, so that an ID that looks like a placeholder is not
  /// expanded again. Other braces are left unchanged.
  ///
  /// - Throws: `TokenFailure` with reason `missingAuthorizationContext` if the context has no value for a placeholder.
  static func expand(
    _ template: String, _ context: AuthorizationContext, _ escape: (String) -> String
  ) throws(TokenFailure) -> String {
    var result = ""
    var rest = Substring(template)
    while let brace = rest.firstIndex(of: "{") {
      result += rest[..<brace]
      rest = rest[brace...]
      if let name = placeholders.first(where: { rest.hasPrefix("{\($0)}") }) {
        guard let variable = context.variables.first(where: { $0.name == name }) else {
          throw TokenFailure(
            .missingAuthorizationContext,
            "the settings of the token provider contain {\(name)}, which does not exist for a \(context.scope.noun)"
          )
        }
        result += escape(variable.value)
        rest = rest.dropFirst(name.count + 2)
      } else {
        result.append("{")
        rest = rest.dropFirst()
      }
    }
    return result + rest
  }

  /// Escapes text for use inside the quotes of a JSON string.
  static func jsonEscaped(_ text: String) -> String {
    var escaped = ""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"": escaped += "\\\""
      case "\\": escaped += "\\\\"
      case "\u{0}"..<" ":
        let hex = String(scalar.value, radix: 16)
        escaped += "\\u" + String(repeating: "0", count: 4 - hex.count) + hex
      default: escaped.unicodeScalars.append(scalar)
      }
    }
    return escaped
  }
}
