// SPDX-License-Identifier: Apache-2.0
import Positioning
import Timekeeping

/// Recognizes fixes that were made while the port was left unread and arrive after it was emptied: a USB receiver keeps
/// what it could not send. By the receiver's time, they arrive with a longer delay than the last fix before them.
struct StaleFixFilter: Sendable {
  /// A fix that is at most this many milliseconds late is the newest one.
  private static let tolerance: Int64 = 1000
  /// The receiver's clock and that of the machine may drift apart by one part in this many.
  private static let driftDivisor: Int64 = 10_000
  /// How long after reading has resumed a fix may be stale. After that, a time that differs was corrected by the
  /// receiver.
  private static let staleWindow = Duration.seconds(3)
  private static let millisecondsPerDay: Int64 = 86_400_000

  /// The receiver's time of the last fix, in milliseconds of the day, and when it arrived.
  private var last: (time: Int64, at: BootInstant)?
  private var resumedAt: BootInstant?

  /// The port is read again.
  mutating func readingResumed(at now: BootInstant) { resumedAt = now }

  /// - Returns: false for a fix that is older than the newest one that the receiver has.
  mutating func admit(_ fix: Fix, at now: BootInstant) -> Bool {
    guard let time = fix.millisecondsOfDay else { return true }
    if let resumedAt, let last, now - resumedAt < Self.staleWindow {
      let elapsed = (now - last.at).nanoseconds / 1_000_000
      let day = Self.millisecondsPerDay
      let delay = ((elapsed - (time - last.time)) % day + day + day / 2) % day - day / 2
      if delay > Self.tolerance + elapsed / Self.driftDivisor { return false }
    }
    resumedAt = nil
    last = (time, now)
    return true
  }
}
