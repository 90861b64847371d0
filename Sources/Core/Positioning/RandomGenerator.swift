// SPDX-License-Identifier: Apache-2.0

/// A small random generator that gives the same numbers for the same seed, everywhere and forever (SplitMix64: Steele, Lea and
/// Flood, OOPSLA 2014). For simulations and jitter, never for secrets.
package struct RandomGenerator: RandomNumberGenerator, Equatable, Sendable {
  private var state: UInt64

  package init(seed: UInt64) {
    state = seed
  }

  package mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }

  /// A number from 0 up to but not 1, all 53 bits of it.
  package mutating func unit() -> Double {
    Double(next() >> 11) * 0x1p-53
  }

  /// A number around 0 that is normally distributed with a deviation of 1, as near as twelve dice come to it: never past 6.
  package mutating func normal() -> Double {
    var sum = -6.0
    for _ in 0..<12 { sum += unit() }
    return sum
  }
}
