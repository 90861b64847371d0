// SPDX-License-Identifier: Apache-2.0
import Diagnosis

/// The list of the sources that were found, from which one is chosen by its number.
struct SetupSources {
  let found: [FoundSource]

  private var usable: [FoundSource] { found.filter(\.isUsable) }

  /// The answer to the question about the source.
  private static func answer(_ kind: FoundSource.Kind) -> String {
    switch kind {
    case .serial(let path): path
    case .gpsd: SetupAnswers.Source.gpsd.text
    case .modemManager: SetupAnswers.Source.modemManager.text
    }
  }

  /// The list, with the findings about each source; those that cannot be used have no number.
  var text: String {
    guard !found.isEmpty else { return "No receiver was found: no serial port, no gpsd, no modem.\n" }
    var text = "Found:\n"
    var number = 0
    for source in found {
      if source.isUsable { number += 1 }
      text += "  \(source.isUsable ? "\(number)" : "-")  \(SetupSources.answer(source.kind))\n"
      for finding in source.findings {
        let advice = finding.severity == .pass ? nil : finding.advice
        // A finding may contain the name of another user's process.
        text += "       \(StyledText.sanitized(finding.sentence + (advice.map { ". \($0)" } ?? "")))\n"
      }
    }
    return text
  }

  /// The answer for an empty line: the first source without a warning, otherwise the first; nil if there is none.
  var defaultAnswer: String? {
    let best = usable.first { $0.findings.allSatisfy { $0.severity == .pass } } ?? usable.first
    return best.map { SetupSources.answer($0.kind) }
  }

  /// The answer for the only usable source; nil if there are none or several.
  var onlyAnswer: String? { usable.count == 1 ? defaultAnswer : nil }

  /// The answer for a number in the list; anything else is returned unchanged.
  func answer(for text: String) -> String {
    guard let number = Int(text), usable.indices.contains(number - 1) else { return text }
    return SetupSources.answer(usable[number - 1].kind)
  }
}
