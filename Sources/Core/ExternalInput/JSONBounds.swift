// SPDX-License-Identifier: Apache-2.0

/// The largest JSON document that is decoded. Decoding costs time that grows with nesting and with the number of values, not
/// only with the number of bytes, and runs on the thread of the event loop: a document is measured before it is decoded.
package struct JSONBounds: Equatable, Sendable {
  /// Arrays and objects within each other, the outermost included.
  package static let maximumDepth = 32

  /// For messages: answers, reports, tokens and requests have some tens of values, a report on 150 satellites 1,300.
  package static let message = JSONBounds(maximumValues: 2048)

  /// Values of all kinds, those within arrays and objects included.
  package let maximumValues: Int

  /// - Parameter maximumValues: 1 or more.
  package init(maximumValues: Int) {
    self.maximumValues = maximumValues
  }

  /// Whether a document may be decoded. It reads each byte once and neither checks the syntax nor decodes anything.
  ///
  /// - Parameter document: UTF-8, as RFC 8259 demands. A NUL byte, which every document in UTF-16 or UTF-32 contains and no
  ///   document in UTF-8 may, is refused: in those encodings this count would be wrong.
  package func admits(_ document: some Sequence<UInt8>) -> Bool {
    var depth = 0
    var values = 1
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
        values += 1
      case UInt8(ascii: "]"), UInt8(ascii: "}"): depth -= 1
      case UInt8(ascii: ","): values += 1
      case 0: return false
      default: continue
      }
      guard depth <= JSONBounds.maximumDepth, values <= maximumValues else { return false }
    }
    return true
  }
}
