// SPDX-License-Identifier: Apache-2.0

extension TOMLValue {
  /// These merged settings as TOML in canonical form: sections and keys are sorted by name, and there are no comments.
  var canonicalText: String {
    var text = ""
    for (name, member) in members.sorted(by: { $0.key < $1.key }) {
      switch member.value.content {
      case .table(let keys): text += "[\(TOMLValue.quoted(name))]\n" + TOMLValue.lines(keys)
      case .array(let elements):
        for element in elements { text += "[[\(TOMLValue.quoted(name))]]\n" + TOMLValue.lines(element.members) }
      default: continue
      }
    }
    return text
  }

  private static func lines(_ keys: [String: Member]) -> String {
    keys.sorted { $0.key < $1.key }.map { "\(quoted($0.key)) = \($0.value.value.inlineText)\n" }.joined()
  }

  /// As the right-hand side of a key.
  var inlineText: String {
    switch content {
    case .string(let text): TOMLValue.quoted(text)
    case .array(let elements): "[\(elements.map(\.inlineText).joined(separator: ", "))]"
    case .table(let keys):
      "{ "
        + keys.sorted { $0.key < $1.key }.map { "\(TOMLValue.quoted($0.key)) = \($0.value.value.inlineText)" }
        .joined(separator: ", ") + " }"
    case .integer, .float, .boolean: content.source
    // No setting has this type.
    case .dateTime: TOMLValue.quoted("")
    }
  }

  /// The same value with each of its strings replaced.
  func mapStrings(_ replace: (String) -> String) -> TOMLValue {
    var value = self
    switch content {
    case .string(let text): value.content = .string(replace(text))
    case .array(let elements): value.content = .array(elements.map { $0.mapStrings(replace) })
    case .table(let keys):
      value.content = .table(
        keys.mapValues { Member(keyPosition: $0.keyPosition, value: $0.value.mapStrings(replace)) })
    case .integer, .float, .boolean, .dateTime: break
    }
    return value
  }

  private static func quoted(_ text: String) -> String {
    var quoted = "\""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"", "\\": quoted += "\\\(scalar)"
      case _ where scalar.value < 0x20 || scalar.value == 0x7F:
        let digits = String(scalar.value, radix: 16)
        quoted += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
      default: quoted.unicodeScalars.append(scalar)
      }
    }
    return quoted + "\""
  }
}
