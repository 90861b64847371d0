// SPDX-License-Identifier: Apache-2.0
import Reporting
package import SourceSelection
package import PositionBacklog
package import Delivery
package import FleetEngine
package import Authorization
package import ClockEstimation
package import Positioning
package import Timekeeping

extension VehicleAgent {
  /// The agent at one moment, as others may read it: without text. `Observability` makes sentences, `status`, `explain`
  /// and metrics from it.
  ///
  /// It contains coordinates, which are personal data and must not be logged.
  package struct Snapshot: Sendable {
    /// When it was taken.
    package let now: Moment
    private let agent: VehicleAgent
    /// The plan, or, if a step is due at this moment, the wait after it.
    private let plan: Plan
    /// The vehicle's ID; nil while the settings name none.
    package var vehicle: String? { agent.configuration.context?.scope.id }
    /// The Google Cloud project; nil while the settings name none.
    package var provider: String? { agent.configuration.context?.providerID }
    /// The vehicle's Fleet Engine service, such as `deliveries`.
    package var service: String { agent.configuration.delivery.endpoint.vehicle.service.name }
    /// Whether new trips are offered to the vehicle, as far as is known from this run or the current pause; nil if
    /// unknown, or if the state does not follow the driver's duty.
    package var vehicleState: VehicleState? { agent.vehicleState }
    /// What the agent waits for.
    package var cause: Cause { plan.cause ?? .stopping(until: nil, nil) }
    /// The next request to Fleet Engine; nil if none is planned, or one is in flight.
    package var next: Plan.Next? { plan.next }
    /// Nil without a pause.
    package var pause: PauseRecord? { agent.dutyState.pause }
    /// The driver's duty; nil if the vehicle's state does not follow it.
    package var duty: VehicleState? {
      agent.dutyRefusal == nil ? agent.dutyState.offDuty == nil ? .online : .offline : nil
    }
    /// The record of the time off duty; nil while the driver is on duty, or if the vehicle's state does not follow the
    /// duty.
    package var offDuty: DutyRecord? { agent.dutyRefusal == nil ? agent.dutyState.offDuty : nil }
    /// Whether OFFLINE is to be set, and Fleet Engine has not accepted it yet.
    package var isOfflinePending: Bool { agent.isOfflinePending }
    /// Fleet Engine accepted the last update, and there is a network.
    package var isOnline: Bool { agent.isReachingFleetEngine }
    /// When the network was found to be absent; nil if there is one, or its state is unknown.
    package var networkAbsentSince: BootInstant? { agent.network.absentSince }
    /// Whether the network is absent because there is no interface but the loopback.
    package var isNetworkIsolated: Bool { agent.network.isIsolated }

    /// The state of each source, and which one is used.
    package var sources: SourceOverview { agent.selector.overview }
    /// The newest accepted fix, even during a pause.
    package var fix: Fix? { agent.fixes.newest?.fix }
    /// Its arrival. Meaningless without a fix.
    package var fixReceivedAt: BootInstant { agent.fixes.newest?.at ?? .boot }
    /// When the last fix was accepted, or, before the first, when reading of a source began; nil if there is a fix.
    package var fixMissingSince: BootInstant? { agent.fixes.missingSince }
    /// Why the last fix was rejected; nil if it was accepted, or there was none.
    package var lastRejection: FixRejection? { agent.fixes.rejection }
    /// The newest position that may be sent; nil before the first one, and after a pause until there is one.
    package var newest: VehicleLocation? { agent.policy.newest }
    /// Its arrival. Meaningless without a position.
    package var newestReceivedAt: BootInstant { agent.policy.newestAt }
    /// Whether the vehicle is parked.
    package var isParked: Bool { agent.isParked }
    /// The track over the last few minutes.
    package var track: RecentTrack { agent.fixes.track }

    /// Whether a request is in flight.
    package var isUpdating: Bool { !agent.delivery.isIdle }
    /// Time of the newest position that Fleet Engine has.
    package var delivered: Timestamp? { agent.delivery.delivered?.time }
    /// When Fleet Engine last accepted an update.
    package var lastAcceptedAt: BootInstant? { agent.delivery.lastAcceptedAt }
    /// Why the last update failed; nil if it was accepted.
    package var failure: UpdateFailure? { agent.delivery.failure }
    /// When updates began to fail; nil if the last one was accepted.
    package var failingSince: BootInstant? { agent.delivery.failingSince }
    /// The outcomes of recent updates.
    package var outcomes: RecentOutcomes { agent.delivery.outcomes }
    /// In which form updates are sent, and why.
    package var updateForm: UpdateFormNegotiation.Summary { agent.delivery.updateForm }

    /// The token's expiry; nil without one.
    package var tokenDeadline: BootInstant? { agent.tokens.token(at: now.boot)?.deadline }
    /// Why the last request for a token failed; nil if it succeeded.
    package var tokenFailure: TokenFailure? { agent.tokens.lastFailure }
    /// When token requests began to fail; nil if the last one succeeded.
    package var tokenFailingSince: BootInstant? { agent.tokens.failingSince }

    /// Pending positions, without the live position in flight.
    package var pendingCount: Int { agent.delivery.pendingCount }
    /// The age of the oldest of them relative to the newest fix, by their timestamps; nil if there is no pending
    /// position or no fix.
    package var oldestAge: Duration? {
      guard pendingCount > 0, let oldest = agent.delivery.backlog.first?.id, let newest = agent.newestTime else {
        return nil
      }
      return max(newest - oldest, .zero)
    }
    /// Interpolation error of the thinned track, in metres; 0 if nothing was thinned.
    package var thinnedWithin: Double { agent.delivery.backlog.thinnedWithin }
    /// Where the backlog is stored.
    package var store: BacklogStoreState { agent.delivery.storeState }

    /// The best known time; nil if unknown.
    package var time: Timestamp? { agent.clock.bestTime(at: now) }
    /// Whether a reference other than the machine's clock provides the time.
    package var isTimeKnown: Bool { agent.clock.isKnown(at: now) }
    /// The error of the machine's clock; nil if there is none, or it is unknown.
    package var clockError: TimeEstimator.ClockError? { agent.clock.error(at: now) }
    /// This machine's clock shows a time before the build date.
    package var isClockUnset: Bool { now.wall < agent.configuration.filter.buildDate }
    /// Counters since the start.
    package var statistics: Statistics

    fileprivate init(now: Moment, agent: VehicleAgent, plan: Plan) {
      self.now = now
      self.agent = agent
      self.plan = plan
      statistics = agent.statistics
    }
  }

  /// Fleet Engine accepted the last update, and there is a network.
  package var isReachingFleetEngine: Bool { delivery.wasLastAttemptAccepted && !network.isAbsent }

  /// Whether the vehicle is parked.
  package var isParked: Bool { policy.isParked }

  /// - Parameter now: with the machine's clock.
  package func snapshot(at now: Moment) -> Snapshot {
    Snapshot(now: now, agent: self, plan: nextWait(at: now))
  }

  fileprivate var vehicleState: VehicleState? {
    guard configuration.delivery.endpoint.followsDuty else { return nil }
    return dutyState.isOffline && !isOfflinePending ? .offline : delivery.vehicleState
  }

  /// The plan; if a step is due at this moment, the wait after it.
  private func nextWait(at now: Moment) -> Plan {
    let plan = plan(at: now.boot)
    guard case .act = plan else { return planForDisplay(plan, at: now.boot) }
    var copy = self
    _ = copy.handle(.deadline, at: now)
    return copy.planForDisplay(copy.plan(at: now.boot), at: now.boot)
  }
}

extension VehicleAgent.Snapshot {
  /// Whether another process on this machine has locked the vehicle.
  package var isVehicleInUse: Bool { if case .vehicleInUse = cause { true } else { false } }
}
