// SPDX-License-Identifier: Apache-2.0
package import Vehicle
import Delivery
import FleetEngine
import Timekeeping

/// An item that is sent to programs that monitor the daemon on the control socket. Without coordinates.
package enum MonitorItem: Equatable, Sendable {
  case event(Event)
  case update(Update)
  case state(State)

  /// An event of level info and above, as in `status`.
  package struct Event: Equatable, Sendable, Codable {
    /// Its name, as in docs/journal.md.
    package var name: String
    /// Its level in the journal.
    package var level: String
    /// What happened, for people.
    package var sentence: String
    /// The nearest level of the Driver SDK's status.
    package var driverLevel: String
    /// The code of the Driver SDK's status; nil if none fits.
    package var driverCode: String?
  }

  /// How a request to Fleet Engine ended.
  package struct Update: Equatable, Sendable, Codable {
    /// `accepted`, or the category of the failure.
    package var result: String
    /// Past positions in the request that were accepted.
    package var past: Int
    /// Milliseconds from the request to its end.
    package var milliseconds: Int64
    /// Why it failed, for people; nil if it was accepted.
    package var message: String?
    /// As in `StatusReport.Failure`.
    package var retryIn: Int64?
    /// The code of the Driver SDK's status; nil if it was accepted.
    package var driverCode: String?
  }

  /// The state of vehicle and daemon, as in `status`.
  package struct State: Equatable, Sendable, Codable {
    /// The line of `systemctl status`, with the external text that is omitted there.
    package var summary: String
    /// What the daemon waits for, as one word.
    package var cause: String
    /// `good`, `warning` or `bad`.
    package var level: String
    /// Whether Fleet Engine accepted the last update, and there is a network.
    package var isOnline: Bool
    /// Whether no position is sent or stored.
    package var isPaused: Bool
    /// The driver's duty; nil if the vehicle's state does not follow it.
    package var duty: String?
    /// As Fleet Engine last accepted it; nil if that is unknown, or the daemon does not set the state.
    package var vehicleState: String?
    /// Whether the vehicle is to be OFFLINE and Fleet Engine has not accepted that yet, or a request with ONLINE may
    /// still arrive after OFFLINE.
    package var isOfflinePending: Bool

    /// Whether the other state is the same except for what changes with each update and with time.
    package func isSimilar(to other: State) -> Bool {
      var (mine, theirs) = (self, other)
      (mine.summary, theirs.summary) = ("", "")
      if State.unobstructedCauses.contains(mine.cause), State.unobstructedCauses.contains(theirs.cause) {
        mine.cause = theirs.cause
      }
      return mine == theirs
    }

    /// Causes with which nothing prevents an update.
    private static let unobstructedCauses: Set<String> = ["notDue", "inFlight", "spacing"]
  }
}

extension MonitorItem.Event {
  /// Nil if the event is below info.
  package init?(_ event: Vehicle.Event) {
    guard event.kind.priority <= .info else { return nil }
    self.init(
      name: event.kind.rawValue, level: event.kind.priority.name,
      sentence: String(event.sentence.prefix(RecentEvents.maximumSentenceLength)),
      driverLevel: event.kind.priority.driverLevel, driverCode: event.driverCode)
  }
}

extension MonitorItem.Update {
  /// The last update; nil if there was none.
  package init?(_ snapshot: VehicleAgent.Snapshot) {
    guard let outcome = StatusReport.Outcome(snapshot) else { return nil }
    self.init(result: outcome.result, past: outcome.past, milliseconds: outcome.milliseconds)
    guard let category = snapshot.outcomes.last?.failure else { return }
    driverCode = category.driverCode
    let failure = StatusReport.Failure(snapshot)
    message = failure?.message
    retryIn = failure?.retryIn
  }
}

extension MonitorItem.State {
  /// The state of the vehicle.
  package init(_ snapshot: VehicleAgent.Snapshot) {
    let description = snapshot.causeDescription
    self.init(
      summary: snapshot.statusLine, cause: description.reason, level: description.level.rawValue,
      isOnline: snapshot.isOnline, isPaused: snapshot.pause != nil, duty: snapshot.duty?.rawValue,
      vehicleState: snapshot.vehicleState?.rawValue, isOfflinePending: snapshot.isOfflinePending)
  }

  /// The state of a daemon that waits for what its settings name.
  ///
  /// - Parameter pause: nil: none is stored.
  package init(_ missing: MissingSettings, pause: PauseRecord?) {
    self.init(
      summary: missing.sentence, cause: MissingSettings.cause, level: CauseDescription.Level.bad.rawValue,
      isOnline: false, isPaused: pause != nil, isOfflinePending: false)
  }
}

// MARK: - The Driver SDK's terms

extension Priority {
  /// The nearest status level of the Driver SDK.
  fileprivate var driverLevel: String {
    switch self {
    case .error: "ERROR"
    case .warning: "WARNING"
    case .notice, .info: "INFO"
    case .debug: "DEBUG"
    }
  }
}

extension UpdateFailure.Category {
  /// The Driver SDK's status code.
  fileprivate var driverCode: String {
    switch self {
    case .network, .notFleetEngine, .clockSkew: "BACKEND_CONNECTIVITY_ERROR"
    case .unavailable, .throttled: "SERVICE_ERROR"
    case .unauthenticated, .permissionDenied: "PERMISSION_DENIED"
    case .notFound: "VEHICLE_NOT_FOUND"
    case .rejected: "UNKNOWN_ERROR"
    }
  }
}

extension Vehicle.Event {
  fileprivate var driverCode: String? {
    switch self {
    case .offline(let failure, _, _), .stillOffline(let failure, _, _), .interrupted(let failure),
      .backfillRefused(let failure, _), .stateOfflineFailed(let failure, _):
      failure.category.driverCode
    case .tokenRefused: "PERMISSION_DENIED"
    case .networkLost: "BACKEND_CONNECTIVITY_ERROR"
    case .backlogInMemory, .storeSetAside, .storeReplaced, .pauseNotKept, .dutyNotKept: "FILE_ACCESS_ERROR"
    default: nil
    }
  }
}
