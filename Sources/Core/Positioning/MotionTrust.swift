// SPDX-License-Identifier: Apache-2.0

/// Whether the speeds and headings that a receiver reports may speak against its places.
///
/// Some always report a speed of 0, or a compass's heading. When places that agree with each other have refuted them, they
/// are ignored until they have been right for a while; twice as long each time.
struct MotionTrust: Sendable {
  private static let longestProbation = 4096

  /// Fixes in a row that must be explained by what was reported.
  private var probation = 32
  private var missing = 0

  var isGiven: Bool { missing == 0 }

  /// Two fixes in a row are accepted. `isExplained` says whether what the receiver reported explains the way between them.
  mutating func note(isExplained: Bool) {
    if isExplained {
      missing = max(missing - 1, 0)
    } else {
      if isGiven { probation = min(probation * 2, MotionTrust.longestProbation) }
      missing = probation
    }
  }
}
