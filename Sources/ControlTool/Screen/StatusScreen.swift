// SPDX-License-Identifier: Apache-2.0
import Terminal

/// Lays out a status, either as lines without a limit, or for one screen of any size.
///
/// It does no output: input is a status, a size and the terminal's capabilities, the result is lines.
enum StatusScreen {
  /// Minimum number of columns for a sketch beside the events.
  private static let sketchFrom = 72
  /// Minimum rows of a sketch, with its caption.
  private static let leastSketch = 4
  private static let eventIndent = 8

  // MARK: - Without a limit

  /// All lines, for one print.
  ///
  /// - Parameter width: nil for a file or pipe: lines are not wrapped, and no bars are drawn.
  static func lines(
    of sheet: StatusSheet, width: Int?, capabilities: TerminalCapabilities
  ) -> [StyledText] {
    var rows = [sheet.title] + sheet.groups.joined()
    if width != nil { rows = rows.map { drawn($0, sheet, capabilities) } }
    var lines = rows.flatMap { self.lines(of: $0, width: width, most: .max, capabilities) }
    // Five events fit on a small terminal; the journal has more.
    for (index, event) in sheet.events.prefix(width == nil ? .max : 5).enumerated() {
      let name = index == 0 ? "Events" : ""
      let row = StatusSheet.Row(
        name: name, text: StyledText("\(event.age) ago: ", .faint) + event.text, weight: 0)
      lines += self.lines(of: row, width: width, most: 2, capabilities)
    }
    return lines
  }

  /// Adds the bars before the text of their row.
  private static func drawn(
    _ row: StatusSheet.Row, _ sheet: StatusSheet, _ capabilities: TerminalCapabilities
  ) -> StatusSheet.Row {
    guard let minutes = sheet.minutes, row.text.text == minutes.words else { return row }
    var row = row
    row.text = minutes.bars(isUnicode: capabilities.isUnicode) + StyledText("  ") + row.text
    return row
  }

  private static func lines(
    of row: StatusSheet.Row, width: Int?, most: Int, _ capabilities: TerminalCapabilities
  ) -> [StyledText] {
    let name = StyledText(row.name).padded(to: StatusSheet.nameWidth)
    guard let width else { return [name + row.text] }
    let indent = StyledText(String(repeating: " ", count: StatusSheet.nameWidth))
    let text = fit(row.text, to: max(width - StatusSheet.nameWidth, 1), most: most, capabilities)
    return text.enumerated().map { ($0 == 0 ? name : indent) + $1 }
  }

  private static func fit(
    _ text: StyledText, to width: Int, most: Int, _ capabilities: TerminalCapabilities
  ) -> [StyledText] {
    let text = capabilities.isUnicode ? text : text.inASCII
    return text.wrapped(to: width, most: most, mark: capabilities.isUnicode ? "…" : "...")
  }

  // MARK: - One screen

  /// One frame of `status --watch`.
  ///
  /// - Parameters:
  ///   - sheet: the last answer; nil before the first.
  ///   - silence: why the daemon does not answer now; the last answer is then shown faint.
  /// - Returns: at most `size.rows` lines, none wider than `size.columns`.
  static func frame(
    of sheet: StatusSheet?, silence: StyledText? = nil, size: Terminal.Size, capabilities: TerminalCapabilities
  ) -> [StyledText] {
    let columns = max(size.columns, 1)
    var lines = [top(sheet, silence, columns, capabilities)]
    if let silence {
      lines += fit(silence.styled(.bad), to: columns, most: max(size.rows / 3, 1), capabilities)
    }
    if let sheet {
      let room = Terminal.Size(columns: columns, rows: max(size.rows - lines.count, 0))
      var rest = body(of: sheet, room, capabilities)
      if silence != nil { rest = rest.map { $0.styled(.faint) } }
      lines += rest
    }
    let mark = capabilities.isUnicode ? "…" : "..."
    return lines.prefix(max(size.rows, 0)).map { $0.cut(to: columns, mark: mark) }
  }

  private static func top(
    _ sheet: StatusSheet?, _ silence: StyledText?, _ columns: Int, _ capabilities: TerminalCapabilities
  ) -> StyledText {
    let state = silence == nil ? sheet?.state ?? StyledText() : StyledText("no daemon answers", .bad)
    // A long vehicle ID is cut, so that the state is always visible.
    let vehicle = fit(
      StyledText(sheet?.vehicle ?? "fleet-locationd", .strong), to: max(columns - state.width - 2, 8), most: 1,
      capabilities)
    let left = (vehicle.first ?? StyledText()) + StyledText("  ") + state
    for right in [
      [sheet?.daemon, "q quits"].compactMap(\.self).filter { !$0.isEmpty }.joined(separator: "; "), "q quits",
    ]
    where left.width + 2 + DisplayWidth.of(right) <= columns {
      return left.padded(to: columns - DisplayWidth.of(right)) + StyledText(right, .faint)
    }
    return left
  }

  private static func body(
    of sheet: StatusSheet, _ size: Terminal.Size, _ capabilities: TerminalCapabilities
  ) -> [StyledText] {
    // Reserves lines for some events, and a gap before them.
    let wish = sheet.events.isEmpty ? 0 : min(sheet.events.count, max(size.rows / 4, 1)) + 1
    var shape = Shape(groups: sheet.groups.map { $0.map { drawn($0, sheet, capabilities) } })
    func lines(_ shape: Shape) -> [StyledText] { self.lines(of: shape, size.columns, capabilities) }
    while lines(shape).count + wish > size.rows, shape.shrink() {}
    // The remaining lines go to the rows with the highest weight.
    for weight in shape.weights.reversed() {
      for most in [3, 2] where most > shape.most {
        var larger = shape
        larger.exceptions[weight] = most
        if lines(larger).count + wish <= size.rows {
          shape = larger
          break
        }
      }
    }
    let rows = lines(shape)
    let room = size.rows - rows.count
    guard room > 0 else { return Array(rows.prefix(max(size.rows, 0))) }
    let gap = shape.hasGaps && room > 1 ? [StyledText()] : []
    let foot = Terminal.Size(columns: size.columns, rows: room - gap.count)
    return rows + gap + self.foot(of: sheet, foot, capabilities)
  }

  /// How much of the rows is shown.
  private struct Shape {
    var groups: [[StatusSheet.Row]]
    var hasGaps = true
    /// Lines that a row may take, and rows of certain weights.
    var most = 3
    var exceptions: [Int: Int] = [:]

    /// Lightest first.
    var weights: [Int] { Set(groups.joined().map(\.weight)).sorted() }

    /// Shortens by one step: long sentences are cut, gaps between groups removed, and rows of the lowest weight removed.
    ///
    /// - Returns: false if nothing is left to remove.
    mutating func shrink() -> Bool {
      guard let least = weights.first else { return false }
      if most > 2 {
        most = 2
      } else if hasGaps, least > 1 {
        hasGaps = false
      } else if most > 1, least > 4 {
        most = 1
      } else if weights.count > 1 {
        for index in groups.indices { groups[index].removeAll { $0.weight == least } }
      } else {
        return false
      }
      return true
    }
  }

  private static func lines(
    of shape: Shape, _ columns: Int, _ capabilities: TerminalCapabilities
  ) -> [StyledText] {
    shape.groups.filter { !$0.isEmpty }.flatMap { group in
      (shape.hasGaps ? [StyledText()] : [])
        + group.flatMap {
          lines(of: $0, width: columns, most: shape.exceptions[$0.weight] ?? shape.most, capabilities)
        }
    }
  }

  /// Events, with the sketch beside them.
  private static func foot(
    of sheet: StatusSheet, _ size: Terminal.Size, _ capabilities: TerminalCapabilities
  ) -> [StyledText] {
    guard let sketch = sheet.sketch, size.columns >= sketchFrom, size.rows >= leastSketch else {
      return events(of: sheet, size, capabilities)
    }
    let width = min(size.columns * 3 / 10, 2 * size.rows + 8)
    let left = size.columns - width - 2
    let events = events(of: sheet, Terminal.Size(columns: left, rows: size.rows), capabilities)
    let drawing =
      [StyledText(sketch.caption, .faint).cut(to: width)]
      + sketch.lines(columns: width, rows: min(size.rows - 1, width / 2), isUnicode: capabilities.isUnicode)
    return (0..<max(events.count, drawing.count)).map { row in
      let event = row < events.count ? events[row] : StyledText()
      guard row < drawing.count else { return event }
      return event.padded(to: left + 2) + drawing[row]
    }
  }

  private static func events(
    of sheet: StatusSheet, _ size: Terminal.Size, _ capabilities: TerminalCapabilities
  ) -> [StyledText] {
    var lines: [StyledText] = []
    let indent = StyledText(String(repeating: " ", count: eventIndent))
    for event in sheet.events where lines.count < size.rows {
      let age = StyledText(event.age, .faint).padded(to: eventIndent)
      // Up to three lines for the newest event, one for each other.
      let most = lines.isEmpty ? min(max(size.rows / 3, 1), 3) : 1
      let text = fit(event.text, to: max(size.columns - eventIndent, 1), most: most, capabilities)
      lines += text.enumerated().map { ($0 == 0 ? age : indent) + $1 }
    }
    return lines
  }
}
