// SPDX-License-Identifier: Apache-2.0

/// A problem that is reported to people: what happened, and what to do. Its type declares both.
package protocol ReportedProblem {
  /// What happened. Like the advice, it has no capital letter at the beginning and no full stop.
  var sentence: Sentence { get }
  /// What to do; nil if nothing has to be done.
  var advice: String? { get }
}

extension ReportedProblem {
  /// Both on one line.
  package var withAdvice: Sentence { advice.map { "\(sentence); \($0)" } ?? sentence }
}

extension String {
  /// With a capital letter at the beginning.
  package var sentenceCase: String { prefix(1).uppercased() + dropFirst() }
}
