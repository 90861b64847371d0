// SPDX-License-Identifier: Apache-2.0
package import Timekeeping

extension SplitMix64 {
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
