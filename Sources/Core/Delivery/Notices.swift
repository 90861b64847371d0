// SPDX-License-Identifier: Apache-2.0
import Authorization
import FleetEngine
import Positioning
import Timekeeping

/// Which of the things that repeat become events: the first of a row, then one in a while with the number suppressed.
/// Nothing else is decided by it.
struct Notices: Sendable {
  /// Two time daemons that disagree would fill the journal: a step is reported at most this often.
  static let clockStepPeriod = Duration.seconds(60)

  private var outages = OutageNotices()
  private var rejections = RepeatLimiter()
  private var tokenFailures = RepeatLimiter()
  private var removals = RepeatLimiter()
  private var backfillRefusals = RepeatLimiter()
  private var storeFailures = RepeatLimiter()
  private var networkLosses = RepeatLimiter()
  private var isNetworkLossReported = false
  private var offlineFailures = RepeatLimiter()
  private var receiverClocks = RepeatLimiter()
  private var receiverClockOffset = Duration.zero
  private var isReceiverClockReported = false
  /// The last step of the wall clock that was reported, and the number since.
  private var clockStep: (reportedAt: BootInstant, suppressed: Int)?

  // MARK: - Fixes

  mutating func fixAccepted() {
    rejections.end()
  }

  mutating func fixRejected(_ reason: FixRejection, at now: BootInstant) -> Event? {
    guard reason != .duplicate else { return nil }
    return rejections.admit(reason.rawValue, at: now).map { .fixRejected(reason, suppressed: $0) }
  }

  // MARK: - Updates

  /// - Parameters:
  ///   - past: positions of the backlog that came with this update.
  ///   - pending: those that are still to come.
  mutating func updateAccepted(past: Int, pending: Int, at now: BootInstant) -> [Event] {
    outages.accepted(delivered: past, waiting: pending, at: now)
  }

  mutating func updateFailed(_ failure: UpdateFailure, at now: BootInstant) -> Event? {
    outages.failed(failure, at: now)
  }

  mutating func backfillRefused(_ failure: UpdateFailure, at now: BootInstant) -> Event? {
    backfillRefusals.admit(failure.category.rawValue, at: now).map { .backfillRefused(failure, suppressed: $0) }
  }

  // MARK: - Tokens

  /// - Parameter left: what is left of the token in use; nil without one.
  mutating func tokenFailed(_ failure: TokenFailure, left: Duration?, at now: BootInstant) -> Event? {
    tokenFailures.admit(failure.reason.name, at: now).map { .tokenFailed(failure, left: left, suppressed: $0) }
  }

  mutating func tokenObtained() {
    tokenFailures.end()
  }

  // MARK: - The backlog

  mutating func backlogRestored(_ count: Int) -> Event {
    outages.announceBacklog()
    return .backlogRestored(count)
  }

  /// - Parameter within: error of the thinned track, in metres.
  mutating func removed(_ count: Int, _ reason: Backlog.Removal, within: Double, at now: BootInstant) -> Event? {
    guard reason != .delivered else { return nil }
    return removals.admit(reason.rawValue, at: now).map {
      .positionsDropped(count, reason, within: within, suppressed: $0)
    }
  }

  /// - Parameter count: positions of the backlog.
  mutating func storeChanged(
    from old: BacklogStoreState, to new: BacklogStoreState, count: Int, at now: BootInstant
  ) -> Event? {
    switch (old, new) {
    case (_, .memoryOnly(let why)):
      return storeFailures.admit(why, at: now).map { .backlogInMemory(why, suppressed: $0) }
    case (.memoryOnly, .healthy):
      storeFailures.end()
      return .backlogOnDisk(count: count)
    default: return nil
    }
  }

  // MARK: - Network and clock

  /// - Parameter names: of the links that are used.
  mutating func network(_ change: NetworkGate.Change, names: [String], at now: BootInstant) -> Event? {
    switch change {
    case .none, .moved: return nil
    case .lost:
      let suppressed = networkLosses.admit("network", at: now)
      isNetworkLossReported = suppressed != nil
      return suppressed.map { .networkLost(suppressed: $0) }
    case .back(let time):
      // The return of an interface that flaps is reported as seldom as its loss.
      return isNetworkLossReported ? .networkBack(names, after: time) : nil
    }
  }

  mutating func clockStepped(_ step: Duration, at now: BootInstant) -> Event? {
    if let last = clockStep, now - last.reportedAt < Notices.clockStepPeriod {
      clockStep?.suppressed += 1
      return nil
    }
    defer { clockStep = (now, 0) }
    return .clockStepped(step, untold: clockStep?.suppressed ?? 0)
  }

  /// - Parameter offset: what the receiver's stamps are corrected by.
  mutating func receiverClock(_ offset: Duration, at now: BootInstant) -> Event? {
    guard offset != receiverClockOffset else { return nil }
    receiverClockOffset = offset
    // The end of a correction that was not reported is not reported either.
    if offset == .zero {
      defer { isReceiverClockReported = false }
      return isReceiverClockReported ? .receiverClock(.zero, suppressed: 0) : nil
    }
    let suppressed = receiverClocks.admit("offset", at: now)
    isReceiverClockReported = suppressed != nil || isReceiverClockReported
    return suppressed.map { .receiverClock(offset, suppressed: $0) }
  }

  // MARK: - Pause and settings

  /// What comes after the pause is no part of the outage before.
  mutating func paused() {
    outages.forgetOutage()
    offlineFailures.end()
  }

  mutating func offlineFailed(_ failure: UpdateFailure, at now: BootInstant) -> Event? {
    offlineFailures.admit(failure.category.rawValue, at: now).map { .stateOfflineFailed(failure, suppressed: $0) }
  }

  /// - Parameter after: since the pause began; nil when that is not known, or there is none.
  mutating func wentOffline(after: Duration?) -> Event {
    offlineFailures.end()
    return .stateOffline(after: after)
  }

  /// What is wrong with new settings is reported at once.
  mutating func configured(isOtherVehicle: Bool) {
    if isOtherVehicle { outages = OutageNotices() }
    outages.beginAfresh()
    tokenFailures.end()
  }
}
