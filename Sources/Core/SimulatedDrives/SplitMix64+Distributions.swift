// SPDX-License-Identifier: Apache-2.0
package import Timekeeping

extension SplitMix64 {
  /// A number from 0 up to but not including 1, with 53 random bits.
  package mutating func uniform() -> Double {
    Double(next() >> 11) * 0x1p-53
  }

  /// Normally distributed with a standard deviation of 1, approximated by the sum of twelve uniform numbers: its
  /// magnitude is never above 6.
  package mutating func normal() -> Double {
    var sum = -6.0
    for _ in 0..<12 { sum += uniform() }
    return sum
  }
}
