// SPDX-License-Identifier: Apache-2.0

/// What a source of fixes reports of itself.
package enum SourceReport: Equatable, Sendable {
  case fix(Fix)
  /// It is being read; the text names it.
  case reading(String)
  /// It cannot be read for now; the text says why and what to do. The source keeps trying.
  case lost(String)
  /// The receiver has this many satellites in view, and no fix.
  case sky(inView: Int)
  /// There will be no more fixes, ever.
  case ended
}
