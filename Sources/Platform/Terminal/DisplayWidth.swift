// SPDX-License-Identifier: Apache-2.0
import CLinux

/// The display width of text, according to glibc's table.
package enum DisplayWidth {
  /// - Returns: columns: 0 for a combining mark, 1, or 2 for wide characters such as most Chinese characters; nil for
  ///   control characters and invalid scalars.
  package static func of(_ scalar: Unicode.Scalar) -> Int? {
    // The fast path.
    if scalar.value >= 0x20, scalar.value < 0x7f { return 1 }
    let width = fleet_display_width(scalar.value)
    return width < 0 ? nil : Int(width)
  }

  /// The columns of a text; invalid characters count as 0.
  package static func of(_ text: some StringProtocol) -> Int {
    text.unicodeScalars.reduce(0) { $0 + (of($1) ?? 0) }
  }
}
