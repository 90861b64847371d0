// SPDX-License-Identifier: Apache-2.0

/// Whether the speeds and headings that a receiver reports may contradict its positions.
///
/// Some receivers always report a speed of 0, or a compass heading. Once consistent positions have refuted such
/// reports, they are ignored until they have been right for a while, which doubles each time, and is halved after half
/// an hour of driving without a contradiction: multipath in a town refutes right speeds, too.
struct MotionTrust: Sendable {
  private static let minimumProbation = 32
  private static let maximumProbation = 4096
  /// The number of explained fixes of a moving vehicle that halve the probation.
  private static let recoveryCount = 1800

  /// Consecutive fixes that must be explained by the reported motion.
  private var probation = minimumProbation
  private var remaining = 0
  /// Explained fixes of the moving vehicle since the last contradiction, or since the probation was halved.
  private var explainedCount = 0

  var isTrusted: Bool { remaining == 0 }

  /// Two consecutive fixes were accepted.
  ///
  /// - Parameters:
  ///   - isExplained: whether the reported motion explains the movement between them.
  ///   - isMoving: whether the vehicle is moving: a receiver that always reports a speed of 0 is right while it stands.
  mutating func note(isExplained: Bool, isMoving: Bool) {
    if isExplained {
      if isTrusted, isMoving { explainedCount += 1 }
      if explainedCount >= MotionTrust.recoveryCount {
        explainedCount = 0
        probation = max(probation / 2, MotionTrust.minimumProbation)
      }
      remaining = max(remaining - 1, 0)
    } else {
      explainedCount = 0
      if isTrusted { probation = min(probation * 2, MotionTrust.maximumProbation) }
      remaining = probation
    }
  }
}
