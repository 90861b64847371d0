// SPDX-License-Identifier: Apache-2.0
package import ExternalInput

/// The result of one check: what was found, and what to do about a problem.
package struct Finding: Equatable, Sendable {
  /// The severity.
  package enum Severity: String, Sendable {
    case pass
    /// It may work, but should be looked at.
    case warn
    /// The service cannot work like this.
    case fail
  }

  /// Determines the mark before the sentence, and the exit status.
  package let severity: Severity
  /// One sentence without its full stop. No coordinates and no secrets, because output is passed on.
  package let sentence: String
  /// What to do about it; nil if nothing is needed.
  package let advice: String?

  /// The sentence, and the advice on a line of its own.
  package var message: String { [sentence, advice].compactMap { $0 }.joined(separator: "\n") }

  /// No problem.
  package static func pass(_ sentence: String) -> Finding { Finding(.pass, sentence, nil) }

  /// It may work; `advice` says what to look at.
  package static func warn(_ sentence: String, _ advice: String) -> Finding { Finding(.warn, sentence, advice) }

  /// The service cannot work like this; `advice` says what to do.
  package static func fail(_ sentence: String, _ advice: String) -> Finding { Finding(.fail, sentence, advice) }

  /// It may work; the problem's advice says what to look at.
  package static func warn(_ problem: some ReportedProblem) -> Finding { Finding(.warn, problem) }

  /// The service cannot work like this; the problem's advice says what to do.
  package static func fail(_ problem: some ReportedProblem) -> Finding { Finding(.fail, problem) }

  private init(_ severity: Severity, _ problem: some ReportedProblem) {
    self.init(severity, problem.sentence.text, problem.advice?.sentenceCase)
  }

  private init(_ severity: Severity, _ sentence: String, _ advice: String?) {
    self.severity = severity
    self.sentence = sentence
    self.advice = advice
  }
}
