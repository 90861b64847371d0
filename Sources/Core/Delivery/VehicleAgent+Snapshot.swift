// SPDX-License-Identifier: Apache-2.0
package import FleetEngine
package import Authorization
package import Positioning
package import Timekeeping

extension VehicleAgent {
  /// What there is to report of the agent at one moment: facts and no words. `Observability` makes sentences, `status`,
  /// `explain` and metrics of it.
  ///
  /// It holds coordinates, which are personal data; whoever reads it leaves them here.
  package struct Snapshot: Equatable, Sendable {
    /// When it was taken.
    package let now: Moment
    /// The vehicle's ID; nil while the settings name none.
    package let vehicle: String?
    /// The Google Cloud project; nil as above.
    package let provider: String?
    /// The service of Fleet Engine that the vehicle belongs to, as in `deliveries`.
    package let service: String
    /// Whether new trips are offered to the vehicle, as far as this run or the pause in force knows; nil when it does not, or when
    /// the state does not follow the driver's duty.
    package let vehicleState: VehicleState?
    /// What the agent waits for.
    package let cause: Cause
    /// The next request to Fleet Engine; nil when none is planned, or one is under way.
    package let next: Plan.Next?
    /// Nil while the driver is on duty.
    package let pause: PauseNote?
    /// Fleet Engine accepted the last update, and there is a network.
    package let isOnline: Bool
    /// Since when there has been no network; nil when there is one, or none can be seen.
    package let networkAbsentSince: BootInstant?

    /// What each source gives, and which is used.
    package let sources: SourceOverview
    /// The newest accepted fix, also during a pause, and when it came.
    package let fix: Fix?
    /// Meaningless without a fix.
    package let fixCameAt: BootInstant
    /// Since when no fix has been accepted, or, before the first, since when a source is read; nil when there is a fix.
    package let fixMissingSince: BootInstant?
    /// Why the last fix was rejected; nil when it was accepted, or none has come.
    package let lastRejection: FixRejection?
    /// The newest position that may be sent; nil before the first one, and after a pause until one comes.
    package let newest: VehicleLocation?
    /// When it came. Meaningless without one.
    package let newestCameAt: BootInstant
    /// The vehicle does not move.
    package let isParked: Bool
    /// The way of the last minutes.
    package let track: RecentTrack

    /// A request is under way.
    package let isUpdating: Bool
    /// Time of the newest position that Fleet Engine has.
    package let delivered: Timestamp?
    /// When Fleet Engine last accepted an update.
    package let lastAcceptedAt: BootInstant?
    /// Why the last update was not accepted; nil when it was.
    package let failure: UpdateFailure?
    /// Since when none has been accepted.
    package let failingSince: BootInstant?
    /// How the last updates ended.
    package let outcomes: RecentOutcomes

    /// Until when the token is good; nil without one.
    package let tokenDeadline: BootInstant?
    /// Why the last request for a token gave none; nil when it gave one.
    package let tokenFailure: TokenFailure?
    /// Since when none has come.
    package let tokenFailingSince: BootInstant?

    /// Positions that are pending, without the one that is under way as the live position.
    package let waiting: Int
    /// How far the oldest of them lies behind the newest fix, by their own times; nil when there is none of either.
    package let oldestAge: Duration?
    /// Error of the thinned track against all of it, in metres; 0 when nothing was thinned.
    package let thinnedWithin: Double
    /// Where the backlog is stored.
    package let store: BacklogStoreState

    /// The time by the best known clock; nil when it is not known.
    package let time: Timestamp?
    /// Whether anybody but this machine's clock has said what time it is.
    package let isTimeTold: Bool
    /// By how much this machine's clock is wrong; nil when it is not, or nobody can say.
    package let clockError: TimeJudge.Error?
    /// This machine's clock shows a time before the build date.
    package let isClockUnset: Bool
    /// Counts since the start.
    package var statistics: Statistics
  }

  /// Fleet Engine accepted the last update, and there is a network.
  package var isReachingFleetEngine: Bool { delivery.isOnline && !network.isAbsent }

  /// - Parameter now: with this machine's clock, which is judged.
  package func snapshot(at now: Moment) -> Snapshot {
    let plan = outlook(at: now)
    let oldest = delivery.waiting > 0 ? delivery.backlog.first?.id : nil
    return Snapshot(
      now: now, vehicle: configuration.context?.scope.id, provider: configuration.context?.providerID,
      service: configuration.delivery.endpoint.vehicle.service.name, vehicleState: vehicleState,
      cause: plan.cause ?? .stopping(until: nil, nil), next: plan.next,
      pause: duty.pause,
      isOnline: isReachingFleetEngine, networkAbsentSince: network.absentSince,
      sources: selector.overview, fix: fixes.newest?.fix, fixCameAt: fixes.newest?.at ?? .boot,
      fixMissingSince: fixes.missingSince,
      lastRejection: fixes.rejection, newest: policy.newest, newestCameAt: policy.newestAt, isParked: policy.isParked,
      track: track,
      isUpdating: !delivery.isIdle, delivered: delivery.delivered?.time, lastAcceptedAt: delivery.lastAcceptedAt,
      failure: delivery.failure, failingSince: delivery.failingSince, outcomes: outcomes,
      tokenDeadline: tokens.token(at: now.boot)?.deadline, tokenFailure: tokens.lastFailure,
      tokenFailingSince: tokens.failingSince,
      waiting: delivery.waiting,
      oldestAge: newestTime.flatMap { newest in oldest.map { max(newest - $0, .zero) } },
      thinnedWithin: delivery.backlog.thinnedWithin,
      // The file may be written before it is read.
      store: store == .healthy && storeReading.isPending ? .unread : store,
      time: bestTime(at: now), isTimeTold: clocks.time(at: now) != nil, clockError: clocks.error(at: now),
      isClockUnset: now.wall < configuration.filter.buildDate,
      statistics: statistics)
  }

  private var vehicleState: VehicleState? {
    guard configuration.delivery.endpoint.followsDuty else { return nil }
    return isPaused && !owesOffline ? .offline : delivery.vehicleState
  }

  /// The plan; where there is something to do at this very moment, what is waited for once it is done.
  private func outlook(at now: Moment) -> Plan {
    let plan = plan(at: now.boot)
    guard case .act = plan else { return plan }
    var copy = self
    _ = copy.handle(.deadline, at: now)
    return copy.plan(at: now.boot)
  }
}
