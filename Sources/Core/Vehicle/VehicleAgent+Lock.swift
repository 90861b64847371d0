// SPDX-License-Identifier: Apache-2.0
import Reporting
import Delivery
import Authorization
import Timekeeping

/// Two daemons for one vehicle on one machine: only the one that has locked the vehicle reports it. The other sends,
/// records and fetches nothing, as during a pause, until the first has ended.
extension VehicleAgent {
  /// Whether another process on this machine has locked the vehicle.
  var isVehicleInUse: Bool { lock.holder != nil }

  /// Whether nothing is recorded: during a pause, and while another process has the vehicle.
  var isSuspended: Bool { isPaused || isVehicleInUse }

  /// - Parameter holder: the process that has locked the vehicle; nil if this one has, or if the machine has no such
  ///   locks.
  mutating func vehicleLocked(by holder: VehicleHolder?, at now: Moment, _ effects: inout [Effect]) {
    switch lock.attemptEnded(holder, at: now.boot) {
    case .none: break
    case .begins(let isNew):
      if let holder { effects.append(.event(.vehicleInUse(by: holder))) }
      if isNew { suspendDelivery(at: now, &effects) }
    case .ends(let time, let isTokenFileChanged):
      effects.append(.event(.vehicleFree(after: time)))
      // The other process may have sent an update just before it released the lock.
      apply(delivery.handle(.updatedElsewhere, at: now.boot), at: now, &effects)
      resumeDelivery(at: now, &effects)
      if isTokenFileChanged { tokenFileChanged(at: now, &effects) }
    }
  }

  /// Cancels all requests: nothing is sent from now on. Queued positions stay queued.
  mutating func suspendDelivery(at now: Moment, _ effects: inout [Effect]) {
    if !delivery.isIdle { statistics.abandoned += 1 }
    apply(delivery.handle(.paused, at: now.boot), at: now, &effects)
    apply(tokens.handle(.cancel, at: now), at: now, &effects)
    effects.append(.dropConnections)
    eventLimiter.paused()
    forgetPositions()
  }

  /// Drops positions from the time without delivery: the next fix is treated as the first.
  mutating func resumeDelivery(at now: Moment, _ effects: inout [Effect]) {
    forgetPositions()
    apply(delivery.handle(.fixForgotten, at: now.boot), at: now, &effects)
    resetBackoffs(at: now, &effects)
  }

  private mutating func forgetPositions() {
    policy.forget()
    fixes.track.forget()
  }
}
