// SPDX-License-Identifier: Apache-2.0
import Positioning
import Timekeeping

/// Whether there is a fix: the newest accepted one, and for how long no other has come. Held fixes and those of a pause
/// count as well, which is why this is not the newest position to report (`ReportingPolicy.newest`).
struct FixMonitor: Equatable, Sendable {
  /// A first fix that has not come this long after a source is read is reported.
  static let firstFixTimeout = Duration.seconds(60)
  /// Without an accepted fix for this long, the fix counts as lost.
  static let timeout = Duration.seconds(30)
  /// How long a machine that woke waits for its receiver, so that the first update does not carry the place where it fell
  /// asleep, with the floor between updates keeping the next one back.
  static let wakeGrace = Duration.milliseconds(1500)

  private enum State: Equatable {
    case none
    case present(Fix, at: BootInstant)
    case lost(Fix, at: BootInstant)
  }

  private var state = State.none
  /// Since when a source is read; nil while none is.
  private var readSince: BootInstant?
  /// That the first fix does not come has been reported.
  private var isOverdue = false
  /// Why the last fix was rejected; nil when it was accepted, or none has come.
  private(set) var rejection: FixRejection?
  /// When the machine woke, until a fix has come since.
  private var wokeAt: BootInstant?

  /// The newest accepted fix, and when it came; nil before the first.
  var newest: (fix: Fix, at: BootInstant)? {
    switch state {
    case .none: nil
    case .present(let fix, let at), .lost(let fix, let at): (fix, at)
    }
  }

  /// No fix has been accepted for `timeout`.
  var isLost: Bool { if case .lost = state { true } else { false } }

  /// When it is reported that no fix comes, the first one or another; nil when it has been.
  var missingAt: BootInstant? {
    switch state {
    case .none: isOverdue ? nil : readSince.map { $0 + FixMonitor.firstFixTimeout }
    case .present(_, let at): at + FixMonitor.timeout
    case .lost: nil
    }
  }

  /// Since when no fix has been accepted, or, before the first, since when a source is read; nil when there is a fix.
  var missingSince: BootInstant? {
    switch state {
    case .none: readSince
    case .present: nil
    case .lost(_, let at): at
    }
  }

  /// Until when a machine that woke waits for its receiver; long past when it need not.
  var awakeAt: BootInstant { wokeAt.map { $0 + FixMonitor.wakeGrace } ?? .boot }

  /// - Returns: an edge, if it is one.
  mutating func accepted(_ fix: Fix, at now: BootInstant) -> Event? {
    defer { state = .present(fix, at: now) }
    rejection = nil
    wokeAt = nil
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
  mutating func reads(_ isRead: Bool, at now: BootInstant) {
    readSince = isRead ? readSince ?? now : nil
  }

  /// `missingAt` has come.
  ///
  /// - Parameter inView: satellites in view; nil when the receiver does not say.
  /// - Returns: nil when nothing is missing that has not been reported.
  mutating func miss(inView: Int?, at now: BootInstant) -> Event? {
    switch state {
    case .none:
      guard let readSince, !isOverdue else { return nil }
      isOverdue = true
      return .noFix(after: now - readSince, inView: inView, rejection)
    case .present(let fix, let at):
      state = .lost(fix, at: at)
      return .fixLost(rejection)
    case .lost: return nil
    }
  }

  /// The machine was suspended, and has woken.
  mutating func woke(at now: BootInstant) {
    wokeAt = now
  }
}
