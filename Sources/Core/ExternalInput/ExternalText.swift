// SPDX-License-Identifier: Apache-2.0

/// Text from another party, such as a server, a helper program, gpsd or a file, made safe for the journal: one short
/// line without control characters, and without anything that could be a secret.
///
/// A party that receives a secret may quote it in an error message. External text is only added to messages as this
/// type, and ``Sentence`` tracks where.
package struct ExternalText: Equatable, Sendable, CustomStringConvertible {
  /// Maximum number of Unicode scalars of ``description``, without the ellipsis.
  package static let maximumLength = 200
  /// Maximum number of Unicode scalars that are examined; the rest is discarded.
  private static let maximumExamined = 2048

  /// The sanitized text.
  package let description: String

  /// - Parameters:
  ///   - text: of any length and content.
  ///   - limit: maximum number of Unicode scalars.
  ///   - names: the names of provider and vehicle in the settings, which are never masked.
  package init(_ text: some StringProtocol, limit: Int = maximumLength, showing names: [String] = []) {
    var examined: [Unicode.Scalar] = []
    var marks = 0
    var isCut = false
    for scalar in text.unicodeScalars {
      guard examined.count < ExternalText.maximumExamined else {
        isCut = true
        break
      }
      guard let shown = ExternalText.visible(scalar) else { continue }
      // At most two combining marks per letter; hundreds of them would cover the lines around them.
      marks = scalar.properties.generalCategory == .nonspacingMark ? marks + 1 : 0
      if marks <= 2 { examined.append(shown) }
    }
    // The last word may be a secret that was cut off, which would not be recognized.
    if isCut, let space = examined.lastIndex(of: " ") { examined.removeLast(examined.count - space) }
    // Truncated after masking, for the same reason.
    let masked = SecretMask.masked(examined, except: names)
    let line = String(String.UnicodeScalarView(masked.prefix(limit)))
    description = isCut || masked.count > limit ? line + "…" : line
  }

  /// - Parameters:
  ///   - bytes: of any length; invalid UTF-8 becomes U+FFFD.
  ///   - names: as above.
  package init(_ bytes: some Sequence<UInt8>, limit: Int = maximumLength, showing names: [String] = []) {
    // A scalar has at most four bytes.
    let text = String(decoding: Array(bytes.prefix(ExternalText.maximumExamined * 4 + 4)), as: UTF8.self)
    self.init(text, limit: limit, showing: names)
  }

  /// The arguments of a command, each as external text. The one after an option such as `--password` is masked whole.
  ///
  /// - Parameters:
  ///   - limit: maximum number of Unicode scalars of each.
  ///   - names: as above.
  package static func descriptions(
    ofArguments arguments: [String], limit: Int = maximumLength, showing names: [String] = []
  ) -> [String] {
    zip([""] + arguments, arguments).map { previous, argument in
      SecretMask.isSecretOption(Array(previous.unicodeScalars))
        ? String(String.UnicodeScalarView(SecretMask.replacement))
        : ExternalText(argument, limit: limit, showing: names).description
    }
  }

  /// Whether it is empty or blank.
  package var isBlank: Bool { description.utf8.allSatisfy { $0 == UInt8(ascii: " ") } }

  /// - Returns: nil for characters without a width, such as direction marks: they are removed, so that they cannot
  ///   split a secret.
  private static func visible(_ scalar: Unicode.Scalar) -> Unicode.Scalar? {
    if (0x20...0x7E).contains(scalar.value) { return scalar }
    switch scalar.properties.generalCategory {
    case .control, .lineSeparator, .paragraphSeparator, .spaceSeparator: return " "
    case .format: return nil
    case .privateUse, .unassigned, .surrogate: return "?"
    default: break
    }
    switch scalar.value {
    // Variants of Latin letters and digits: enclosed, full-width, mathematical, small and raised ones.
    case 0x1D00...0x1DBF, 0x2070...0x209F, 0x2460...0x24FF, 0xFF00...0xFFEF, 0x1D400...0x1D7FF, 0x1F100...0x1F1FF:
      return "?"
    // Variation selectors.
    case 0xFE00...0xFE0F, 0xE0100...0xE01EF: return nil
    default: return scalar
    }
  }
}
