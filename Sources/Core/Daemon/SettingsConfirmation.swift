// SPDX-License-Identifier: Apache-2.0
import Vehicle
import Timekeeping

/// Settings in force that are reverted unless an update with them is accepted in time.
///
/// The time passes only while the previous settings could have delivered: with a network, without a pause, and with a
/// fix and a token. A missing fix or token counts against the new settings if they changed its source and the previous
/// settings had it; otherwise the clock is stopped.
struct SettingsConfirmation: Sendable {
  /// Why the clock is stopped. In order of precedence.
  enum HoldReason: Equatable, Sendable {
    case stopping, vehicleInUse, paused, noNetwork, noFix, noToken

    /// The end of a sentence.
    var explanation: String {
      switch self {
      case .stopping: "the daemon is stopping"
      case .vehicleInUse: "another process reports the vehicle"
      case .paused: "the vehicle is paused"
      case .noNetwork: "there is no network"
      case .noFix: "there is no fix"
      case .noToken: "there is no token"
      }
    }
  }

  /// What the vehicle had with the previous settings.
  struct Availability: Equatable, Sendable {
    var fix = true
    var token = true

    /// Adds what the vehicle has now.
    mutating func formUnion(_ other: Availability) {
      (fix, token) = (fix || other.fix, token || other.token)
    }
  }

  /// What the next start must know.
  struct Waiting: Equatable, Sendable {
    /// The digest of the settings.
    var all: String
    var limit: Duration
    /// The part of `limit` that has passed.
    var elapsed: Duration
    var previousAvailability: Availability
  }

  /// Elapsed time is stored in advance, in steps of this length: a restart may cost one step, and a box that keeps
  /// restarting still reaches the end.
  private static let step = Duration.seconds(10)

  /// The digests of these settings.
  let parts: SettingsParts
  /// The digests of the settings to revert to.
  let previous: SettingsParts
  let limit: Duration
  let previousAvailability: Availability
  /// When these settings came into force.
  private let inForceSince: BootInstant
  /// The part of `limit` that had passed at `runningSince`, and the part that is stored on disk.
  private var elapsed: Duration
  private var storedElapsed: Duration?
  /// Nil while the clock is stopped.
  private var runningSince: BootInstant?
  private(set) var holdReason: HoldReason?
  /// When the first fix and the first token with these settings arrived.
  private var (fixAt, tokenAt): (BootInstant?, BootInstant?)
  private var isUpdateRequested = false
  /// The timeout has elapsed, and the settings stay in force.
  private(set) var isOver = false

  /// - Parameters:
  ///   - elapsed: the part of `limit` that has passed in earlier runs.
  ///   - since: when they came into force; `boot`: at the start of the daemon.
  init(
    of parts: SettingsParts, previous: SettingsParts, within limit: Duration, elapsed: Duration = .zero,
    previousAvailability: Availability, since: BootInstant
  ) {
    (self.parts, self.previous, self.limit, self.previousAvailability, self.inForceSince) = (
      parts, previous, limit, previousAvailability, since
    )
    self.elapsed = min(elapsed, limit)
    (fixAt, tokenAt) = (nil, nil)
  }

  private var changesSource: Bool { parts.source != previous.source }
  /// Whether the token provider has changed.
  var changesToken: Bool { parts.token != previous.token }
  /// Why they are only reported, and not reverted; nil: they are reverted.
  var obstacle: String? { parts.obstacle(to: previous) }

  /// Whether the fix and the token that these settings need have arrived: only then can an accepted update confirm
  /// them.
  private var hasRequiredInputs: Bool { (!changesSource || fixAt != nil) && (!changesToken || tokenAt != nil) }

  /// What is missing because of these settings, if the clock runs.
  var isFixMissing: Bool { changesSource && fixAt == nil }
  var isTokenMissing: Bool { changesToken && tokenAt == nil }

  /// When to call `observe`; nil while the clock is stopped.
  var nextDeadline: BootInstant? {
    guard !isOver, let runningSince else { return nil }
    return runningSince + max(min(limit, storedElapsed ?? elapsed) - elapsed, .zero)
  }

  /// The time that remains for the confirmation, zero or more.
  func left(at now: BootInstant) -> Duration {
    max(limit - elapsed - (runningSince.map { max(now - $0, .zero) } ?? .zero), .zero)
  }

  /// The machine was suspended for this time, and has just resumed.
  mutating func slept(for time: Duration) {
    if let since = runningSince { runningSince = since + max(time, .zero) }
  }

  /// What to do now.
  enum Step: Equatable { case store(ConfirmationRecord), sendNow, end }

  /// The vehicle's state may have changed, or the deadline has passed.
  mutating func observe(_ state: VehicleAgent.Readiness, at now: BootInstant) -> [Step] {
    elapsed += runningSince.map { max(now - $0, .zero) } ?? .zero
    if fixAt == nil, let at = state.fixAt, at > inForceSince { fixAt = at }
    if tokenAt == nil { tokenAt = state.tokenObtainedAt }
    holdReason = holdReason(state)
    runningSince = holdReason == nil && !isOver ? now : nil
    var steps: [Step] = []
    if runningSince != nil ? storedElapsed.map({ elapsed >= $0 && $0 < limit }) ?? true : storedElapsed == nil {
      let next = min(limit, .seconds(elapsed.wholeSeconds) + (runningSince == nil ? .zero : SettingsConfirmation.step))
      storedElapsed = next
      steps.append(
        .store(
          .waiting(
            Waiting(all: parts.all, limit: limit, elapsed: next, previousAvailability: previousAvailability))))
    }
    if hasRequiredInputs, !isUpdateRequested {
      isUpdateRequested = true
      steps.append(.sendNow)
    }
    if runningSince != nil, elapsed >= limit {
      (isOver, runningSince) = (true, nil)
      steps.append(.end)
    }
    return steps
  }

  private func holdReason(_ state: VehicleAgent.Readiness) -> HoldReason? {
    if !state.isRunning { return .stopping }
    if state.isVehicleInUse { return .vehicleInUse }
    if state.isPaused { return .paused }
    if !state.hasNetwork { return .noNetwork }
    if changesSource ? fixAt == nil || state.fixAt == nil : state.fixAt == nil {
      return changesSource && previousAvailability.fix ? nil : .noFix
    }
    if changesToken ? tokenAt == nil || !state.hasToken : !state.hasToken {
      return changesToken && previousAvailability.token ? nil : .noToken
    }
    return nil
  }

  /// The settings were to be reverted; that is tried again.
  mutating func resume() { isOver = false }

  /// Whether an update that was sent at that time, and accepted, confirms these settings.
  func isConfirmed(byUpdateSentAt sentAt: BootInstant) -> Bool {
    guard sentAt >= inForceSince, hasRequiredInputs else { return false }
    return (!changesSource || fixAt.map { sentAt >= $0 } == true)
      && (!changesToken || tokenAt.map { sentAt >= $0 } == true)
  }
}
