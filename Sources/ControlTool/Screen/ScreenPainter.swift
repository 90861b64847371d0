// SPDX-License-Identifier: Apache-2.0
import Terminal

/// Turns frames into what a terminal has to be told: only of the lines that differ from the frame before, so that nothing
/// flickers and a slow line is not filled.
struct ScreenPainter {
  private let capabilities: TerminalCapabilities
  private var shown: [String] = []
  private var size: Terminal.Size?

  init(_ capabilities: TerminalCapabilities) {
    self.capabilities = capabilities
  }

  /// The screen shows something else now: the next frame is painted whole.
  mutating func forget() {
    size = nil
  }

  /// - Parameter lines: none wider than the screen.
  /// - Returns: to be written at once; empty when all of it is there already.
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
      // Behind a full line the cursor still stands on its last character, which would be erased.
      let isFull = row < lines.count && lines[row].isFull
      text += "\u{1b}[\(row + 1);1H\(line)\(isFull ? "" : "\u{1b}[K")"
    }
    shown = lines.map(\.line)
    guard !text.isEmpty else { return [] }
    // Shown at once by terminals that know how (mode 2026), and passed over by the others.
    return Array("\u{1b}[?2026h\(text)\u{1b}[?2026l".utf8)
  }
}
