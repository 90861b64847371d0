// SPDX-License-Identifier: Apache-2.0
import Terminal

/// Lays out a status: all its lines, for a single print, or as many as fit on a screen, for `status --watch`.
///
/// It performs no output: its input is a status, a size and the terminal's capabilities, and its result is lines.
enum StatusScreen {
  /// Minimum number of columns for a sketch next to the events.
  private static let minimumSketchColumns = 72
  /// Minimum rows of a sketch, with its caption.
  private static let minimumSketchRows = 4
  private static let eventIndent = 8

  // MARK: - A single print

  /// All lines of a status.
  ///
  /// - Parameter width: nil for a file or pipe: lines are not wrapped, and no bars are drawn.
  static func lines(
    of status: StatusRows, width: Int?, capabilities: TerminalCapabilities
  ) -> [StyledText] {
    var rows = [status.title] + status.groups.joined()
    if width != nil { rows = rows.map { withBars($0, status, capabilities) } }
    var lines = rows.flatMap { self.lines(of: $0, width: width, maxLines: .max, capabilities) }
    // Five events fit on a small terminal; the journal has more.
    for (index, event) in status.events.prefix(width == nil ? .max : 5).enumerated() {
      let name = index == 0 ? "Events" : ""
      let row = StatusRows.Row(
        name: name, text: StyledText("\(event.age) ago: ", .faint) + event.text, weight: 0)
      lines += self.lines(of: row, width: width, maxLines: 2, capabilities)
    }
    return lines
  }

  /// Adds the bars before the text of their row.
  private static func withBars(
    _ row: StatusRows.Row, _ status: StatusRows, _ capabilities: TerminalCapabilities
  ) -> StatusRows.Row {
    guard let updateBars = status.updateBars, row.text.text == updateBars.summary else { return row }
    var row = row
    row.text = updateBars.bars(isUnicode: capabilities.isUnicode) + StyledText("  ") + row.text
    return row
  }

  private static func lines(
    of row: StatusRows.Row, width: Int?, maxLines: Int, _ capabilities: TerminalCapabilities
  ) -> [StyledText] {
    let name = StyledText(row.name).padded(to: StatusRows.nameWidth)
    guard let width else { return [name + row.text] }
    let indent = StyledText(String(repeating: " ", count: StatusRows.nameWidth))
    let text = fit(row.text, to: max(width - StatusRows.nameWidth, 1), maxLines: maxLines, capabilities)
    return text.enumerated().map { ($0 == 0 ? name : indent) + $1 }
  }

  private static func fit(
    _ text: StyledText, to width: Int, maxLines: Int, _ capabilities: TerminalCapabilities
  ) -> [StyledText] {
    let text = capabilities.isUnicode ? text : text.inASCII
    return text.wrapped(to: width, maxLines: maxLines, ellipsis: capabilities.isUnicode ? "…" : "...")
  }

  // MARK: - One screen

  /// One frame of `status --watch`.
  ///
  /// - Parameters:
  ///   - status: the last response; nil before the first.
  ///   - failure: why the daemon does not answer now; the last response is then shown faint.
  /// - Returns: at most `size.rows` lines, none wider than `size.columns`.
  static func frame(
    of status: StatusRows?, failure: StyledText? = nil, size: Terminal.Size, capabilities: TerminalCapabilities
  ) -> [StyledText] {
    let columns = max(size.columns, 1)
    var lines = [top(status, failure, columns, capabilities)]
    if let failure {
      lines += fit(failure.styled(.bad), to: columns, maxLines: max(size.rows / 3, 1), capabilities)
    }
    if let status {
      let room = Terminal.Size(columns: columns, rows: max(size.rows - lines.count, 0))
      var rest = body(of: status, room, capabilities)
      if failure != nil { rest = rest.map { $0.styled(.faint) } }
      lines += rest
    }
    let ellipsis = capabilities.isUnicode ? "…" : "..."
    return lines.prefix(max(size.rows, 0)).map { $0.truncated(to: columns, ellipsis: ellipsis) }
  }

  private static func top(
    _ status: StatusRows?, _ failure: StyledText?, _ columns: Int, _ capabilities: TerminalCapabilities
  ) -> StyledText {
    let state = failure == nil ? status?.state ?? StyledText() : StyledText("no daemon answers", .bad)
    // A long vehicle ID is cut, so that the state is always visible.
    let vehicle = fit(
      StyledText(status?.vehicle ?? "fleet-locationd", .strong), to: max(columns - state.width - 2, 8), maxLines: 1,
      capabilities)
    let left = (vehicle.first ?? StyledText()) + StyledText("  ") + state
    for right in [
      [status?.daemon, "q quits"].compactMap(\.self).filter { !$0.isEmpty }.joined(separator: "; "), "q quits",
    ]
    where left.width + 2 + DisplayWidth.of(right) <= columns {
      return left.padded(to: columns - DisplayWidth.of(right)) + StyledText(right, .faint)
    }
    return left
  }

  private static func body(
    of status: StatusRows, _ size: Terminal.Size, _ capabilities: TerminalCapabilities
  ) -> [StyledText] {
    // Reserves lines for some events, and a gap before them.
    let eventRows = status.events.isEmpty ? 0 : min(status.events.count, max(size.rows / 4, 1)) + 1
    var shape = Shape(groups: status.groups.map { $0.map { withBars($0, status, capabilities) } })
    func lines(_ shape: Shape) -> [StyledText] { self.lines(of: shape, size.columns, capabilities) }
    while lines(shape).count + eventRows > size.rows, shape.shrink() {}
    // The remaining lines go to the rows with the highest weight.
    for weight in shape.weights.reversed() {
      for maxLines in [3, 2] where maxLines > shape.maxLines {
        var larger = shape
        larger.maxLinesByWeight[weight] = maxLines
        if lines(larger).count + eventRows <= size.rows {
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
    return rows + gap + self.foot(of: status, foot, capabilities)
  }

  /// How much of the rows is shown.
  private struct Shape {
    var groups: [[StatusRows.Row]]
    var hasGaps = true
    /// Maximum lines of a row.
    var maxLines = 3
    /// Maximum lines of rows with certain weights, by weight.
    var maxLinesByWeight: [Int: Int] = [:]

    /// Lightest first.
    var weights: [Int] { Set(groups.joined().map(\.weight)).sorted() }

    /// Shortens by one step: long sentences are cut, gaps between groups removed, and rows of the lowest weight
    /// removed.
    ///
    /// - Returns: false if nothing is left to remove.
    mutating func shrink() -> Bool {
      guard let least = weights.first else { return false }
      if maxLines > 2 {
        maxLines = 2
      } else if hasGaps, least > 1 {
        hasGaps = false
      } else if maxLines > 1, least > 4 {
        maxLines = 1
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
          lines(of: $0, width: columns, maxLines: shape.maxLinesByWeight[$0.weight] ?? shape.maxLines, capabilities)
        }
    }
  }

  /// Events, with the sketch next to them.
  private static func foot(
    of status: StatusRows, _ size: Terminal.Size, _ capabilities: TerminalCapabilities
  ) -> [StyledText] {
    guard let sketch = status.sketch, size.columns >= minimumSketchColumns, size.rows >= minimumSketchRows else {
      return events(of: status, size, capabilities)
    }
    let width = min(size.columns * 3 / 10, 2 * size.rows + 8)
    let left = size.columns - width - 2
    let events = events(of: status, Terminal.Size(columns: left, rows: size.rows), capabilities)
    let drawing =
      [StyledText(sketch.caption, .faint).truncated(to: width)]
      + sketch.lines(columns: width, rows: min(size.rows - 1, width / 2), isUnicode: capabilities.isUnicode)
    return (0..<max(events.count, drawing.count)).map { row in
      let event = row < events.count ? events[row] : StyledText()
      guard row < drawing.count else { return event }
      return event.padded(to: left + 2) + drawing[row]
    }
  }

  private static func events(
    of status: StatusRows, _ size: Terminal.Size, _ capabilities: TerminalCapabilities
  ) -> [StyledText] {
    var lines: [StyledText] = []
    let indent = StyledText(String(repeating: " ", count: eventIndent))
    for event in status.events where lines.count < size.rows {
      let age = StyledText(event.age, .faint).padded(to: eventIndent)
      // The newest event has up to three lines, each older event has one.
      let maxLines = lines.isEmpty ? min(max(size.rows / 3, 1), 3) : 1
      let text = fit(event.text, to: max(size.columns - eventIndent, 1), maxLines: maxLines, capabilities)
      lines += text.enumerated().map { ($0 == 0 ? age : indent) + $1 }
    }
    return lines
  }
}
