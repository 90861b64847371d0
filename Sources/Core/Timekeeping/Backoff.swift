// SPDX-License-Identifier: Apache-2.0

/// Exponential backoff up to a cap with full jitter (each wait is drawn evenly from zero to its bound), so that a fleet
/// that lost the same server does not return all at once.
package struct Backoff: Equatable, Sendable {
  /// Bounds of the waits.
  package struct Bounds: Equatable, Sendable {
    /// Bound of the first wait.
    package var base: Duration
    /// Bound of every wait.
    package var cap: Duration
    /// Whether waits are at least half of the bound, instead of at least zero: for retries that cannot succeed
    /// immediately and load no shared server.
    package var usesEqualJitter = false

    package init(base: Duration, cap: Duration) {
      self.base = base
      self.cap = cap
    }

    /// In whole seconds.
    package static func seconds(_ base: Int, cap: Int) -> Bounds {
      Bounds(base: .seconds(base), cap: .seconds(cap))
    }

    /// Bounds of waits that are at least half of the bound.
    package static func equalJitter(_ base: Duration, cap: Duration) -> Bounds {
      var bounds = Bounds(base: base, cap: cap)
      bounds.usesEqualJitter = true
      return bounds
    }
  }

  private var attempts = 0

  package init() {}

  /// The wait before the next attempt.
  ///
  /// - Parameters:
  ///   - bounds: of the first wait and of every wait.
  ///   - floor: the minimum wait, which may exceed the cap.
  package mutating func next(
    _ bounds: Bounds, floor: Duration = .zero, using random: inout some RandomNumberGenerator
  ) -> Duration {
    // 2^20 times any base in use exceeds any cap.
    let bound = min(bounds.base * (1 << min(attempts, 20)), bounds.cap)
    attempts += 1
    let longest = max(bound.nanoseconds, 0)
    let shortest = bounds.usesEqualJitter ? longest / 2 : 0
    return max(.nanoseconds(Int64.random(in: shortest...longest, using: &random)), floor)
  }

  /// The next wait starts from the base again.
  package mutating func reset() {
    attempts = 0
  }
}
