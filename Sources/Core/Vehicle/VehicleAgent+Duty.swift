// SPDX-License-Identifier: Apache-2.0
import SourceSelection
import Reporting
import Delivery
import Authorization
import ClockEstimation
import FleetEngine
import Timekeeping

/// The driver's choices. During a pause no position is sent or stored and nothing is fetched, except to set a vehicle
/// of on-demand trips to OFFLINE. The receiver is read only as long as its time is needed, and no fix from the pause is
/// ever sent. Off duty, such a vehicle is OFFLINE as well, but its positions are sent.
extension VehicleAgent {
  /// Whether nothing is recorded or sent until `resume`.
  package var isPaused: Bool { dutyState.pause != nil }

  /// Why the driver cannot go on or off duty; nil: the vehicle has a state, which the daemon sets.
  package var dutyRefusal: DutyRefusal? {
    let endpoint = configuration.delivery.endpoint
    return endpoint.followsDuty ? nil : endpoint.vehicle.service.hasState ? .setElsewhere : .noState
  }

  /// Why the newest position cannot be sent on request; nil if it can.
  package var sendRefusal: SendRefusal? {
    if lock.holder != nil { return .vehicleInUse }
    if isPaused { return .paused }
    return policy.newest == nil ? .noFix : nil
  }

  // MARK: - The pause

  /// - Parameter record: from a previous run; nil: the pause begins now.
  mutating func pause(_ record: PauseRecord?, at now: Moment, _ effects: inout [Effect]) {
    guard let new = dutyState.pause(record ?? PauseRecord(since: clock.bestTime(at: now))) else {
      // Storing it may have failed the first time.
      return effects.append(.storePause(dutyState.pause))
    }
    if record != nil { restoreOffline(at: now, &effects) }
    // Store it first: a pause that was confirmed survives a power cut.
    if record == nil { effects.append(.storePause(new)) }
    effects.append(.event(.paused(new, isRestored: record != nil)))
    suspendDelivery(at: now, &effects)
  }

  mutating func resume(at now: Moment, _ effects: inout [Effect]) {
    effects.append(.storePause(nil))
    guard let (ended, isTokenFileChanged) = dutyState.resume() else { return }
    effects.append(.event(.pauseEnded(after: duration(since: ended.since, at: now))))
    resumeDelivery(at: now, &effects)
    if isTokenFileChanged { tokenFileChanged(at: now, &effects) }
    requestOnline(at: now, &effects)
  }

  /// During a pause no fix is needed once the time is known at which certificates are verified.
  mutating func reviewNeed(at now: Moment, _ effects: inout [Effect]) {
    let isNeeded = !isPaused || isOfflinePending || !lifecycle.isRunning || !clock.isSettled(at: now)
    guard isNeeded != fixes.isNeeded else { return }
    fixes.setNeeded(isNeeded, at: now.boot)
    feedSelector(.needed(isNeeded), at: now, &effects)
    effects.append(.needFixes(isNeeded))
  }

  // MARK: - The duty

  /// - Parameter record: from a previous run; nil: the driver goes off duty now.
  mutating func goOffline(_ record: DutyRecord?, at now: Moment, _ effects: inout [Effect]) {
    if let vehicle = record?.vehicle, vehicle != vehicleName {
      // Another vehicle begins on duty.
      return effects.append(.storeDuty(nil))
    }
    let chosen = record ?? DutyRecord(since: clock.bestTime(at: now), vehicle: vehicleName)
    guard let new = dutyState.goOffline(chosen) else {
      // Storing it may have failed the first time.
      return effects.append(.storeDuty(dutyState.offDuty))
    }
    if record != nil {
      restoreOffline(at: now, &effects)
    } else {
      effects.append(.storeDuty(new))
    }
    if dutyRefusal == nil { effects.append(.event(.offDuty(new, isRestored: record != nil))) }
  }

  mutating func goOnline(at now: Moment, _ effects: inout [Effect]) {
    effects.append(.storeDuty(nil))
    guard let ended = dutyState.goOnline() else { return }
    requestOnline(at: now, &effects)
    if dutyRefusal == nil {
      effects.append(.event(.onDuty(after: duration(since: ended.since, at: now), isPaused: isPaused)))
    }
  }

  /// A pause has ended, or the driver goes on duty.
  private mutating func requestOnline(at now: Moment, _ effects: inout [Effect]) {
    if requestedState == .online { apply(delivery.handle(.onDuty, at: now.boot), at: now, &effects) }
  }

  /// The state that the next update sets.
  var requestedState: VehicleState { dutyState.isOffline ? .offline : .online }

  /// When a position is due in order to set ONLINE; nil: none is. Without a fix the vehicle is not ready for a trip.
  var onlineDue: BootInstant? {
    guard requestedState == .online, policy.newest != nil else { return nil }
    return fixes.isLost || fixes.isAwaitedAfterResume ? nil : delivery.onlineDue
  }

  // MARK: - OFFLINE

  /// Whether OFFLINE is pending for this pause, or since the driver went off duty.
  var isOfflinePending: Bool {
    configuration.delivery.endpoint.followsDuty && dutyState.isOfflinePending(for: vehicleName)
  }

  /// When OFFLINE is due: at once, and, if it was accepted too early, again when no ONLINE can arrive after it.
  var offlineDue: BootInstant { dutyState.isOfflineAcceptedEarly ? delivery.onlineMayArriveUntil : .boot }

  /// Fleet Engine has accepted OFFLINE, alone or with a position.
  mutating func acceptedOffline(sentAt: BootInstant, at now: Moment, _ effects: inout [Effect]) {
    let isEarly = sentAt < delivery.onlineMayArriveUntil
    let isFinal = dutyState.acceptedOffline(of: vehicleName, isEarly: isEarly)
    if isFinal {
      if let pause = dutyState.pause { effects.append(.storePause(pause)) }
      // A file that could not be read remains, and is reported, until the driver chooses.
      if let offDuty = dutyState.offDuty, offDuty.vehicle != nil { effects.append(.storeDuty(offDuty)) }
    }
    // Irrelevant if the driver is on duty again.
    guard isFinal || lifecycle.isSettingOffline && !dutyState.isOffline else { return }
    let since = dutyState.pause == nil ? dutyState.offDuty?.since : dutyState.pause?.since
    report(eventLimiter.wentOffline(after: duration(since: since, at: now)), &effects)
  }

  /// The vehicle is OFFLINE since the previous run; or OFFLINE is pending, and the last requests of that run may still
  /// arrive after it.
  private mutating func restoreOffline(at now: Moment, _ effects: inout [Effect]) {
    guard isOfflinePending else { return apply(delivery.handle(.restoredOffline, at: now.boot), at: now, &effects) }
    let end = now.boot + configuration.delivery.endpoint.deadline
    for kind in DeliveryAgent.RequestKind.allCases {
      apply(delivery.handle(.mayArrive(kind, until: end), at: now.boot), at: now, &effects)
    }
  }

  private var vehicleName: String { StoredRunState.name(of: configuration.delivery.endpoint.vehicle) }

  /// - Returns: nil if it is unknown.
  private func duration(since start: Timestamp?, at now: Moment) -> Duration? {
    let time = start.flatMap { start in clock.bestTime(at: now).map { $0 - start } }
    return time.flatMap { $0 > .zero ? $0 : nil }
  }

  /// A token file that changes during a pause is read after it, or at once if OFFLINE needs a token; one that changes
  /// while another process has the vehicle is read afterwards.
  mutating func tokenFileChanged(at now: Moment, _ effects: inout [Effect]) {
    if lock.admitTokenFileChange(), dutyState.admitTokenFileChange(isTokenNeeded: isOfflinePending) {
      apply(tokens.handle(.fileChanged, at: now), at: now, &effects)
    }
  }
}
