// SPDX-License-Identifier: Apache-2.0

/// Whether the speeds and headings that a receiver reports may contradict its positions.
///
/// Some receivers always report a speed of 0, or a compass heading. Once consistent positions have refuted such
/// reports, they are ignored until they have been right for a while, which doubles each time.
struct MotionTrust: Sendable {
  private static let maximumProbation = 4096

  /// Consecutive fixes that must be explained by the reported motion.
  private var probation = 32
  private var remaining = 0

  var isTrusted: Bool { remaining == 0 }

  /// Two consecutive fixes were accepted. `isExplained`: whether the reported motion explains the movement between
  /// them.
  mutating func note(isExplained: Bool) {
    if isExplained {
      remaining = max(remaining - 1, 0)
    } else {
      if isTrusted { probation = min(probation * 2, MotionTrust.maximumProbation) }
      remaining = probation
    }
  }
}
