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
  /// The agent's state at one moment, as data without text. `Observability` makes sentences, `status`, `explain` and
  /// metrics of it.
  ///
  /// It contains coordinates, which are personal data and must not be logged.
  package struct Snapshot: Equatable, Sendable {
    /// When it was taken.
    package let now: Moment
    /// The vehicle's ID; nil while the settings name none.
    package let vehicle: String?
    /// The Google Cloud project; nil as above.
    package let provider: String?
    /// The vehicle's Fleet Engine service, as in `deliveries`.
    package let service: String
    /// Whether new trips are offered to the vehicle, as far as this run or the current pause knows; nil if unknown, or
    /// if the state does not follow the driver's duty.
    package let vehicleState: VehicleState?
    /// What the agent waits for.
    package let cause: Cause
    /// The next request to Fleet Engine; nil if none is planned, or one is in flight.
    package let next: Plan.Next?
    /// Nil without a pause.
    package let pause: PauseRecord?
    /// The driver's duty; nil if the vehicle's state does not follow it.
    package let duty: VehicleState?
    /// The record of the time off duty; nil while the driver is on duty, and as above.
    package let offDuty: DutyRecord?
    /// Whether OFFLINE is to be set, and Fleet Engine has not accepted it yet.
    package let isOfflinePending: Bool
    /// Fleet Engine accepted the last update, and there is a network.
    package let isOnline: Bool
    /// Since when there has been no network; nil if there is one, or it is unknown.
    package let networkAbsentSince: BootInstant?
    /// Whether that is because there is no interface but the loopback.
    package let isNetworkIsolated: Bool

    /// The state of each source, and which one is used.
    package let sources: SourceOverview
    /// The newest accepted fix, also during a pause.
    package let fix: Fix?
    /// Its arrival. Meaningless without a fix.
    package let fixCameAt: BootInstant
    /// Since when no fix has been accepted, or, before the first, since when a source is read; nil if there is a fix.
    package let fixMissingSince: BootInstant?
    /// Why the last fix was rejected; nil if it was accepted, or there was none.
    package let lastRejection: FixRejection?
    /// The newest position that may be sent; nil before the first one, and after a pause until there is one.
    package let newest: VehicleLocation?
    /// Its arrival. Meaningless without one.
    package let newestCameAt: BootInstant
    /// Whether the vehicle is parked.
    package let isParked: Bool
    /// The track of the last minutes.
    package let track: RecentTrack

    /// Whether a request is in flight.
    package let isUpdating: Bool
    /// Time of the newest position that Fleet Engine has.
    package let delivered: Timestamp?
    /// When Fleet Engine last accepted an update.
    package let lastAcceptedAt: BootInstant?
    /// Why the last update failed; nil if it was accepted.
    package let failure: UpdateFailure?
    /// Since when updates have failed.
    package let failingSince: BootInstant?
    /// The outcomes of recent updates.
    package let outcomes: RecentOutcomes
    /// In which form updates are sent, and why.
    package let updateForm: UpdateFormNegotiation.Summary

    /// The token's expiry; nil without one.
    package let tokenDeadline: BootInstant?
    /// Why the last request for a token failed; nil if it succeeded.
    package let tokenFailure: TokenFailure?
    /// Since when token requests have failed.
    package let tokenFailingSince: BootInstant?

    /// Pending positions, without the live position in flight.
    package let pendingCount: Int
    /// The age of the oldest of them relative to the newest fix, by their timestamps; nil if there is none of either.
    package let oldestAge: Duration?
    /// Interpolation error of the thinned track, in metres; 0 if nothing was thinned.
    package let thinnedWithin: Double
    /// Where the backlog is stored.
    package let store: BacklogStoreState

    /// The best known time; nil if unknown.
    package let time: Timestamp?
    /// Whether a reference other than the machine's clock has given the time.
    package let isTimeKnown: Bool
    /// The error of the machine's clock; nil if there is none, or it is unknown.
    package let clockError: TimeEstimator.Error?
    /// This machine's clock shows a time before the build date.
    package let isClockUnset: Bool
    /// Counters since the start.
    package var statistics: Statistics
  }

  /// Fleet Engine accepted the last update, and there is a network.
  package var isReachingFleetEngine: Bool { delivery.wasLastAttemptAccepted && !network.isAbsent }

  /// - Parameter now: with the machine's clock.
  package func snapshot(at now: Moment) -> Snapshot {
    let plan = outlook(at: now)
    let oldest = delivery.pendingCount > 0 ? delivery.backlog.first?.id : nil
    return Snapshot(
      now: now, vehicle: configuration.context?.scope.id, provider: configuration.context?.providerID,
      service: configuration.delivery.endpoint.vehicle.service.name, vehicleState: vehicleState,
      cause: plan.cause ?? .stopping(until: nil, nil), next: plan.next,
      pause: dutyState.pause, duty: dutyRefusal == nil ? dutyState.offDuty == nil ? .online : .offline : nil,
      offDuty: dutyRefusal == nil ? dutyState.offDuty : nil, isOfflinePending: isOfflinePending,
      isOnline: isReachingFleetEngine, networkAbsentSince: network.absentSince, isNetworkIsolated: network.isIsolated,
      sources: selector.overview, fix: fixes.newest?.fix, fixCameAt: fixes.newest?.at ?? .boot,
      fixMissingSince: fixes.missingSince,
      lastRejection: fixes.rejection, newest: policy.newest, newestCameAt: policy.newestAt, isParked: policy.isParked,
      track: track,
      isUpdating: !delivery.isIdle, delivered: delivery.delivered?.time, lastAcceptedAt: delivery.lastAcceptedAt,
      failure: delivery.failure, failingSince: delivery.failingSince, outcomes: outcomes,
      updateForm: delivery.updateForm,
      tokenDeadline: tokens.token(at: now.boot)?.deadline, tokenFailure: tokens.lastFailure,
      tokenFailingSince: tokens.failingSince,
      pendingCount: delivery.pendingCount,
      oldestAge: newestTime.flatMap { newest in oldest.map { max(newest - $0, .zero) } },
      thinnedWithin: delivery.backlog.thinnedWithin,
      store: delivery.storeState,
      time: clock.bestTime(at: now), isTimeKnown: clock.isKnown(at: now),
      clockError: clock.error(at: now),
      isClockUnset: now.wall < configuration.filter.buildDate,
      statistics: statistics)
  }

  private var vehicleState: VehicleState? {
    guard configuration.delivery.endpoint.followsDuty else { return nil }
    return dutyState.isOffline && !isOfflinePending ? .offline : delivery.vehicleState
  }

  /// The plan; if a step is due at this moment, the wait after it.
  private func outlook(at now: Moment) -> Plan {
    let plan = plan(at: now.boot)
    guard case .act = plan else { return plan }
    var copy = self
    _ = copy.handle(.deadline, at: now)
    return copy.plan(at: now.boot)
  }
}

extension VehicleAgent.Snapshot {
  /// Whether another process on this machine has locked the vehicle.
  package var isVehicleInUse: Bool { if case .vehicleInUse = cause { true } else { false } }
}
