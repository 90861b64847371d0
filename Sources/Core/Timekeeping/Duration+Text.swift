// SPDX-License-Identifier: Apache-2.0

extension Duration {
  /// For a sentence, in the unit that a person would use, rounded down: `7 s`, `4 min`, `3 h`, `2 days`. Less than nothing
  /// is `0 s`.
  package var spoken: String {
    let seconds = max(wholeSeconds, 0)
    return switch seconds {
    case ..<120: "\(seconds) s"
    case ..<7200: "\(seconds / 60) min"
    case ..<172_800: "\(seconds / 3600) h"
    default: "\(seconds / 86_400) days"
    }
  }
}
