// SPDX-License-Identifier: Apache-2.0
package import Authorization
package import FleetEngine
package import Positioning
package import Timekeeping

/// What the vehicle's agent does now, or what it waits for: the one answer to "what happens next?".
///
/// It is computed from the agent's state and the time, and changes nothing. Between now and the end of a wait the plan stays
/// the same, unless an input comes; at the end of the wait there is something to do.
package enum Plan: Equatable, Sendable {
  case act(Step)
  /// - `until`: when the next step is due; nil: only an input can move things on.
  /// - `next`: the next request to Fleet Engine, as far as it is known.
  case wait(until: BootInstant?, for: Cause, next: Next?)

  /// What the agent does of its own accord.
  package enum Step: Equatable, Sendable {
    /// A source was silent for too long, or has had its chance at the start: see which is used now.
    case electSource
    /// A single word about the time has lapsed: what it held back may go.
    case reviewTime
    /// No fix was accepted for a while: say so.
    case reportFixMissing
    /// The first request has ended, or is not coming soon: read what the store holds.
    case readStore
    /// A position is due and cannot be sent now: put it on the backlog.
    case enqueue
    /// A request is due and there is no token: ask the provider.
    case askForToken
    /// Send the newest position. `isOwed`: it was due, and must not be lost.
    case send(isOwed: Bool)
    /// The driver is off duty: set the vehicle's state to OFFLINE.
    case goOffline
    /// A run that ends has sent its last position: only OFFLINE is left to be sent.
    case leave
    /// Everything is delivered, or the time is up: end.
    case finish
  }

  /// The next request to Fleet Engine, if no input comes before.
  package enum Next: Equatable, Sendable {
    /// A position, at this time.
    case report(BootInstant)
    /// The same position again, at this time.
    case heartbeat(BootInstant)
    /// Another attempt after a failure, at this time.
    case retry(BootInstant)
    /// A position as soon as there is a token, which is asked for at this time; nil: it is being fetched.
    case token(BootInstant?)
  }

  /// The end of the wait; nil when there is something to do now, or nothing that a time would bring.
  package var until: BootInstant? {
    if case .wait(let until, _, _) = self { until } else { nil }
  }

  /// What is waited for; nil when there is something to do now.
  package var cause: Cause? {
    if case .wait(_, let cause, _) = self { cause } else { nil }
  }

  /// The next request to Fleet Engine; nil when none is planned, one is under way, or there is something to do first.
  package var next: Next? {
    if case .wait(_, _, let next) = self { next } else { nil }
  }
}

/// The first reason why the newest position is not sent at this moment, in the order in which a person wants to hear them.
package enum Cause: Equatable, Sendable {
  /// The daemon ends at `until`, or before; nil when it has ended. Then what it still waits for.
  indirect case stopping(until: BootInstant?, Cause?)
  /// The driver is off duty. `offline`: why Fleet Engine has not accepted OFFLINE yet; nil when it has, or need not.
  indirect case paused(PauseNote, offline: Cause?)
  /// No source is read; the text says why and what to do.
  case noSource(String)
  /// No fix has been accepted yet, or none since this time. Why the last one was rejected, if it was.
  case noFix(since: BootInstant?, FixRejection?)
  /// The used source gives accepted fixes, which must wait because of its clock.
  indirect case held(SourceOverview.Hold)
  /// The machine has had no network since then.
  case noNetwork(since: BootInstant)
  /// There is no token when it is needed. Why the provider gave none, and since when; nil while the first is being fetched.
  case noToken(TokenFailure?, since: BootInstant?)
  /// The last update was not accepted; since when none was.
  indirect case failed(UpdateFailure, since: BootInstant?)
  /// An update is due, and would come too soon.
  case rateLimited(until: BootInstant, by: Limit)
  /// A request has been under way since then.
  case inFlight(since: BootInstant)
  /// All is well: no update is due before then.
  case notDue(until: BootInstant)

  /// What keeps two requests apart.
  package enum Limit: String, Equatable, Sendable {
    /// Fleet Engine's least time between updates of a vehicle.
    case floor
    /// The daemon's own limit of requests in a minute.
    case attempts
    /// The machine has just woken, and waits for its receiver.
    case waking
    /// A request for OFFLINE may still arrive, and ONLINE must come after it.
    case offline
  }
}
