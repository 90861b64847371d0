// SPDX-License-Identifier: Apache-2.0
import ExternalInput

/// Checks texts with placeholders. `{scope}` and `{id}` name what a token is for: the vehicle, or also a trip or task
/// with `fleet-locationctl token`.
enum Template {
  static let placeholders = ["provider_id", "vehicle_id", "scope", "id"]

  /// - Parameter bracesAreLiteral: true for a text that may contain other braces, such as a JSON body: only `{name}` is
  ///   a placeholder. Otherwise every brace must belong to a placeholder.
  static func check(_ text: String, bracesAreLiteral: Bool) throws(ValueProblem) {
    var rest = Substring(text)
    while let open = rest.firstIndex(where: { $0 == "{" || (!bracesAreLiteral && $0 == "}") }) {
      let after = rest[rest.index(after: open)...]
      let name = after.prefix { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "_" || $0 == "-") }
      let isPlaceholder = rest[open] == "{" && !name.isEmpty && after[name.endIndex...].first == "}"
      guard isPlaceholder || bracesAreLiteral else {
        throw ValueProblem(message: "has an unmatched brace; \(advice)")
      }
      if isPlaceholder, !placeholders.contains(String(name)) {
        let hint = NearestName.find(String(name), among: placeholders).map { "; did you mean {\($0)}?" } ?? ""
        throw ValueProblem(message: "has the unknown placeholder {\(String(name).printable)}; \(advice)\(hint)")
      }
      rest = after
      // The closing brace of a placeholder is not checked again.
      if isPlaceholder { rest = rest[name.endIndex...].dropFirst() }
    }
  }

  private static let advice = "the placeholders are {provider_id}, {vehicle_id}, {scope} and {id}"
}
