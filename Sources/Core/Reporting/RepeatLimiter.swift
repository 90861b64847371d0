// SPDX-License-Identifier: Apache-2.0
import Timekeeping

/// Lets the first of a row of like events through, then one in a while, and counts the rest.
struct RepeatLimiter: Sendable {
  static let period = Duration.seconds(600)

  private var subject: String?
  private var lastAt = BootInstant.boot
  private var suppressed = 0

  /// - Parameter subject: what makes events alike.
  /// - Returns: nil when this one is kept back; else how many like it were since the last that was let through.
  mutating func admit(_ subject: String, at now: BootInstant) -> (isFirst: Bool, suppressed: Int)? {
    if subject == self.subject, now - lastAt < RepeatLimiter.period {
      suppressed += 1
      return nil
    }
    let isFirst = subject != self.subject
    let count = isFirst ? 0 : suppressed
    self.subject = subject
    lastAt = now
    suppressed = 0
    return (isFirst, count)
  }

  /// The row is over.
  mutating func end() {
    subject = nil
  }
}
