// SPDX-License-Identifier: Apache-2.0

extension Duration {
  /// For display, in the largest sensible unit, rounded down: `7 s`, `4 min`, `3 h`, `2 days`. Negative durations are
  /// `0 s`.
  package var humanReadable: String {
    let seconds = max(wholeSeconds, 0)
    return switch seconds {
    case ..<120: "\(seconds) s"
    case ..<7200: "\(seconds / 60) min"
    case ..<172_800: "\(seconds / 3600) h"
    default: "\(seconds / 86_400) days"
    }
  }
}
