// SPDX-License-Identifier: Apache-2.0
import Positioning
import Timekeeping

/// Whether there is a fix: the newest accepted one, and how long ago it arrived. Unlike in `ReportingPolicy.newest`,
/// held fixes and fixes during a pause count.
struct FixMonitor: Equatable, Sendable {
  /// A missing first fix is reported after a source has been read for this long.
  static let firstFixTimeout = Duration.seconds(60)
  /// Without an accepted fix for this long, the fix counts as lost.
  static let timeout = Duration.seconds(30)
  /// How long to wait for the receiver after resume: the first update would otherwise repeat the position from before
  /// suspend, and delay the next update by the floor.
  static let wakeGrace = Duration.milliseconds(1500)

  private enum State: Equatable {
    case none
    case present(Fix, at: BootInstant)
    case lost(Fix, at: BootInstant)
  }

  private var state = State.none
  /// When reading of a source began; nil if none is read.
  private var readSince: BootInstant?
  /// The missing first fix was reported.
  private var isMissingReported = false
  /// Why the last fix was rejected; nil if it was accepted, or there was none.
  private(set) var rejection: FixRejection?
  /// Whether fixes are needed, and when that began.
  private(set) var isNeeded = true
  private var neededSince = BootInstant.boot
  /// The time of resume; nil once a fix has been accepted after it.
  private var resumedAt: BootInstant?
  /// Where the vehicle was, as far as it may be shown.
  var track = RecentTrack()

  /// The newest accepted fix, and its arrival; nil before the first.
  var newest: (fix: Fix, at: BootInstant)? {
    switch state {
    case .none: nil
    case .present(let fix, let at), .lost(let fix, let at): (fix, at)
    }
  }

  /// No fix has been accepted for `timeout`.
  var isLost: Bool { if case .lost = state { true } else { false } }

  /// Whether no fix has been accepted since the machine resumed from a suspend.
  var isAwaitedAfterResume: Bool { resumedAt != nil }

  /// When to report a missing fix; nil if it was reported, or cannot be missing yet.
  var missingDeadline: BootInstant? {
    guard isNeeded else { return nil }
    let countedSince = max(neededSince, resumedAt ?? .boot)
    return switch state {
    case .none: isMissingReported ? nil : readSince.map { max($0, countedSince) + FixMonitor.firstFixTimeout }
    case .present(_, let at): max(at, countedSince) + FixMonitor.timeout
    case .lost: nil
    }
  }

  /// When the last fix was accepted, or, before the first, when reading of a source began; nil if there is a fix.
  var missingSince: BootInstant? {
    switch state {
    case .none: readSince
    case .present: nil
    case .lost(_, let at): at
    }
  }

  /// The end of the wait for the receiver after resume; in the past if there is none.
  var graceEnd: BootInstant { resumedAt.map { $0 + FixMonitor.wakeGrace } ?? .boot }

  /// - Returns: an event if the state changed.
  mutating func accepted(_ fix: Fix, at now: BootInstant) -> Event? {
    defer { state = .present(fix, at: now) }
    rejection = nil
    resumedAt = nil
    return switch state {
    case .none: .firstFix(fix)
    case .present: nil
    case .lost(_, let at): .fixRegained(after: now - at)
    }
  }

  mutating func rejected(_ reason: FixRejection) {
    rejection = reason
  }

  /// Whether a source is read.
  mutating func setReading(_ isRead: Bool, at now: BootInstant) {
    readSince = isRead ? readSince ?? now : nil
  }

  /// Sets whether fixes are needed; while they are not, a missing fix is not reported.
  mutating func setNeeded(_ isNeeded: Bool, at now: BootInstant) {
    if isNeeded, !self.isNeeded { neededSince = now }
    self.isNeeded = isNeeded
  }

  /// `missingDeadline` has passed.
  ///
  /// - Parameter inView: satellites in view; nil if the receiver does not report them.
  /// - Returns: nil if there is nothing to report.
  mutating func reportMissing(inView: Int?, at now: BootInstant) -> Event? {
    switch state {
    case .none:
      guard let readSince, !isMissingReported else { return nil }
      isMissingReported = true
      return .noFix(after: now - readSince, inView: inView, rejection)
    case .present(let fix, let at):
      state = .lost(fix, at: at)
      return .fixLost(rejection)
    case .lost: return nil
    }
  }

  /// The machine was suspended, and has woken.
  mutating func woke(at now: BootInstant) {
    resumedAt = now
  }
}
