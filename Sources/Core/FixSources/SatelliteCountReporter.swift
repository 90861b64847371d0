// SPDX-License-Identifier: Apache-2.0
import Timekeeping

/// Decides when to report the number of satellites in view: when it has changed, and only while there is no fix,
/// because a fix has its own count.
struct SatelliteCountReporter: Equatable, Sendable {
  /// A receiver that has reported no fix for this long is without a fix.
  private static let fixLifetime = Duration.seconds(10)

  private var reported: Int?
  private var fixAt: BootInstant?

  mutating func noteFix(at now: BootInstant) {
    fixAt = now
    reported = nil
  }

  /// - Returns: the report; nil if there is nothing new.
  mutating func report(inView count: Int?, at now: BootInstant) -> SourceReport? {
    guard let count, count != reported, fixAt.map({ now - $0 >= SatelliteCountReporter.fixLifetime }) ?? true else {
      return nil
    }
    reported = count
    return .sky(inView: count)
  }
}
