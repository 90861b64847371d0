// SPDX-License-Identifier: Apache-2.0

/// The largest JSON document that is decoded. FoundationEssentials' decoder takes time for each value that grows with the
/// number of levels it is in, and runs on the thread of the event loop: a document is measured before it is decoded.
package struct JSONBounds: Equatable, Sendable {
  /// Arrays and objects within each other, the outermost included.
  package static let maximumDepth = 32

  /// For messages: answers, reports, tokens and requests have some tens of values, a report on 150 satellites 1,300 in three
  /// levels. A document at this bound takes 30 ms to decode on a small server.
  package static let message = JSONBounds(maximumCost: 8192)

  /// The number of values of all kinds, each counted as often as there are arrays and objects around it.
  package let maximumCost: Int

  /// - Parameter maximumCost: 1 or more.
  package init(maximumCost: Int) {
    self.maximumCost = maximumCost
  }

  /// Whether a document may be decoded. It reads each byte once and neither checks the syntax nor decodes anything.
  ///
  /// - Parameter document: UTF-8, as RFC 8259 demands. A NUL byte, which every document in UTF-16 or UTF-32 contains and no
  ///   document in UTF-8 may, is refused: in those encodings this count would be wrong.
  package func admits(_ document: some Sequence<UInt8>) -> Bool {
    var depth = 0
    var cost = 1
    var isInString = false
    var isEscaped = false
    for byte in document {
      if isInString, byte != 0 {
        if isEscaped {
          isEscaped = false
        } else if byte == UInt8(ascii: "\\") {
          isEscaped = true
        } else if byte == UInt8(ascii: "\"") {
          isInString = false
        }
        continue
      }
      switch byte {
      case UInt8(ascii: "\""): isInString = true
      case UInt8(ascii: "["), UInt8(ascii: "{"):
        depth += 1
        cost += depth
      case UInt8(ascii: "]"), UInt8(ascii: "}"): depth -= 1
      case UInt8(ascii: ","): cost += max(depth, 1)
      case 0: return false
      default: continue
      }
      guard depth <= JSONBounds.maximumDepth, cost <= maximumCost else { return false }
    }
    return true
  }
}
