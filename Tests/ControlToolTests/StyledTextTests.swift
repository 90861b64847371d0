// SPDX-License-Identifier: Apache-2.0
import Expectations
import Terminal
import Testing

@testable import ControlTool

struct StyledTextTests {
  @Test(
    "text from outside cannot contain control sequences",
    arguments: [
      "\u{1b}[2J", "\u{9b}31m", "a\u{7f}b", "\u{202e}evil", "\u{200b}", "\u{2028}", "\u{0}", "\u{e000}", "\r", "\u{85}",
    ])
  func harmless(text: String) {
    let shown = StyledText(text).text
    expect(
      shown.unicodeScalars.allSatisfy {
        ![.control, .format, .lineSeparator, .privateUse].contains($0.properties.generalCategory)
      })
    expect(shown.contains("\u{fffd}"))
    expectEqual(StyledText("\u{1b}[31mred").inASCII.text, "?[31mred")
  }

  @Test("a text of several lines becomes one line, and letters of any language are preserved")
  func lines() {
    expectEqual(StyledText("one\ntwo\tthree").text, "one two three")
    expectEqual(StyledText("Lkw Süd 東京").text, "Lkw Süd 東京")
  }

  @Test(
    "widths are measured as a terminal does",
    arguments: [("abc", 3), ("±…", 2), ("東京", 4), ("e\u{301}", 1), ("", 0), ("⠿", 1)])
  func width(text: String, columns: Int) {
    expectEqual(StyledText(text).width, columns)
  }

  @Test("text is truncated by columns, with a mark")
  func cut() {
    expectEqual(StyledText("東京都庁").truncated(to: 5).text, "東京…")
    expectEqual(StyledText("東京都庁").truncated(to: 6).text, "東京…")
    expectEqual(StyledText("東京都庁").truncated(to: 8).text, "東京都庁")
    expectEqual(StyledText("abcdef").truncated(to: 4, ellipsis: "...").text, "a...")
    expectEqual(StyledText("abcdef").truncated(to: 2, ellipsis: "...").text, "ab")
    expect(StyledText("abcdef").truncated(to: 0).text.isEmpty)
  }

  @Test("lines break at spaces, and no line is wider than requested", arguments: 1...30)
  func wrap(columns: Int) {
    let text = StyledText("offline", .bad) + StyledText(" for 2 min (network): 東京都庁 no-route-to-host-at-all at once")
    let lines = text.wrapped(to: columns)
    expect(lines.allSatisfy { $0.width <= columns })
    let letters = lines.map(\.text).joined().filter { $0 != " " }
    // No word is wider.
    if columns >= 24 { expectEqual(lines.flatMap { $0.text.split(separator: " ") }, text.text.split(separator: " ")) }
    // A character of two columns does not fit into one.
    if columns > 1 { expectEqual(letters, text.text.filter { $0 != " " }) }
  }

  @Test("the last allowed line has a mark where it is truncated, and line breaks preserve styles")
  func wrapMost() {
    let text = StyledText("aaaa bbbb ", .bad) + StyledText("cccc dddd")
    expectEqual(text.wrapped(to: 9, maxLines: 2).map(\.text), ["aaaa bbbb", "cccc dddd"])
    expectEqual(text.wrapped(to: 5, maxLines: 2).map(\.text), ["aaaa", "bbbb…"])
    expectEqual(text.wrapped(to: 9)[0].pieces, [StyledText.Piece(text: "aaaa bbbb", style: .bad)])
  }

  @Test("colour sequences are written only if needed, and reset")
  func encoded() {
    let text = StyledText("online", .good) + StyledText(" ±3")
    expectEqual(
      text.encoded(TerminalCapabilities(hasColour: true, isUnicode: true)), "\u{1b}[32monline\u{1b}[0m ±3")
    expectEqual(text.encoded(TerminalCapabilities(hasColour: false, isUnicode: false)), "online +-3")
  }

  @Test(
    "the terminal's capabilities are read from the environment",
    arguments: [
      (["TERM": "xterm", "LANG": "de_DE.UTF-8"], true, true), (["TERM": "xterm", "LANG": "C"], true, false),
      (["TERM": "xterm", "LANG": "de_DE.UTF-8", "LC_ALL": "C"], true, false), (["TERM": "xterm"], true, false),
      (["TERM": "xterm", "LC_ALL": "", "LC_CTYPE": "C.utf8"], true, true),
      (["TERM": "dumb", "LANG": "C.UTF-8"], false, true), (["LANG": "C.UTF-8"], false, true),
      (["TERM": "xterm", "NO_COLOR": "1", "LANG": "C.UTF-8"], false, true),
      (["TERM": "xterm", "NO_COLOR": "", "LANG": "C.UTF-8"], true, true),
    ])
  func capabilities(environment: [String: String], hasColour: Bool, isUnicode: Bool) {
    expectEqual(
      TerminalCapabilities { environment[$0] }, TerminalCapabilities(hasColour: hasColour, isUnicode: isUnicode))
  }
}
