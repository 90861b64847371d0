// SPDX-License-Identifier: Apache-2.0

/// A bar chart of the updates in the last few minutes, one character per minute.
struct UpdateBars: Equatable {
  /// The numbers of accepted and failed updates in each minute, oldest first.
  private let minutes: [(accepted: Int, failed: Int)]

  /// - Parameter rows: pairs of accepted and failed; nil or empty gives no chart.
  init?(_ rows: [[Int]]?) {
    guard let rows, !rows.isEmpty else { return nil }
    minutes = rows.suffix(60).map { row in
      row.count == 2 ? (max(row[0], 0), max(row[1], 0)) : (0, 0)
    }
  }

  static func == (left: UpdateBars, right: UpdateBars) -> Bool {
    left.minutes.elementsEqual(right.minutes) { $0 == $1 }
  }

  var count: Int { minutes.count }

  /// The totals, such as `172 accepted, 3 failed`.
  var summary: String {
    let accepted = minutes.reduce(0) { $0 &+ $1.accepted }
    let failed = minutes.reduce(0) { $0 &+ $1.failed }
    return "\(accepted) accepted, \(failed) failed"
  }

  /// The height of a bar is the number of accepted updates, relative to the highest; in ASCII, the number is a digit up
  /// to 9. `x` is a minute with failures only, and a dot is a minute without updates.
  func bars(isUnicode: Bool) -> StyledText {
    let blocks = Array("▁▂▃▄▅▆▇█")
    let highest = max(minutes.map(\.accepted).max() ?? 1, 1)
    var text = StyledText()
    for (accepted, failed) in minutes {
      if accepted == 0 {
        failed > 0 ? text.append("x", .bad) : text.append(".", .faint)
        continue
      }
      let style: TextStyle = failed > 0 ? .warning : .good
      if isUnicode {
        let height = Double(accepted) / Double(highest) * Double(blocks.count - 1)
        text.append(String(blocks[min(Int(height.rounded()), blocks.count - 1)]), style)
      } else {
        text.append("\(min(accepted, 9))", style)
      }
    }
    return text
  }
}
