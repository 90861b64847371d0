// SPDX-License-Identifier: Apache-2.0
package import Positioning

/// The reports of a source of fixes.
package enum SourceReport: Equatable, Sendable {
  case fix(Fix)
  /// It is being read; the text is its name.
  case reading(String)
  /// It sends data that cannot be read yet; the text says which.
  case detecting(String)
  /// It cannot be read for now; the text has the cause and the remedy. The source keeps trying.
  case lost(String)
  /// The number of satellites in view of a receiver without a fix.
  case sky(inView: Int)
  /// It has ended for good.
  case ended
}
