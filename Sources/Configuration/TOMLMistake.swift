// SPDX-License-Identifier: Apache-2.0
import ExternalInput

/// Explains a syntax error of a TOML file and how to correct it, for readers who do not know TOML. The message never
/// contains a value, because values may be secrets. Any text may be one that was pasted, so the message contains only
/// names that the settings have.
struct TOMLMistake {
  private let lines: [Substring]
  /// From 1.
  private let lineNumber: Int
  private let parserMessage: String

  /// - Parameters:
  ///   - text: the complete file.
  ///   - line: where the parser stopped, from 1.
  ///   - parserMessage: the parser's message, such as `Error while parsing string: …`.
  init(_ text: [UInt8], line: Int, parserMessage: String) {
    // In Swift, CR LF is a single character, so such a line ending splits once.
    lines = String(decoding: text, as: UTF8.self).split(omittingEmptySubsequences: false) { $0.isNewline }
      .map { Substring($0) }
    lineNumber = line
    self.parserMessage = parserMessage
  }

  /// The message, without the position.
  var message: String {
    let line = lineNumber >= 1 && lineNumber <= lines.count ? lines[lineNumber - 1].trimmed : ""
    if let words = redefinition ?? lookalike(line) { return words }
    guard !line.isEmpty else { return fallback }
    return header(line) ?? assignment(line) ?? fallback
  }

  private var fallback: String {
    let detail = parserMessage.firstIndex(of: ":").map { String(parserMessage[$0...].dropFirst(2)) } ?? parserMessage
    return "this line cannot be read as `key = value` or `[section]`: \(withoutValues(detail).printable(atMost: 160))"
  }

  /// The parser's message with only those quoted texts that are as short as a character: it also quotes values.
  private func withoutValues(_ detail: String) -> String {
    let parts = detail.split(separator: "'", omittingEmptySubsequences: false)
    return parts.enumerated().map { $0.offset % 2 == 1 && $0.element.count > 8 ? "…" : String($0.element) }
      .joined(separator: "'")
  }

  // MARK: - Duplicate sections and keys

  private var redefinition: String? {
    guard parserMessage.contains(text: "cannot redefine existing"), lineNumber >= 1, lineNumber <= lines.count else {
      return nil
    }
    let line = lines[lineNumber - 1].trimmed
    guard let name = TOMLMistake.name(line) else { return nil }
    let isKnown = TOMLMistake.isKnown(name)
    let earlier = lines[..<(lineNumber - 1)]
    if line.hasPrefix("[") {
      let first = earlier.firstIndex { TOMLMistake.name($0.trimmed) == name && $0.trimmed.hasPrefix("[") }
      let place = first.map { " in line \($0 + 1)" } ?? " before"
      let advice =
        name == SettingSection.source.rawValue
        ? "; for several receivers, write [[source]] above each" : "; put all its keys under one heading"
      return "the section \(isKnown ? "[\(name)] " : "")is already defined\(place)\(advice)"
    }
    let section = earlier.lastIndex { $0.trimmed.hasPrefix("[") }
    let first = earlier[(section ?? 0)...].firstIndex { TOMLMistake.name($0.trimmed) == name }
    let key = isKnown ? "`\(name)`" : "this key"
    return "\(key) is already set\(first.map { " in line \($0 + 1)" } ?? " before"); remove one of the two"
  }

  /// The name of the section or key on this line; nil if the line has neither.
  private static func name(_ line: Substring) -> String? {
    if line.hasPrefix("[") {
      let name = line.drop { $0 == "[" || $0.isBlank }.prefix { $0 != "]" && !$0.isBlank }
      return name.isEmpty ? nil : String(name)
    }
    guard let equals = line.firstIndex(of: "=") else { return nil }
    return String(Substring(line[..<equals]).trimmed)
  }

  // MARK: - Characters that look like others

  private func lookalike(_ line: Substring) -> String? {
    let code = line.prefix { $0 != "#" }
    if code.contains(where: { "“”„‟‘’‚«»".contains($0) }) {
      return "has typographic quotes; type straight ones: \""
    }
    if code.unicodeScalars.contains(where: { $0.properties.generalCategory == .spaceSeparator && $0 != " " }) {
      return "has a space that is not an ordinary one (pasted from a web page or a text processor?); type it again"
    }
    return nil
  }

  // MARK: - Sections

  private func header(_ line: Substring) -> String? {
    guard let name = TOMLMistake.name(line), line.hasPrefix("[") else { return nil }
    let section = TOMLMistake.known(name.prefix { $0 != "=" })
    if !line.contains("]") {
      return "the bracket that closes the section is missing\(section.map { ": [\($0)]" } ?? "")"
    }
    if parserMessage.contains(text: "closing ']'") || parserMessage.contains(text: "value type") {
      return "a list above this line is not closed: its ] is missing"
    }
    guard parserMessage.contains(text: "comment or whitespace") else { return nil }
    return "the keys of the section\(section.map { " [\($0)]" } ?? "") begin on the next line; a comment begins with #"
  }

  // MARK: - Keys and values

  private static let names = Set(SettingSection.allCases.map(\.rawValue) + SettingSection.allSettings.map(\.name))

  /// Whether a key or the name of a section, perhaps with dots, has only names of the settings.
  private static func isKnown(_ name: String) -> Bool {
    name.split(separator: ".").allSatisfy { names.contains(String($0)) }
  }

  /// The setting or section that this text names, perhaps with a spelling mistake; nil if there is none, so the text
  /// may be a secret.
  private static func known(_ text: Substring) -> String? {
    if names.contains(String(text)) { return String(text) }
    return NearestName.find(String(text), among: names.sorted()).flatMap { abs($0.count - text.count) <= 3 ? $0 : nil }
  }

  private func assignment(_ line: Substring) -> String? {
    guard let equals = line.firstIndex(of: "=") else { return noEquals(line) }
    let written = Substring(line[..<equals]).trimmed
    let value = Substring(line[line.index(after: equals)...]).trimmed
    guard !written.isEmpty else { return nil }
    if written.contains(where: \.isBlank), !written.hasPrefix("\"") {
      return "a key has no spaces: write `\(TOMLMistake.known(written.replacingBlanks) ?? "key") = …`"
    }
    let key = TOMLMistake.known(written) ?? "key"
    guard let first = value.first, first != "#" else { return "the value after `\(key) =` is missing" }
    switch first {
    case "=": return "one = is enough: `\(key) = …`"
    case "\"", "'": return quoted(value, first, key)
    case "[", "{": return bracketed(value, first, key)
    default: return bare(value, key)
    }
  }

  private func noEquals(_ line: Substring) -> String? {
    if line.hasPrefix("//") || line.hasPrefix(";") || line.hasPrefix("/*") { return "a comment begins with #" }
    if line.hasPrefix("{") || line.hasPrefix("<") {
      return "the settings are TOML: sections such as [vehicle], and lines such as `vehicle_id = \"truck-17\"`"
    }
    let key = line.prefix(while: \.isBare)
    guard !key.isEmpty else { return nil }
    let rest = line.dropFirst(key.count).trimmed
    guard let name = TOMLMistake.known(key) else { return "this line has no =: write `key = …`, or [section]" }
    if rest.isEmpty { return "`\(name)` has no value: write `\(name) = …`, or [\(name)] if it is a section" }
    if rest == "]" { return "the bracket that opens the section is missing: [\(name)]" }
    return rest.hasPrefix(":") ? "write = in place of : (`\(name) = …`)" : "write = after the key: `\(name) = …`"
  }

  private func quoted(_ value: Substring, _ quote: Character, _ key: String) -> String? {
    // For multi-line strings the parser's own message is the best.
    guard !value.hasPrefix("\"\"\""), !value.hasPrefix("'''") else { return nil }
    if parserMessage.contains(text: "escape sequence") || parserMessage.contains(text: "unicode scalar")
      || parserMessage.contains(text: "hex digit")
    {
      return "a backslash in double quotes begins an escape sequence; write \\\\ for a backslash, or use single quotes"
    }
    var (isEscaped, end) = (false, String.Index?.none)
    for index in value.indices.dropFirst() {
      if value[index] == quote, !isEscaped {
        end = index
        break
      }
      isEscaped = quote == "\"" && value[index] == "\\" && !isEscaped
    }
    guard let end else { return "the quote that closes the value of `\(key)` is missing: \(quote)" }
    return trailing(value[value.index(after: end)...], key)
  }

  private func trailing(_ rest: Substring, _ key: String) -> String? {
    switch rest.trimmed.first {
    case nil, "#": nil
    case "/", ";": "nothing may follow the value of `\(key)` but a comment, which begins with #"
    default: "nothing may follow the value of `\(key)` on its line; write several values as [a, b]"
    }
  }

  private func bracketed(_ value: Substring, _ bracket: Character, _ key: String) -> String? {
    if parserMessage.contains(text: "dangling comma") { return "no comma before the } of `\(key)`" }
    if parserMessage.contains(text: "expected comma") { return "in the list of `\(key)` a comma or the ] is missing" }
    let (opened, closed) = (value.count { $0 == bracket }, value.count { $0 == (bracket == "{" ? "}" : "]") })
    guard opened > closed else { return nil }
    return bracket == "{"
      ? "the } that closes `\(key)` is missing; it must be on the same line as the {"
      : "the ] that closes `\(key)` is missing"
  }

  private func bare(_ value: Substring, _ key: String) -> String? {
    let text = value.prefix { $0 != "#" }.trimmed
    let word = text.lowercased()
    if ["true", "yes", "on"].contains(word) { return "write `\(key) = true`, in small letters and without quotes" }
    if ["false", "no", "off"].contains(word) { return "write `\(key) = false`, in small letters and without quotes" }
    if parserMessage.contains(text: "representable") { return "the number of `\(key)` is too large" }
    if text.allSatisfy({ $0.isASCII && ($0.isNumber || ",._'+-".contains($0)) }) {
      return "the number of `\(key)` has digits and at most one point: no commas, no zeros in front"
    }
    return "the value of `\(key)` needs quotes: `\(key) = \"…\"`"
  }
}

extension Character {
  fileprivate var isBlank: Bool { self == " " || self == "\t" }

  /// Whether a key may have it without quotes.
  fileprivate var isBare: Bool { isASCII && (isLetter || isNumber || self == "_" || self == "-") }
}

extension Substring {
  fileprivate var trimmed: Substring {
    var text = drop(while: \.isBlank)
    while text.last?.isBlank == true { text.removeLast() }
    return text
  }

  fileprivate var replacingBlanks: Substring { Substring(map { $0.isBlank ? "_" : $0 }) }
}
