// SPDX-License-Identifier: Apache-2.0
import Authorization
import Connectivity
import HTTPMessages
import Positioning
import Timekeeping

/// What the machine's network and clocks do to the vehicle's reports.
extension VehicleAgent {
  /// How long a machine that woke waits for its receiver, so that the first update does not carry the place where it fell
  /// asleep, with the floor between updates keeping the next one back.
  static let wakeGrace = Duration.milliseconds(1500)

  mutating func take(_ state: NetworkState, at now: Moment, _ effects: inout [Effect]) {
    switch network.take(state, isNeeded: configuration.needsNetwork, at: now.boot) {
    case .none: break
    case .lost:
      let told = networkLosses.admit("network", at: now.boot)
      isNetworkLossTold = told != nil
      if let (_, suppressed) = told { effects.append(.event(.networkLost(suppressed: suppressed))) }
    case .back(let time):
      // An interface that flaps is told once in a while, its returns neither.
      if isNetworkLossTold { effects.append(.event(.networkBack(state.names, after: time))) }
      startAfresh(at: now, &effects)
    case .moved: startAfresh(at: now, &effects)
    }
  }

  /// Connections that were open are most likely dead, and what waited for a network need wait no longer. What is under way
  /// is given up before its deadline: the answer would go to an address that is not this machine's any more.
  mutating func startAfresh(at now: Moment, _ effects: inout [Effect]) {
    if !delivery.isIdle { statistics.abandoned += 1 }
    apply(delivery.handle(.connectionsLost, at: now.boot), at: now, &effects)
    apply(tokens.handle(.connectionsLost, at: now), at: now, &effects)
    effects.append(.dropConnections)
    apply(delivery.handle(.networkUp, at: now.boot), at: now, &effects)
    apply(tokens.handle(.networkUp, at: now), at: now, &effects)
  }

  /// When the certificates of a request are judged, if not by the machine's clock.
  func certificateTime(at now: Moment) -> Timestamp? {
    CertificateTime.at(now, buildDate: configuration.filter.buildDate, receiver: newestTime)
  }

  mutating func clockStepped(_ step: Duration, at now: BootInstant, _ effects: inout [Effect]) {
    // Two time daemons that disagree would fill the journal.
    if let clockStepToldAt, now - clockStepToldAt < .seconds(60) {
      clockStepsUntold += 1
      return
    }
    effects.append(.event(.clockStepped(step, untold: clockStepsUntold)))
    clockStepToldAt = now
    clockStepsUntold = 0
  }
}
