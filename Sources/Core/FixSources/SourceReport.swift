// SPDX-License-Identifier: Apache-2.0
package import Positioning

/// The reports of a source of fixes.
package enum SourceReport: Equatable, Sendable {
  case fix(Fix)
  /// The source is being read; the text is its name.
  case reading(String)
  /// The source sends data that cannot be decoded yet; the text says what has been tried.
  case detecting(String)
  /// The source cannot be read for now; the text has the cause and the remedy. It keeps trying.
  case lost(String)
  /// The number of satellites in view of a receiver without a fix.
  case sky(inView: Int)
  /// The source has ended for good.
  case ended
}
