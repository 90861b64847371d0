// SPDX-License-Identifier: Apache-2.0
import Terminal

/// Encodes frames for a terminal: only the lines that differ from the previous frame, to avoid flicker and traffic on
/// slow connections.
struct ScreenPainter {
  private let capabilities: TerminalCapabilities
  private var shown: [String] = []
  private var size: Terminal.Size?

  init(_ capabilities: TerminalCapabilities) {
    self.capabilities = capabilities
  }

  /// Makes the next frame paint the whole screen, because its contents are unknown.
  mutating func invalidate() {
    size = nil
  }

  /// - Parameter lines: none wider than the screen.
  /// - Returns: the bytes to write; empty if the screen already shows the frame.
  mutating func paint(_ lines: [StyledText], on size: Terminal.Size) -> [UInt8] {
    let lines = lines.prefix(size.rows).map { (line: $0.encoded(capabilities), isFull: $0.width >= size.columns) }
    var text = ""
    if self.size != size {
      text = "\u{1b}[2J"
      shown = []
      self.size = size
    }
    for row in 0..<max(lines.count, shown.count) {
      let line = row < lines.count ? lines[row].line : ""
      guard row >= shown.count ? !line.isEmpty : shown[row] != line else { continue }
      // After a full line the cursor is still on its last character, which would be erased.
      let isFull = row < lines.count && lines[row].isFull
      text += "\u{1b}[\(row + 1);1H\(line)\(isFull ? "" : "\u{1b}[K")"
    }
    shown = lines.map(\.line)
    guard !text.isEmpty else { return [] }
    // Synchronized output (mode 2026), which terminals without it ignore.
    return Array("\u{1b}[?2026h\(text)\u{1b}[?2026l".utf8)
  }
}
