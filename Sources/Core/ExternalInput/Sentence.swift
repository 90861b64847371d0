// SPDX-License-Identifier: Apache-2.0

/// A sentence that tracks which of its parts another party wrote. It is written as a string literal; an interpolated
/// ``ExternalText`` or sentence keeps its origin.
package struct Sentence: Equatable, Sendable {
  /// The complete sentence: for the journal, and for users of the control socket.
  package private(set) var text: String
  /// The sentence with `…` instead of each external part: for STATUS=, which every local user can read.
  package private(set) var ownText: String

  /// - Parameter own: what this program wrote.
  package init(own: String) {
    text = own
    ownText = own
  }

  /// Concatenates both.
  package static func + (left: Sentence, right: Sentence) -> Sentence {
    var sentence = left
    sentence.append(right)
    return sentence
  }

  /// Appends a sentence.
  package static func += (left: inout Sentence, right: Sentence) {
    left.append(right)
  }

  private mutating func append(_ other: Sentence) {
    text += other.text
    ownText += other.ownText
  }
}

extension Sentence: ExpressibleByStringInterpolation {
  package init(stringLiteral value: String) {
    self.init(own: value)
  }

  package init(stringInterpolation: StringInterpolation) {
    self = stringInterpolation.sentence
  }

  /// Collects the parts of a literal.
  package struct StringInterpolation: StringInterpolationProtocol {
    fileprivate var sentence = Sentence(own: "")

    package init(literalCapacity: Int, interpolationCount: Int) {}

    /// Text of this program.
    package mutating func appendLiteral(_ literal: String) {
      sentence += Sentence(own: literal)
    }

    /// External text.
    package mutating func appendInterpolation(_ external: ExternalText) {
      sentence.text += external.description
      sentence.ownText += "…"
    }

    /// External text that every local user may read: the token provider's host name, or Google's reason for a
    /// rejection, whose author knows no secret of this box except the token, which is masked.
    package mutating func appendInterpolation(worldReadable external: ExternalText) {
      sentence += Sentence(own: external.description)
    }

    /// A sentence with parts of any origin.
    package mutating func appendInterpolation(_ other: Sentence) {
      sentence += other
    }

    /// A value of this program.
    package mutating func appendInterpolation(_ own: some CustomStringConvertible) {
      sentence += Sentence(own: own.description)
    }
  }
}
