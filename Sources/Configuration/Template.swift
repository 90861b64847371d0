// SPDX-License-Identifier: Apache-2.0

/// Texts with placeholders in them. `{scope}` and `{id}` say what a token is for where it need not be the vehicle.
enum Template {
  static let placeholders = ["provider_id", "vehicle_id", "scope", "id"]

  /// - Parameter bracesAreLiteral: only a brace before a lower-case name begins a placeholder, as in a JSON body; else every brace does.
  static func check(_ text: String, bracesAreLiteral: Bool) throws(ValueProblem) {
    var rest = Substring(text)
    while let open = rest.firstIndex(where: { $0 == "{" || (!bracesAreLiteral && $0 == "}") }) {
      let after = rest[rest.index(after: open)...]
      let name = after.prefix { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "_" || $0 == "-") }
      let isClosed = rest[open] == "{" && !name.isEmpty && after[name.endIndex...].first == "}"
      guard isClosed || bracesAreLiteral else {
        throw ValueProblem(message: "has a brace without its other half; \(advice)")
      }
      if isClosed, !placeholders.contains(String(name)) {
        let hint = NearestName.find(String(name), among: placeholders).map { "; did you mean {\($0)}?" } ?? ""
        throw ValueProblem(message: "has the unknown placeholder {\(String(name).printable)}; \(advice)\(hint)")
      }
      rest = after
      // The closing half of a placeholder is not an opening of the next.
      if isClosed { rest = rest[name.endIndex...].dropFirst() }
    }
  }

  private static let advice = "the placeholders are {provider_id}, {vehicle_id}, {scope} and {id}"
}
