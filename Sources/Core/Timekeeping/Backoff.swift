// SPDX-License-Identifier: Apache-2.0

/// Waits between attempts that double up to a cap, each drawn evenly from zero to its bound (full jitter), so that a
/// fleet which lost the same server does not come back as one.
package struct Backoff: Equatable, Sendable {
  private var attempts = 0

  package init() {}

  /// The wait before the next attempt.
  ///
  /// - Parameters:
  ///   - base: bound of the first wait.
  ///   - cap: bound of every wait.
  ///   - floor: the least wait, which may exceed the cap.
  package mutating func next(
    base: Duration, cap: Duration, floor: Duration = .zero, using random: inout SplitMix64
  ) -> Duration {
    // 2^20 times any base of ours is past any cap.
    let bound = min(base * (1 << min(attempts, 20)), cap)
    attempts += 1
    let drawn = Duration.nanoseconds(Int64.random(in: 0...max(bound.nanoseconds, 0), using: &random))
    return max(drawn, floor)
  }

  /// The next wait is the first again.
  package mutating func reset() {
    attempts = 0
  }
}
