// SPDX-License-Identifier: Apache-2.0
import Terminal

/// What a terminal can show.
struct TerminalCapabilities: Equatable, Sendable {
  var hasColour: Bool
  /// Whether it takes more than ASCII.
  var isUnicode: Bool

  /// For files, pipes and other programs.
  static let plain = TerminalCapabilities(hasColour: false, isUnicode: true)

  init(hasColour: Bool, isUnicode: Bool) {
    self.hasColour = hasColour
    self.isUnicode = isUnicode
  }

  /// As the environment tells: TERM, NO_COLOR (no-color.org), and the first of LC_ALL, LC_CTYPE and LANG.
  init(environment: (String) -> String?) {
    let isDumb = TerminalCapabilities.isDumb(environment)
    hasColour = !isDumb && (environment("NO_COLOR") ?? "").isEmpty
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].compactMap { environment($0) }.first { !$0.isEmpty } ?? "C"
    let charset = locale.uppercased()
    isUnicode = charset.contains("UTF-8") || charset.contains("UTF8")
  }

  /// Whether it cannot be drawn on: not even the cursor moves.
  static func isDumb(_ environment: (String) -> String?) -> Bool {
    let name = environment("TERM") ?? ""
    return name.isEmpty || name == "dumb"
  }
}

/// How a piece of text is to look. The words carry the meaning; this only helps.
enum TextStyle: Equatable, Sendable {
  case plain, strong, faint, good, warning, bad

  /// Of SGR (ECMA-48): the eight colours that every palette shows well enough on its own ground.
  fileprivate var code: String {
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

/// A line, or what may become several, in pieces of one look each.
///
/// Nothing in it can steer a terminal: what is no printable character becomes a replacement character on its way in, and a
/// direction mark or the like goes the same way.
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
    let text = StyledText.harmless(text)
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
  /// Without its looks.
  var text: String { pieces.map(\.text).joined() }
  /// Columns on a terminal.
  var width: Int { pieces.reduce(0) { $0 + DisplayWidth.of($1.text) } }

  /// All of it in one look.
  func styled(_ style: TextStyle) -> StyledText { StyledText(text, style) }

  /// A text that came from elsewhere, as it may be shown.
  static func harmless(_ text: String) -> String {
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

  // MARK: - Fitting

  /// In ASCII, for terminals that know no more.
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

  /// At most so many columns; what was cut off is marked.
  func cut(to columns: Int, mark: String = "…") -> StyledText {
    guard width > columns else { return self }
    let markWidth = DisplayWidth.of(mark)
    guard columns > markWidth else { return front(max(columns, 0)).front }
    var (front, _) = front(columns - markWidth)
    front.append(mark, front.pieces.last?.style ?? .plain)
    return front
  }

  /// Padded with spaces up to so many columns.
  func padded(to columns: Int) -> StyledText {
    let missing = columns - width
    return missing > 0 ? self + StyledText(String(repeating: " ", count: missing)) : self
  }

  /// Broken at spaces into lines of at most so many columns; a word that is longer is broken where it must be.
  ///
  /// - Parameter most: lines; the last one is cut if that is not enough.
  func wrapped(to columns: Int, most: Int = .max, mark: String = "…") -> [StyledText] {
    guard columns > 0 else { return [] }
    var lines: [StyledText] = []
    var rest = self
    while rest.width > columns, lines.count + 1 < most {
      let (front, back) = rest.broken(at: columns)
      lines.append(front)
      rest = back
    }
    lines.append(rest.cut(to: columns, mark: mark))
    return lines
  }

  private func broken(at columns: Int) -> (StyledText, StyledText) {
    // A space may be the one that does not fit.
    let (front, back) = front(columns)
    // One of two columns where there is one.
    if front.isEmpty { return (StyledText("?"), back.dropFirst(1)) }
    if back.text.hasPrefix(" ") { return (front, back.dropFirst(1)) }
    let characters = Array(front.text)
    guard let space = characters.lastIndex(of: " "), space > 0 else { return (front, back) }
    return (prefix(space), dropFirst(space + 1))
  }

  /// As many characters as fit, and the rest.
  private func front(_ columns: Int) -> (front: StyledText, back: StyledText) {
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

  /// With the sequences that a terminal turns into looks.
  func encoded(_ capabilities: TerminalCapabilities) -> String {
    let source = capabilities.isUnicode ? self : inASCII
    guard capabilities.hasColour else { return source.text }
    return source.pieces.map { piece in
      piece.style == .plain ? piece.text : "\u{1b}[\(piece.style.code)m\(piece.text)\u{1b}[0m"
    }.joined()
  }
}
