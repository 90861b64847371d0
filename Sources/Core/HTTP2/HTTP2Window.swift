// SPDX-License-Identifier: Apache-2.0

/// Flow control (RFC 9113, section 6.9).
enum HTTP2Window {
  /// The default size of a window, including the client's.
  static let initial = 65_535
  /// The maximum size of a window.
  static let maximumSize = 0x7FFF_FFFF
  /// The client's windows are updated once this much of them is used: well before the server has to wait.
  static let threshold = 32_768
}
