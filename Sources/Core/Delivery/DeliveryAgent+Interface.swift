// SPDX-License-Identifier: Apache-2.0
package import PositionBacklog
package import Authorization
package import FleetEngine
package import HTTPMessages
package import Timekeeping

extension DeliveryAgent {
  /// Where updates go, and the limits of the backlog.
  package struct Configuration: Equatable, Sendable {
    /// The vehicle's URL and the format of its updates.
    package var endpoint: FleetEngineEndpoint
    /// Whether updates are sent in the compact form.
    package var form: UpdateFormNegotiation.Configuration
    /// The minimum time between accepted updates.
    package var floor: Duration
    /// The time between requests that only deliver the backlog.
    package var backfillInterval: Duration
    /// The maximum number of past positions in one request.
    package var batch: Int
    /// The maximum number of queued positions; beyond it, the backlog is thinned. 0 queues none.
    package var maxLocations: Int
    /// The maximum size of the backlog in bytes, at ``Backlog/recordSize`` per position.
    package var maxBytes: Int
    /// The maximum age of queued positions, more than zero; older ones are removed from the backlog.
    package var maxAge: Duration

    package init(
      endpoint: FleetEngineEndpoint, form: UpdateFormNegotiation.Configuration = .init(release: ""),
      floor: Duration = .seconds(5), backfillInterval: Duration = .seconds(10),
      batch: Int = 100, maxLocations: Int = 10_000, maxBytes: Int = 16_000_000, maxAge: Duration = .seconds(7 * 86_400)
    ) {
      self.endpoint = endpoint
      self.form = form
      self.floor = floor
      self.backfillInterval = backfillInterval
      self.batch = batch
      self.maxLocations = maxLocations
      self.maxBytes = maxBytes
      self.maxAge = maxAge
    }

    /// The capacity of the backlog: the lower of the limits by number and by bytes.
    var capacity: Int { min(maxLocations, maxBytes / Backlog.recordSize) }

    /// Whether requests are rate-limited. Only tests against a local server set a lower floor than Fleet Engine's.
    package var isRateLimited: Bool { floor >= .seconds(5) }
  }

  /// What happened: a position to send, a response, a change of the network, stored positions.
  package enum Input: Sendable {
    /// Send the newest position, with this state if the vehicle has one; the agent is idle, and the time has come.
    /// `isDue`: it is due, and must be delivered. `isQueued`: there is no fix, and it came from the backlog.
    case send(
      VehicleLocation, isDue: Bool, isQueued: Bool = false, state: VehicleState = .online, token: AccessToken)
    /// This position is due, but cannot be sent now.
    case due(VehicleLocation)
    /// Set the vehicle's state to OFFLINE; the agent is idle, and the time has come.
    case goOffline(token: AccessToken)
    /// A request has ended. Ignored unless it is the current one.
    case ended(id: UInt64, UpdateOutcome)
    /// The stored positions of this vehicle.
    case restored([Backlog.Record])
    /// The store's state.
    case store(BacklogStoreState)
    /// The store is to be read now.
    case readStore
    /// From now on there is no newest position of a receiver.
    case fixForgotten
    /// State of the previous run: its requests, oldest first; the start of this vehicle's floor; the timestamp of the
    /// newest position that Fleet Engine has.
    case restoredLimits([BootInstant], floorStart: BootInstant?, delivered: Timestamp?)
    /// What the previous run has found out about the form of updates, as text.
    case restoredUpdateForm(String)
    /// OFFLINE was accepted in the previous run, and no ONLINE may arrive after it.
    case restoredOffline
    /// Another process may have sent an update of this vehicle until now.
    case updatedElsewhere
    /// A request of the previous run may still arrive until this time.
    case mayArrive(RequestKind, until: BootInstant)
    /// Timestamps after this one were wrong.
    case misdated(after: Timestamp)
    /// The next positions have timestamps of another clock.
    case clockJumped
    /// Timestamps after this one are most likely wrong: nothing is removed yet, but no request is made for them.
    case suspected(after: Timestamp)
    /// Remove positions that are too old, and positions that are later than the newest fix, by reliable timestamps.
    case expire
    /// Cancel the current request: connections are dead, a pause begins, or the run ends.
    case cancel
    /// The network came up, or the machine resumed: resets the backoff.
    case networkUp
    /// A pause begins: the current request is cancelled, and a later outage is a new one.
    case paused
    /// From now on updates set ONLINE again.
    case onDuty
    /// The settings changed. If they name another vehicle, the state of this one is dropped, except in the store.
    indirect case configured(Configuration, isOtherVehicle: Bool)
  }

  /// An action for the shell to perform, or news for `VehicleAgent`. Each case carries all the data that it needs.
  package enum Effect: Equatable, Sendable {
    case send(id: UInt64, HTTPRequest)
    case cancel(id: UInt64)
    case backlog(Backlog.Change)
    /// `live` was sent at `sentAt` with `past` positions of the backlog. `isQueued`: as in `send`.
    case accepted(live: VehicleLocation, isQueued: Bool, sentAt: BootInstant, past: Int)
    /// The request with this token was not accepted.
    indirect case failed(UpdateFailure, AccessToken)
    /// Fleet Engine accepted OFFLINE.
    case wentOffline(sentAt: BootInstant)
    /// OFFLINE with this token was not accepted.
    indirect case offlineFailed(UpdateFailure, AccessToken)
    /// The server did not process the request, or may not accept its form: it is repeated at once, on another
    /// connection or in the plain form. This is not an outage.
    indirect case resends(UpdateFailure)
    /// What the next run has to know about the form of updates, and the result so far.
    case updateForm(String, UpdateFormNegotiation.Summary)
    /// Read the store; `restored` follows, unless the store has reported that it cannot be read.
    case readStore
    /// Delete positions of other vehicles from before this time from the store.
    case forgetOthers(before: Timestamp)
    /// The request will be repeated without past positions before it counts as failed.
    indirect case suspectsBacklog(UpdateFailure)
    /// An update that was rejected with past positions, for this reason, was accepted without them.
    indirect case rejectsBacklog(UpdateFailure)
  }

  /// What a request sets.
  package enum RequestKind: Int64, Sendable, CaseIterable {
    /// A position, and ONLINE if the vehicle's state follows the driver's duty.
    case position = 1
    /// OFFLINE alone.
    case offline = 2
    /// A position and OFFLINE.
    case offlinePosition = 3
  }
}
