// SPDX-License-Identifier: Apache-2.0

extension TOMLValue {
  /// These merged settings as TOML in canonical form: sections and keys are sorted by name, and there are no comments
  /// and no empty sections.
  var canonicalText: String { text(\.inlineText) { _, _ in false } }

  /// The prefix of a line that is a comment for releases that do not know its key.
  private static let commentPrefix = "#+ "

  /// The canonical form with some lines as comments, which `uncommented` undoes, and each element of an array on a line
  /// of its own: the parser limits the dots of a line.
  ///
  /// - Parameter isComment: whether the line of this key in this section is a comment. The heading of a section is a
  ///   comment if all its keys are.
  func commentedText(_ isComment: (_ section: String, _ key: String) -> Bool) -> String {
    text(\.multilineText, isComment)
  }

  private func text(
    _ valueText: (TOMLValue) -> String, _ isComment: (_ section: String, _ key: String) -> Bool
  ) -> String {
    func lines(_ heading: String, _ section: String, _ keys: [String: Member]) -> String {
      let isHeadingComment = keys.keys.allSatisfy { isComment(section, $0) }
      return (isHeadingComment ? TOMLValue.commentPrefix : "") + heading + "\n"
        + keys.sorted { $0.key < $1.key }.map {
          isComment(section, $0.key)
            ? "\(TOMLValue.commentPrefix)\(TOMLValue.quoted($0.key)) = \($0.value.value.inlineText)\n"
            : "\(TOMLValue.quoted($0.key)) = \(valueText($0.value.value))\n"
        }.joined()
    }
    var text = ""
    for (name, member) in members.sorted(by: { $0.key < $1.key }) {
      switch member.value.content {
      case .table(let keys) where !keys.isEmpty: text += lines("[\(TOMLValue.quoted(name))]", name, keys)
      case .array(let elements):
        for element in elements { text += lines("[[\(TOMLValue.quoted(name))]]", name, element.members) }
      default: continue
      }
    }
    return text
  }

  /// A result of `commentedText`, without the prefixes of those comments. Every value that is a comment is on one line,
  /// so each line is handled separately.
  static func uncommented(_ text: [UInt8]) -> [UInt8] {
    let prefix = Array(commentPrefix.utf8)
    return Array(
      text.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        .map { $0.starts(with: prefix) ? $0.dropFirst(prefix.count) : $0 }.joined(separator: [UInt8(ascii: "\n")]))
  }

  private var multilineText: String {
    guard case .array(let elements) = content, elements.count > 1 else { return inlineText }
    return "[\n\(elements.map { "  \($0.inlineText)" }.joined(separator: ",\n"))\n]"
  }

  /// The value as the right-hand side of a key, on one line.
  var inlineText: String {
    switch content {
    case .string(let text): TOMLValue.quoted(text)
    case .array(let elements): "[\(elements.map(\.inlineText).joined(separator: ", "))]"
    case .table(let keys):
      "{ "
        + keys.sorted { $0.key < $1.key }.map { "\(TOMLValue.quoted($0.key)) = \($0.value.value.inlineText)" }
        .joined(separator: ", ") + " }"
    case .integer, .float, .boolean: content.literal
    // No setting has this type.
    case .dateTime: TOMLValue.quoted("")
    }
  }

  /// The elements of an array of strings; nil if it is anything else.
  var strings: [String]? {
    guard case .array(let elements) = content else { return nil }
    let strings = elements.compactMap { element in if case .string(let text) = element.content { text } else { nil } }
    return strings.count == elements.count ? strings : nil
  }

  /// The same value with each of its strings replaced, in order.
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
