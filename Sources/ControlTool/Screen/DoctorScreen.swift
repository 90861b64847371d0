// SPDX-License-Identifier: Apache-2.0
import Diagnosis

/// Lays out the report of `doctor`.
struct DoctorScreen {
  /// The width of the terminal; nil for a file or pipe: lines are not wrapped.
  let width: Int?
  let capabilities: TerminalCapabilities

  /// A part of the report, with its line ends.
  func text(of part: Doctor.Part) -> String {
    switch part {
    case .title(let title, _): lines(StyledText(title, .strong))
    case .finding(let finding):
      lines(StyledText("  ") + mark(finding.severity) + StyledText("  \(finding.sentence)"), indent: 8)
        + (finding.advice.map { lines(StyledText("        \($0)"), indent: 8) } ?? "")
    case .summary(let counts, let cause):
      lines(StyledText(counts)) + (cause.map { lines(StyledText("Cause: ", .bad) + StyledText($0), indent: 7) } ?? "")
    }
  }

  private func mark(_ severity: Finding.Severity) -> StyledText {
    let style: TextStyle =
      switch severity {
      case .pass: .good
      case .warn: .warning
      case .fail: .bad
      }
    return StyledText(severity.rawValue, style)
  }

  /// - Parameter indent: of all lines but the first, if the text is wrapped.
  private func lines(_ text: StyledText, indent: Int = 0) -> String {
    guard let width, text.width > width, width > 2 * indent else { return text.encoded(capabilities) + "\n" }
    let lines = text.wrapped(first: width, others: width - indent)
    let space = String(repeating: " ", count: indent)
    return lines.enumerated().map { ($0 == 0 ? "" : space) + $1.encoded(capabilities) + "\n" }.joined()
  }
}
