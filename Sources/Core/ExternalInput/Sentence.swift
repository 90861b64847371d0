// SPDX-License-Identifier: Apache-2.0

/// A sentence for a person that remembers which of its parts another party wrote. It is written as a string literal; an
/// ``ExternalText`` or another sentence within it keeps its origin.
package struct Sentence: Equatable, Sendable {
  /// The whole sentence: for the journal and for those who may use the control socket.
  package private(set) var text: String
  /// The sentence with `…` in place of each part that another party wrote: for STATUS=, which every local user can read.
  package private(set) var ownText: String

  /// - Parameter own: what this program wrote.
  package init(own: String) {
    text = own
    ownText = own
  }

  /// Both, one after the other.
  package static func + (left: Sentence, right: Sentence) -> Sentence {
    var sentence = left
    sentence.append(right)
    return sentence
  }

  /// The same with a sentence behind it.
  package static func += (left: inout Sentence, right: Sentence) {
    left.append(right)
  }

  private mutating func append(_ other: Sentence) {
    text += other.text
    ownText += other.ownText
  }

  /// Whether there is nothing to read.
  package var isEmpty: Bool { text.isEmpty }
}

extension Sentence: ExpressibleByStringInterpolation {
  package init(stringLiteral value: String) {
    self.init(own: value)
  }

  package init(stringInterpolation: StringInterpolation) {
    self = stringInterpolation.sentence
  }

  /// Puts the parts of a literal together.
  package struct StringInterpolation: StringInterpolationProtocol {
    fileprivate var sentence = Sentence(own: "")

    package init(literalCapacity: Int, interpolationCount: Int) {}

    /// What this program says.
    package mutating func appendLiteral(_ literal: String) {
      sentence += Sentence(own: literal)
    }

    /// What another party wrote.
    package mutating func appendInterpolation(_ external: ExternalText) {
      sentence.text += external.description
      sentence.ownText += "…"
    }

    /// A sentence with parts of any origin.
    package mutating func appendInterpolation(_ other: Sentence) {
      sentence += other
    }

    /// What this program wrote.
    package mutating func appendInterpolation(_ own: some CustomStringConvertible) {
      sentence += Sentence(own: own.description)
    }
  }
}
