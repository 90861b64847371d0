// SPDX-License-Identifier: Apache-2.0
package import SourceSelection
package import Delivery
package import Authorization
package import FleetEngine
package import Positioning
package import Timekeeping

/// What the vehicle's agent does now, or what it waits for.
///
/// A pure function of the agent's state and the time. During a wait the plan stays the same unless there is an input;
/// at the end of the wait there is a step to do.
package enum Plan: Equatable, Sendable {
  case act(Step)
  /// - `until`: the end of the wait; nil: only an input can end it.
  /// - `next`: the next request to Fleet Engine, if known.
  case wait(until: BootInstant?, for: Cause, next: Next?)

  /// A step that the agent takes without an input.
  package enum Step: Equatable, Sendable {
    /// A source was silent for too long, or its start deadline has passed: select the source to use.
    case selectSource
    /// An unconfirmed time has expired: send what was suppressed because of it.
    case reviewTime
    /// No fix was accepted for some time: report it.
    case reportFixMissing
    /// The first request has ended, or none was made in time: read the store.
    case readStore
    /// Another process has locked the vehicle: try again to lock it.
    case lockVehicle
    /// A position is due and cannot be sent now: add it to the backlog.
    case enqueue
    /// A request is due and there is no token: request one from the provider.
    case askForToken
    /// Send the newest position. `isDue`: it is due, and must be delivered.
    case send(isDue: Bool)
    /// During a pause, off duty, or at the end of a run: set the vehicle's state to OFFLINE.
    case goOffline
    /// The last position of a run was sent: only OFFLINE is pending.
    case setOffline
    /// Everything is delivered, or the time is up: end the run.
    case finish
  }

  /// The next request to Fleet Engine, if there is no input before then.
  package enum Next: Equatable, Sendable {
    /// A position, at this time.
    case report(BootInstant)
    /// The same position again, at this time.
    case heartbeat(BootInstant)
    /// Another attempt after a failure, at this time.
    case retry(BootInstant)
    /// OFFLINE, at this time.
    case offline(BootInstant)
    /// A position as soon as there is a token, which is requested at this time; nil: it is being fetched.
    case token(BootInstant?)

    /// When the request is sent, or the token for it is requested; nil while the token is being fetched.
    package var time: BootInstant? {
      switch self {
      case .report(let at), .heartbeat(let at), .retry(let at), .offline(let at): at
      case .token(let at): at
      }
    }
  }

  /// The end of the wait; nil if there is a step to do now, or only an input can end it.
  package var until: BootInstant? {
    if case .wait(let until, _, _) = self { until } else { nil }
  }

  /// What the agent waits for; nil if there is a step to do now.
  package var cause: Cause? {
    if case .wait(_, let cause, _) = self { cause } else { nil }
  }

  /// The next request to Fleet Engine; nil if none is planned, one is in flight, or there is a step to do first.
  package var next: Next? {
    if case .wait(_, _, let next) = self { next } else { nil }
  }
}

/// The first reason why the newest position is not sent now. The order of the cases is their precedence for reports.
package enum Cause: Equatable, Sendable {
  /// The daemon stops at `until` or earlier; nil if it has stopped. The cause is what it still waits for.
  indirect case stopping(until: BootInstant?, Cause?)
  /// Another process on this machine has locked the vehicle; since this time, nothing has been sent.
  case vehicleInUse(by: VehicleHolder, since: BootInstant)
  /// There is a pause. `offline`: why Fleet Engine has not accepted OFFLINE yet; nil if it has, or if OFFLINE is not
  /// sent.
  indirect case paused(PauseRecord, offline: Cause?)
  /// No source is read; the text has the cause and the remedy.
  case noSource(String)
  /// No fix has been accepted yet, or none since this time. The last rejection, if any.
  case noFix(since: BootInstant?, FixRejection?)
  /// The used source has accepted fixes, which are held because of its clock.
  indirect case held(SourceOverview.Hold)
  /// The machine has had no network since this time.
  case noNetwork(since: BootInstant)
  /// There is no valid token. Why the provider failed, and when it began to fail; nil while the first token is being
  /// fetched.
  case noToken(TokenFailure?, since: BootInstant?)
  /// The last update failed. `since`: when updates began to fail.
  indirect case failed(UpdateFailure, since: BootInstant?)
  /// An update is due, but rate-limited.
  case rateLimited(until: BootInstant, by: RequestLimit)
  /// A request is in flight, sent at this time.
  case inFlight(since: BootInstant)
  /// No update is due before this time.
  case notDue(until: BootInstant)
}
