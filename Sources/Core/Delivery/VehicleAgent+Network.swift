// SPDX-License-Identifier: Apache-2.0
import Authorization
import Connectivity
import HTTPMessages
import Positioning
import Timekeeping

/// What the machine's network and clocks do to the vehicle's reports.
extension VehicleAgent {
  mutating func take(_ state: NetworkState, at now: Moment, _ effects: inout [Effect]) {
    let change = network.take(state, isNeeded: configuration.needsNetwork, at: now.boot)
    report(notices.network(change, names: state.names, at: now.boot), &effects)
    switch change {
    case .none, .lost: break
    case .back, .moved: startAfresh(at: now, &effects)
    }
  }

  /// Connections that were open are most likely dead, and what waited for a network need wait no longer. What is under way
  /// is given up before its deadline: the answer would go to an address that is not this machine's any more.
  mutating func startAfresh(at now: Moment, _ effects: inout [Effect]) {
    if !delivery.isIdle { statistics.abandoned += 1 }
    apply(delivery.handle(.connectionsLost, at: now.boot), at: now, &effects)
    apply(tokens.handle(.connectionsLost, at: now), at: now, &effects)
    effects.append(.dropConnections)
    endWaits(at: now, &effects)
  }

  /// What kept requests from a server is over: they wait no longer for their next attempt.
  mutating func endWaits(at now: Moment, _ effects: inout [Effect]) {
    apply(delivery.handle(.networkUp, at: now.boot), at: now, &effects)
    apply(tokens.handle(.networkUp, at: now), at: now, &effects)
  }

  /// When the certificates of a request are judged, if not by the machine's clock.
  mutating func certificateTime(at now: Moment) -> Timestamp? {
    certificates.time(
      at: now, judgement: clocks.judgement(at: now), newest: newestTime, buildDate: configuration.filter.buildDate)
  }
}
