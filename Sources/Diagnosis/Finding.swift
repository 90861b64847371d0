// SPDX-License-Identifier: Apache-2.0

/// One thing that was looked at: how it stands, and what to do when it is not as it should be.
package struct Finding: Equatable, Sendable {
  /// How it stands.
  package enum Verdict: String, Sendable {
    case pass
    /// It may work, and somebody should look at it.
    case warn
    /// The service cannot work like this.
    case fail
  }

  /// Decides the mark before the sentence, and the exit status.
  package let verdict: Verdict
  /// One sentence without its full stop. No coordinates and no secrets: it is read over shoulders and sent by mail.
  package let sentence: String
  /// What a person can do about it; nil when there is nothing to do.
  package let advice: String?

  /// The sentence, and the advice on a line of its own.
  package var message: String { [sentence, advice].compactMap { $0 }.joined(separator: "\n") }

  /// It is as it should be.
  package static func pass(_ sentence: String) -> Finding { Finding(.pass, sentence, nil) }

  /// It may work; `advice` says what to look at.
  package static func warn(_ sentence: String, _ advice: String) -> Finding { Finding(.warn, sentence, advice) }

  /// The service cannot work like this; `advice` says what to do.
  package static func fail(_ sentence: String, _ advice: String) -> Finding { Finding(.fail, sentence, advice) }

  private init(_ verdict: Verdict, _ sentence: String, _ advice: String?) {
    self.verdict = verdict
    self.sentence = sentence
    self.advice = advice
  }

  /// As it is printed, without the last line end; the advice has a line of its own.
  package var text: String {
    "  \(verdict.rawValue)  \(sentence)" + (advice.map { "\n        \($0)" } ?? "")
  }
}
