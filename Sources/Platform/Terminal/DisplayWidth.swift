// SPDX-License-Identifier: Apache-2.0
import CLinux

/// How wide texts are on a terminal, by glibc's table.
package enum DisplayWidth {
  /// - Returns: columns: 0 for a mark that goes onto the character before, 1, or 2 as for most Chinese ones; nil for a
  ///   control character or what is no character.
  package static func of(_ scalar: Unicode.Scalar) -> Int? {
    // Nearly all.
    if scalar.value >= 0x20, scalar.value < 0x7f { return 1 }
    let width = fleet_display_width(scalar.value)
    return width < 0 ? nil : Int(width)
  }

  /// The columns of a whole text; what is no character counts as none.
  package static func of(_ text: some StringProtocol) -> Int {
    text.unicodeScalars.reduce(0) { $0 + (of($1) ?? 0) }
  }
}
