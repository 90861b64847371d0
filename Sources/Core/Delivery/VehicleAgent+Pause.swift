// SPDX-License-Identifier: Apache-2.0
import Authorization
import FleetEngine
import Positioning
package import Timekeeping

/// The driver is off duty: no position leaves the machine and none is kept, and nothing is fetched, but what it takes to set a
/// vehicle of on-demand trips to OFFLINE. The receiver is still read, so that `status` can tell how it is; no fix of the pause is ever sent.
extension VehicleAgent {
  /// Whether nothing is recorded or sent until `resume`.
  package var isPaused: Bool { duty.pause != nil }

  /// - Parameter note: what an earlier run has left; nil when the pause begins now.
  mutating func pause(_ note: PauseNote?, at now: Moment, _ effects: inout [Effect]) {
    let new = note ?? PauseNote(since: bestTime(at: now))
    guard duty.pause(new) else {
      // It may not have been kept the first time.
      return effects.append(.keepPause(duty.pause))
    }
    // What the previous run has sent last may still arrive.
    if note != nil, owesOffline {
      let end = now.boot + configuration.delivery.endpoint.deadline
      for kind in [DeliveryAgent.RequestKind.position, .offline] {
        apply(delivery.handle(.mayArrive(kind, until: end), at: now.boot), at: now, &effects)
      }
    }
    // First on disk: what has been said to be in force survives a power cut.
    if note == nil { effects.append(.keepPause(new)) }
    effects.append(.event(.paused(new, isOld: note != nil)))
    if !delivery.isIdle { statistics.abandoned += 1 }
    apply(delivery.handle(.paused, at: now.boot), at: now, &effects)
    apply(tokens.handle(.connectionsLost, at: now), at: now, &effects)
    effects.append(.dropConnections)
    notices.paused()
    forgetPositions()
  }

  mutating func resume(at now: Moment, _ effects: inout [Effect]) {
    effects.append(.keepPause(nil))
    guard let (ended, isTokenRenewed) = duty.resume() else { return }
    let length = ended.since.flatMap { since in bestTime(at: now).map { $0 - since } }
    effects.append(.event(.pauseEnded(after: length.flatMap { $0 > .zero ? $0 : nil })))
    // OFFLINE is not sent again. One that is under way is not given up, for it might arrive after ONLINE: this waits for its outcome.
    // What was seen during the pause stays here: the first fix from now on is the first of all.
    forgetPositions()
    withoutFixSince = now.boot
    apply(delivery.handle(.networkUp, at: now.boot), at: now, &effects)
    apply(tokens.handle(.networkUp, at: now), at: now, &effects)
    if isTokenRenewed { apply(tokens.handle(.renewed, at: now), at: now, &effects) }
  }

  /// Whether Fleet Engine has still to accept OFFLINE for this pause. False on duty.
  var owesOffline: Bool {
    isPaused && configuration.delivery.endpoint.followsDuty && duty.owesOffline(of: vehicleName)
  }

  /// When OFFLINE is due: at once, and where it was accepted, once more when no position can follow it any more.
  var offlineDue: BootInstant { duty.isAcceptedEarly ? delivery.positionMayArriveUntil : .boot }

  /// Fleet Engine has accepted OFFLINE.
  mutating func acceptedOffline(sentAt: BootInstant, at now: Moment, _ effects: inout [Effect]) {
    let pause = duty.acceptedOffline(of: vehicleName, isEarly: sentAt < delivery.positionMayArriveUntil)
    if let pause { effects.append(.keepPause(pause)) }
    // After a pause that has ended it means nothing any more.
    guard pause != nil || lifecycle.isLeaving else { return }
    let length = pause?.since.flatMap { since in bestTime(at: now).map { $0 - since } }
    report(notices.wentOffline(after: length.flatMap { $0 > .zero ? $0 : nil }), &effects)
  }

  private var vehicleName: String { KeptLimits.name(of: configuration.delivery.endpoint.vehicle) }

  /// A token file that changes during a pause is read after it, or at once if OFFLINE waits for a token.
  mutating func renewToken(at now: Moment, _ effects: inout [Effect]) {
    if duty.tokenRenewed(isNeeded: owesOffline) { apply(tokens.handle(.renewed, at: now), at: now, &effects) }
  }

  private mutating func forgetPositions() {
    policy.forget()
    track.forget()
  }

  /// The time by the best known clock; nil when it is not known.
  package func bestTime(at now: Moment) -> Timestamp? {
    if let (time, _) = clocks.time(at: now) { return time }
    return now.wall >= configuration.filter.buildDate ? now.wall : nil
  }
}
