// SPDX-License-Identifier: Apache-2.0
import Authorization
import FleetEngine
import Positioning
package import Timekeeping

/// Pauses: while the driver is off duty no position is sent or stored and nothing is fetched, except to set a vehicle
/// of on-demand trips to OFFLINE. The receiver is still read for `status`, but no fix of the pause is ever sent.
extension VehicleAgent {
  /// Whether nothing is recorded or sent until `resume`.
  package var isPaused: Bool { pauseState.pause != nil }

  /// - Parameter record: from a previous run; nil: the pause begins now.
  mutating func pause(_ record: PauseRecord?, at now: Moment, _ effects: inout [Effect]) {
    let new = record ?? PauseRecord(since: bestTime(at: now))
    guard pauseState.pause(new) else {
      // Storing it may have failed the first time.
      return effects.append(.storePause(pauseState.pause))
    }
    // The last request of the previous run may still arrive.
    if record != nil, isOfflinePending {
      let end = now.boot + configuration.delivery.endpoint.deadline
      for kind in [DeliveryAgent.RequestKind.position, .offline] {
        apply(delivery.handle(.mayArrive(kind, until: end), at: now.boot), at: now, &effects)
      }
    }
    // Store it first: a pause that was confirmed survives a power cut.
    if record == nil { effects.append(.storePause(new)) }
    effects.append(.event(.paused(new, isOld: record != nil)))
    suspendDelivery(at: now, &effects)
  }

  mutating func resume(at now: Moment, _ effects: inout [Effect]) {
    effects.append(.storePause(nil))
    guard let (ended, isTokenFileChanged) = pauseState.resume() else { return }
    let length = ended.since.flatMap { since in bestTime(at: now).map { $0 - since } }
    effects.append(.event(.pauseEnded(after: length.flatMap { $0 > .zero ? $0 : nil })))
    // OFFLINE is not repeated. One in flight is not cancelled, because it might arrive after ONLINE: ONLINE waits for
    // its outcome.
    resumeDelivery(at: now, &effects)
    if isTokenFileChanged { tokenFileChanged(at: now, &effects) }
  }

  /// Whether OFFLINE is pending for this pause. False on duty.
  var isOfflinePending: Bool {
    isPaused && configuration.delivery.endpoint.followsPause && pauseState.isOfflinePending(for: vehicleName)
  }

  /// When OFFLINE is due: at once, and if it was accepted too early, again when no position can arrive after it.
  var offlineDue: BootInstant { pauseState.isAcceptedEarly ? delivery.positionMayArriveUntil : .boot }

  /// Fleet Engine has accepted OFFLINE.
  mutating func acceptedOffline(sentAt: BootInstant, at now: Moment, _ effects: inout [Effect]) {
    let pause = pauseState.acceptedOffline(of: vehicleName, isEarly: sentAt < delivery.positionMayArriveUntil)
    if let pause { effects.append(.storePause(pause)) }
    // Irrelevant after a pause that has ended.
    guard pause != nil || lifecycle.isSettingOffline else { return }
    let length = pause?.since.flatMap { since in bestTime(at: now).map { $0 - since } }
    report(eventLimiter.wentOffline(after: length.flatMap { $0 > .zero ? $0 : nil }), &effects)
  }

  private var vehicleName: String { StoredRunState.name(of: configuration.delivery.endpoint.vehicle) }

  /// A token file that changes during a pause is read after it, or at once if OFFLINE needs a token; one that changes
  /// while another process has the vehicle is read afterwards.
  mutating func tokenFileChanged(at now: Moment, _ effects: inout [Effect]) {
    if lock.tokenFileChanged(), pauseState.tokenFileChanged(isNeeded: isOfflinePending) {
      apply(tokens.handle(.fileChanged, at: now), at: now, &effects)
    }
  }

  /// The best known time; nil if unknown.
  package func bestTime(at now: Moment) -> Timestamp? {
    if let (time, _) = timeEstimator.time(at: now) { return time }
    return now.wall >= configuration.filter.buildDate ? now.wall : nil
  }
}
