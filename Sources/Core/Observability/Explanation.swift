// SPDX-License-Identifier: Apache-2.0

/// What became of the last fix, and why: the answer to "why was it not sent?".
package struct Explanation: Equatable, Sendable, Codable {
  /// One word for a script: the reason of a rejection, the category of a failure, or one of `noFix`, `held`, `delivered`,
  /// `inFlight`, `notDue`, `spacing`, `noToken`, `noNetwork`, `paused`, `stopping`.
  package var reason: String
  /// For a person: what happened, and when it goes on.
  package var sentence: String

  /// - Parameters:
  ///   - reason: one of those that ``reason`` lists.
  ///   - sentence: without coordinates.
  package init(_ reason: String, _ sentence: String) {
    self.reason = reason
    self.sentence = sentence
  }
}
