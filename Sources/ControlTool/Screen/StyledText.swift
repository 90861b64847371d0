// SPDX-License-Identifier: Apache-2.0
import ExternalInput
import SystemCalls
import Terminal

/// The abilities of a terminal.
struct TerminalCapabilities: Equatable, Sendable {
  var hasColour: Bool
  /// Whether it shows Unicode, not only ASCII.
  var isUnicode: Bool

  /// For files, pipes and other programs.
  static let plain = TerminalCapabilities(hasColour: false, isUnicode: true)

  /// Those of the terminal at standard output.
  static var ofStandardOutput: TerminalCapabilities {
    Terminal.isStandardOutput ? TerminalCapabilities(environment: Environment.value(of:)) : .plain
  }

  init(hasColour: Bool, isUnicode: Bool) {
    self.hasColour = hasColour
    self.isUnicode = isUnicode
  }

  /// From the environment: TERM, NO_COLOR (no-color.org), and the first of LC_ALL, LC_CTYPE and LANG.
  init(environment: (String) -> String?) {
    let isDumb = TerminalCapabilities.isDumb(environment)
    hasColour = !isDumb && (environment("NO_COLOR") ?? "").isEmpty
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].compactMap { environment($0) }.first { !$0.isEmpty } ?? "C"
    let charset = locale.uppercased()
    isUnicode = charset.contains(text: "UTF-8") || charset.contains(text: "UTF8")
  }

  /// Whether the terminal cannot even move its cursor (TERM=dumb).
  static func isDumb(_ environment: (String) -> String?) -> Bool {
    let name = environment("TERM") ?? ""
    return name.isEmpty || name == "dumb"
  }
}

/// The style of a piece of text. The meaning is in the words, never in the style alone.
enum TextStyle: Equatable, Sendable {
  case plain, strong, faint, good, warning, bad

  /// The SGR parameter (ECMA-48), of the eight basic colours only.
  fileprivate var sgrParameter: String {
    switch self {
    case .plain: ""
    case .strong: "1"
    case .faint: "2"
    case .good: "32"
    case .warning: "33"
    case .bad: "1;31"
    }
  }
}

/// A text in pieces of one style each.
///
/// It cannot contain control sequences: every character that is not printable, and every direction mark, is replaced by
/// a replacement character when it is added.
struct StyledText: Equatable, Sendable {
  struct Piece: Equatable, Sendable {
    var text: String
    var style: TextStyle
  }

  private(set) var pieces: [Piece] = []

  init() {}

  init(_ text: String, _ style: TextStyle = .plain) {
    append(text, style)
  }

  mutating func append(_ text: String, _ style: TextStyle = .plain) {
    let text = StyledText.sanitized(text)
    guard !text.isEmpty else { return }
    if let last = pieces.indices.last, pieces[last].style == style {
      pieces[last].text += text
    } else {
      pieces.append(Piece(text: text, style: style))
    }
  }

  mutating func append(_ other: StyledText) {
    for piece in other.pieces { append(piece.text, piece.style) }
  }

  static func + (left: StyledText, right: StyledText) -> StyledText {
    var sum = left
    sum.append(right)
    return sum
  }

  var isEmpty: Bool { pieces.isEmpty }
  /// Without styles.
  var text: String { pieces.map(\.text).joined() }
  /// Columns on a terminal.
  var width: Int { pieces.reduce(0) { $0 + DisplayWidth.of($1.text) } }

  /// The same text, all in one style.
  func styled(_ style: TextStyle) -> StyledText { StyledText(text, style) }

  /// Replaces the control characters of a text that another program has sent, so that it cannot control the terminal.
  static func sanitized(_ text: String) -> String {
    if text.utf8.allSatisfy({ $0 >= 0x20 && $0 < 0x7f }) { return text }
    var result = ""
    for scalar in text.unicodeScalars {
      switch scalar.properties.generalCategory {
      // A line end becomes a space: sentences of several lines are shown in one.
      case .control: result.unicodeScalars.append(scalar == "\n" || scalar == "\t" ? " " : "\u{fffd}")
      case .format, .lineSeparator, .paragraphSeparator, .surrogate, .privateUse, .unassigned:
        result.unicodeScalars.append("\u{fffd}")
      default: result.unicodeScalars.append(scalar)
      }
    }
    return result
  }

  /// The same text with other words, piece by piece.
  func rewording(_ reword: (String) -> String) -> StyledText {
    var result = StyledText()
    for piece in pieces { result.append(reword(piece.text), piece.style) }
    return result
  }

  // MARK: - Fitting

  /// In ASCII, for terminals without Unicode.
  var inASCII: StyledText {
    var result = StyledText()
    for piece in pieces { result.append(StyledText.inASCII(piece.text), piece.style) }
    return result
  }

  private static func inASCII(_ text: String) -> String {
    if text.utf8.allSatisfy({ $0 < 0x80 }) { return text }
    return text.map { character -> String in
      if character.isASCII { return String(character) }
      switch character {
      case "±": return "+-"
      case "…": return "..."
      case "–", "—", "·": return "-"
      case "×": return "x"
      case "“", "”": return "\""
      case "‘", "’": return "'"
      default: return "?"
      }
    }.joined()
  }

  /// Cut to at most this number of columns, with a mark where it was cut.
  func truncated(to columns: Int, ellipsis: String = "…") -> StyledText {
    guard width > columns else { return self }
    let ellipsisWidth = DisplayWidth.of(ellipsis)
    guard columns > ellipsisWidth else { return split(at: max(columns, 0)).front }
    var (front, _) = split(at: columns - ellipsisWidth)
    front.append(ellipsis, front.pieces.last?.style ?? .plain)
    return front
  }

  /// Padded with spaces to this number of columns.
  func padded(to columns: Int) -> StyledText {
    let missing = columns - width
    return missing > 0 ? self + StyledText(String(repeating: " ", count: missing)) : self
  }

  /// The text, wrapped at spaces into lines of at most `columns`; longer words are broken.
  ///
  /// - Parameters:
  ///   - maxLines: the last of these lines is cut if the text is longer.
  ///   - ellipsis: the character at the end of a text that was cut.
  func wrapped(to columns: Int, maxLines: Int = .max, ellipsis: String = "…") -> [StyledText] {
    guard columns > 0 else { return [] }
    var lines: [StyledText] = []
    var rest = self
    while rest.width > columns, lines.count + 1 < maxLines {
      let (front, back) = rest.broken(at: columns)
      lines.append(front)
      rest = back
    }
    lines.append(rest.truncated(to: columns, ellipsis: ellipsis))
    return lines
  }

  /// The same with a different width for the first line, whose indentation is a part of the text.
  func wrapped(first: Int, others: Int) -> [StyledText] {
    guard width > first else { return [self] }
    let (front, back) = broken(at: first)
    return [front] + back.wrapped(to: others)
  }

  private func broken(at columns: Int) -> (StyledText, StyledText) {
    // The character that does not fit may be a space.
    let (front, back) = split(at: columns)
    // At least one character, even if it needs two columns.
    if front.isEmpty { return (StyledText("?"), back.dropFirst(1)) }
    if back.text.hasPrefix(" ") { return (front, back.dropFirst(1)) }
    let characters = Array(front.text)
    guard let space = characters.lastIndex(of: " "), space > 0 else { return (front, back) }
    return (prefix(space), dropFirst(space + 1))
  }

  /// The characters that fit, and the rest.
  private func split(at columns: Int) -> (front: StyledText, back: StyledText) {
    var room = columns
    var count = 0
    for character in text {
      let width = DisplayWidth.of(String(character))
      guard width <= room else { break }
      room -= width
      count += 1
    }
    return (prefix(count), dropFirst(count))
  }

  private func prefix(_ count: Int) -> StyledText {
    var result = StyledText()
    var rest = count
    for piece in pieces where rest > 0 {
      let text = piece.text.prefix(rest)
      rest -= text.count
      result.append(String(text), piece.style)
    }
    return result
  }

  private func dropFirst(_ count: Int) -> StyledText {
    var result = StyledText()
    var rest = count
    for piece in pieces {
      let text = piece.text.dropFirst(rest)
      rest -= piece.text.count - text.count
      result.append(String(text), piece.style)
    }
    return result
  }

  // MARK: - Output

  /// With the escape sequences of its styles.
  func encoded(_ capabilities: TerminalCapabilities) -> String {
    let source = capabilities.isUnicode ? self : inASCII
    guard capabilities.hasColour else { return source.text }
    return source.pieces.map { piece in
      piece.style == .plain ? piece.text : "\u{1b}[\(piece.style.sgrParameter)m\(piece.text)\u{1b}[0m"
    }.joined()
  }
}
