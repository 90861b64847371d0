// SPDX-License-Identifier: Apache-2.0
import Timekeeping

/// Decides when the number of satellites in view is worth a report: when it has changed, and only without a fix, whose own
/// count says more.
struct SkyNotice: Equatable, Sendable {
  /// Without a fix for this long there is none.
  private static let fixLife = Duration.seconds(10)

  private var reported: Int?
  private var fixAt: BootInstant?

  mutating func hasFix(at now: BootInstant) {
    fixAt = now
    reported = nil
  }

  /// - Returns: the report that is due; nil when there is nothing new.
  mutating func satellites(inView count: Int?, at now: BootInstant) -> SourceReport? {
    guard let count, count != reported, fixAt.map({ now - $0 >= SkyNotice.fixLife }) ?? true else { return nil }
    reported = count
    return .sky(inView: count)
  }
}
