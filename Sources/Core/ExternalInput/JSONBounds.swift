// SPDX-License-Identifier: Apache-2.0

/// Limits for JSON documents. FoundationEssentials' decoder needs time per value that grows with its nesting level, and
/// runs on the event loop's thread: a document is checked before it is decoded.
package struct JSONBounds: Equatable, Sendable {
  /// Maximum nesting of arrays and objects, including the outermost.
  package static let maximumDepth = 32

  /// For messages: responses, reports, tokens and requests have some tens of values, a report on 150 satellites 1,300 in
  /// three levels. A document at this limit needs 30 ms to decode on a small server.
  package static let message = JSONBounds(maximumCost: 8192)

  /// The maximum sum over all values of their nesting level.
  package let maximumCost: Int

  /// - Parameter maximumCost: 1 or more.
  package init(maximumCost: Int) {
    self.maximumCost = maximumCost
  }

  /// Whether a document may be decoded. Reads each byte once, without checking the syntax.
  ///
  /// - Parameter document: UTF-8, as RFC 8259 requires. Documents with a NUL byte are rejected: those in UTF-16 or UTF-32
  ///   contain one, and would be counted wrongly.
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
