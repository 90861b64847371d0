// SPDX-License-Identifier: Apache-2.0

/// Text that another party wrote, such as a server, a helper program, gpsd or a file, fit for the journal: one short line
/// without anything that a terminal obeys or that could be a secret.
///
/// A party that is asked for a secret may quote it when it complains. Text from outside gets into a message only as this
/// type, and ``Sentence`` remembers where it is.
package struct ExternalText: Equatable, Sendable, CustomStringConvertible {
  /// Unicode scalars of ``description``, without the mark that something is missing.
  package static let maximumLength = 200
  /// Unicode scalars that are looked at; what is behind them is cut off unread.
  private static let maximumExamined = 2048

  /// The text as it may be shown.
  package let description: String

  /// - Parameters:
  ///   - text: of any length and content.
  ///   - limit: unicode scalars that are shown.
  package init(_ text: some StringProtocol, limit: Int = maximumLength) {
    var examined: [Unicode.Scalar] = []
    var marks = 0
    var isCut = false
    for scalar in text.unicodeScalars {
      guard examined.count < ExternalText.maximumExamined else {
        isCut = true
        break
      }
      guard let shown = ExternalText.visible(scalar) else { continue }
      // Each letter of a script may have two marks; hundreds of them on one letter hide the lines around it.
      marks = scalar.properties.generalCategory == .nonspacingMark ? marks + 1 : 0
      if marks <= 2 { examined.append(shown) }
    }
    // Half of a secret does not look like one.
    if isCut, let space = examined.lastIndex(of: " ") { examined.removeLast(examined.count - space) }
    // Shortened only after the secrets are out, for the same reason.
    let masked = SecretMask.masked(examined)
    let line = String(String.UnicodeScalarView(masked.prefix(limit)))
    description = isCut || masked.count > limit ? line + "…" : line
  }

  /// - Parameter bytes: of any length; what is not UTF-8 is shown as U+FFFD.
  package init(_ bytes: some Sequence<UInt8>, limit: Int = maximumLength) {
    // A scalar has four bytes at most.
    self.init(String(decoding: Array(bytes.prefix(ExternalText.maximumExamined * 4 + 4)), as: UTF8.self), limit: limit)
  }

  /// Whether nothing of it is visible.
  package var isBlank: Bool { description.utf8.allSatisfy { $0 == UInt8(ascii: " ") } }

  /// - Returns: nil for what has no place on the line and no width, such as marks of direction: it is left out, so that it
  ///   cannot cut a secret in two.
  private static func visible(_ scalar: Unicode.Scalar) -> Unicode.Scalar? {
    if (0x20...0x7E).contains(scalar.value) { return scalar }
    switch scalar.properties.generalCategory {
    case .control, .lineSeparator, .paragraphSeparator, .spaceSeparator: return " "
    case .format: return nil
    case .privateUse, .unassigned, .surrogate: return "?"
    default: break
    }
    switch scalar.value {
    // Latin letters and digits in other clothes: enclosed, full width, mathematical, small and raised ones.
    case 0x1D00...0x1DBF, 0x2070...0x209F, 0x2460...0x24FF, 0xFF00...0xFFEF, 0x1D400...0x1D7FF, 0x1F100...0x1F1FF:
      return "?"
    // Variation selectors.
    case 0xFE00...0xFE0F, 0xE0100...0xE01EF: return nil
    default: return scalar
    }
  }
}
