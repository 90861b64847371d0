// SPDX-License-Identifier: Apache-2.0
import Timekeeping

/// The length of the random waits of a run.
enum Jitter: CaseIterable {
  /// The waits of an arbitrary seed.
  case seeded
  /// The first three waits of updates and the first three of token requests are in the shortest, or in the longest,
  /// eighth of their range.
  case least, most

  private static let leastSeed = seed { $0 < 1 << 61 }
  private static let mostSeed = seed { $0 >= 7 << 61 }

  /// The seed with which a run draws such waits.
  var seed: UInt64 {
    switch self {
    case .seeded: 1
    case .least: Jitter.leastSeed
    case .most: Jitter.mostSeed
    }
  }

  /// The waits of token requests are drawn with the seed, those of updates with the next seed.
  private static func seed(_ isWanted: (UInt64) -> Bool) -> UInt64 {
    var seed: UInt64 = 1
    while true {
      var (tokens, updates) = (SplitMix64(seed: seed), SplitMix64(seed: seed + 1))
      if (0..<3).allSatisfy({ _ in isWanted(tokens.next()) && isWanted(updates.next()) }) { return seed }
      seed += 1
    }
  }
}
