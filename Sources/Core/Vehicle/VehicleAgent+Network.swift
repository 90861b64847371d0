// SPDX-License-Identifier: Apache-2.0
import Delivery
import Authorization
import ClockEstimation
import Connectivity
import Timekeeping

/// Changes of the network and the clocks.
extension VehicleAgent {
  mutating func networkChanged(_ state: NetworkState, at now: Moment, _ effects: inout [Effect]) {
    if !state.isUsable, configuration.needsNetwork { network.outage.noteUnreachable(at: now.boot) }
    let change = network.update(state, isNeeded: configuration.needsNetwork, at: now.boot)
    report(eventLimiter.networkChanged(change, links: state.linkNames, at: now.boot), &effects)
    switch change {
    case .none, .lost: break
    case .back, .pathChanged: resetConnections(at: now, &effects)
    }
  }

  /// Open connections are most likely dead: cancels what is in flight, because responses would go to an old address,
  /// and resets the backoffs.
  mutating func resetConnections(at now: Moment, _ effects: inout [Effect]) {
    if !delivery.isIdle { statistics.abandoned += 1 }
    apply(delivery.handle(.cancel, at: now.boot), at: now, &effects)
    apply(tokens.handle(.cancel, at: now), at: now, &effects)
    effects.append(.dropConnections)
    resetBackoffs(at: now, &effects)
  }

  /// The cause of failures is gone: resets the backoffs.
  mutating func resetBackoffs(at now: Moment, _ effects: inout [Effect]) {
    apply(delivery.handle(.networkUp, at: now.boot), at: now, &effects)
    apply(tokens.handle(.networkUp, at: now), at: now, &effects)
  }

  /// The time at which to verify the certificates of a request; nil: the machine's clock.
  mutating func certificateTime(at now: Moment) -> Timestamp? {
    clock.certificateTime(at: now, newest: newestTime)
  }
}
