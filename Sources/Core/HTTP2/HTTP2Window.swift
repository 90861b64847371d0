// SPDX-License-Identifier: Apache-2.0

/// Flow control (RFC 9113, section 6.9).
enum HTTP2Window {
  /// The size that a window begins with unless a setting says otherwise; ours stay at it.
  static let initial = 65_535
  /// The largest size of a window.
  static let largest = 0x7FFF_FFFF
  /// Ours are widened again when so much has been used: well before an answer has to wait.
  static let threshold = 32_768
}
