// SPDX-License-Identifier: Apache-2.0
package import SourceSelection
package import PositionBacklog
package import Authorization
package import ClockEstimation
package import Connectivity
package import ExternalInput
package import FleetEngine
package import Positioning

/// Something that happened and is worth a journal entry: its kind and its details. `Observability` has the text, the
/// priority and the MESSAGE_ID.
///
/// `suppressed` is the number of similar events that were not reported since the last report. Large payloads of rare
/// events are indirect, because every event, and every effect of the agent, is as large as the largest case.
package enum Event: Equatable, Sendable {
  // MARK: The service

  /// - Parameter vehicle: the vehicle's ID.
  case started(vehicle: String, version: String)
  /// The text of the crash report: the signal, the place and the version; then, after "; ", the callers.
  case crashed(String)
  /// With the reason.
  case stopping(Lifecycle.StopReason)
  /// - Parameters:
  ///   - isStored: whether the store has all undelivered positions for the next run.
  ///   - recording: statistics if a recording or route has ended; nil if a stop was requested.
  indirect case stopped(undelivered: Int, isStored: Bool = false, recording: Statistics? = nil)
  case reloaded
  /// With the first mistake, its file and line.
  case reloadRefused(String)
  /// The settings files have these mistakes, one per line; the last settings that led to an accepted update are in use.
  case settingsKept(String)
  /// The settings in force are reverted unless an update with them is accepted within this time, which passes only
  /// while delivery would be possible.
  ///
  /// - Parameter obstacle: why they cannot be reverted, so that a missing confirmation is only reported; nil: they are
  ///   reverted.
  case confirmationAwaited(Duration, obstacle: String?)
  /// An update with the settings that needed confirmation was accepted.
  case settingsConfirmed
  /// The settings were reverted to the last ones that worked; with the reason.
  case settingsTakenBack(String)
  /// No update with the settings was accepted in time, with the cause; they remain in force because of the obstacle.
  case settingsUnconfirmed(String, obstacle: String)
  /// A file or credential that the settings name is missing: which one, and what to do.
  case settingsAwaited(String)
  /// The warning's sentence.
  case settingsWarning(String)

  // MARK: Sources and fixes

  /// The name of the source, and its number if there are several.
  case sourceOpened(String, SourceNumber? = nil)
  /// The reason, and the source's number if there are several.
  case sourceLost(String, SourceNumber? = nil, suppressed: Int = 0)
  /// The source with this index was selected.
  indirect case sourceChosen(Int, in: SourceOverview)
  /// None of several sources has an accepted fix.
  indirect case noSourceGood(SourceOverview)
  /// Simulated positions are sent to a server on another machine.
  case simulatedSource(endpoint: String)
  indirect case firstFix(Fix)
  /// There is no first fix.
  ///
  /// - after: how long a source has been read.
  /// - inView: satellites in view; nil if the receiver does not report them.
  case noFix(after: Duration, inView: Int?, FixRejection?)
  /// With the last rejection, if fixes were rejected.
  case fixLost(FixRejection?)
  case fixRegained(after: Duration)
  case fixRejected(FixRejection, suppressed: Int)

  // MARK: Updates

  /// - Parameters:
  ///   - after: the duration of the outage; nil for the first update.
  ///   - delivered: the number of past positions in the update.
  ///   - pending: the number of past positions still pending.
  case online(after: Duration?, delivered: Int, pending: Int)
  /// - Parameters:
  ///   - after: the duration of the outage so far, if it was not reported at once.
  ///   - suppressed: the number of short interruptions that were not reported.
  indirect case offline(UpdateFailure, after: Duration, suppressed: Int)
  /// - Parameter attempts: attempts since the last report.
  indirect case stillOffline(UpdateFailure, after: Duration, attempts: Int)
  indirect case interrupted(UpdateFailure)
  /// - Parameters:
  ///   - past: the number of past positions in the update.
  ///   - location: nil if coordinates must not be logged.
  case updateAccepted(past: Int, location: VehicleLocation?)

  /// From now on this release sends plain updates to this server, which has rejected compact ones, most recently with
  /// this HTTP status, and accepted plain ones.
  case compactUpdatesRefused(httpStatus: Int)

  // MARK: Tokens

  /// - Parameters:
  ///   - life: the remaining lifetime.
  ///   - isFirst: whether it is the first of this run.
  ///   - after: how long the provider had been failing; nil if it had not.
  case tokenObtained(life: Duration, AccessToken.LifetimeSource, isFirst: Bool, after: Duration?)
  /// - Parameter left: the remaining lifetime of the previous token; nil: there is none.
  indirect case tokenFailed(TokenFailure, left: Duration?, suppressed: Int)
  /// The last failure, including what is wrong with the token itself.
  indirect case tokenRefused(UpdateFailure?, retryDelay: Duration)
  /// A line of the token command's standard error, without secrets.
  case tokenRemark(ExternalText)
  case tokenRestored(life: Duration, AccessToken.LifetimeSource)
  /// The cause, as text that contains nothing of the cached token, and as a name.
  case tokenNotRestored(String, reason: String)
  /// With the cause.
  case tokenNotKept(String)

  // MARK: Backlog

  /// The last of this many past positions was delivered.
  case backfilled(Int)
  indirect case backfillRefused(UpdateFailure, suppressed: Int)
  /// - Parameter interpolationError: of the thinned track, in metres.
  case positionsDropped(Int, Backlog.Removal, interpolationError: Double = 0, suppressed: Int)
  /// Positions of vehicles that the settings do not name were dropped to make room.
  case othersDropped(Int)
  /// The number of positions that were read from disk.
  case backlogRestored(Int)
  /// With the cause.
  case backlogInMemory(String, suppressed: Int)
  /// - Parameter count: pending positions.
  case backlogOnDisk(count: Int)
  /// - Parameter name: the new name of the unusable file.
  case storeSetAside(name: String, why: String)
  /// The directory of the file, which was removed or replaced.
  case storeReplaced(directory: String)

  // MARK: Clock, network and pause

  /// The daily traffic of the daemon's connections.
  indirect case trafficOfDay(TrafficLedger.Day)

  case clockUnset
  /// - Parameter suppressed: steps since the last report.
  case clockStepped(Duration, suppressed: Int)
  case clockWrong(TimeEstimator.ClockError)
  case clockRight
  /// The receiver's timestamps are corrected by this new offset; positive: its clock is ahead; zero: they are no longer
  /// corrected.
  case receiverClock(Duration, suppressed: Int)
  case networkLost(suppressed: Int)
  /// The names of the interfaces.
  case networkBack([String], after: Duration)
  /// The system call that failed, and its error.
  case networkUnwatched(String)
  case resumed(after: Duration)
  /// Another process on this machine has locked the vehicle.
  case vehicleInUse(by: VehicleHolder)
  /// The other process has released the vehicle, and this one has locked it.
  case vehicleFree(after: Duration)
  /// It cannot be determined whether another process has the vehicle: the reason, and what to do.
  case vehicleNotLocked(String)
  /// - Parameter isRestored: whether the pause began before the daemon started.
  case paused(PauseRecord, isRestored: Bool)
  /// - Parameter after: nil if the duration is unknown.
  case pauseEnded(after: Duration?)
  /// The reason.
  case pauseNotKept(String)
  /// - Parameter isRestored: whether the driver went off duty before the daemon started.
  case offDuty(DutyRecord, isRestored: Bool)
  /// - Parameters:
  ///   - after: nil if the duration is unknown.
  ///   - isPaused: whether ONLINE waits for the end of a pause.
  case onDuty(after: Duration?, isPaused: Bool)
  /// The reason.
  case dutyNotKept(String)
  /// Fleet Engine has accepted OFFLINE.
  ///
  /// - Parameter after: the time since the pause began, or the driver went off duty; nil if unknown, or if neither is
  ///   the case.
  case stateOffline(after: Duration?)
  /// Fleet Engine did not accept OFFLINE, which will be sent again.
  indirect case stateOfflineFailed(UpdateFailure, suppressed: Int)
  /// Fleet Engine did not accept OFFLINE for this vehicle in time.
  ///
  /// - Parameter isSentAtNextStart: whether the next start sends it again.
  case stateOfflineMissing(vehicle: String, isSentAtNextStart: Bool)
}

/// The number of a source, in order of priority.
package struct SourceNumber: Equatable, Sendable {
  /// From 1.
  package var number: Int
  /// The number of sources.
  package var count: Int

  /// - Parameter index: from 0.
  package init(_ index: Int, of count: Int) {
    number = index + 1
    self.count = count
  }
}

extension Event {
  /// The value of `FLEET_EVENT` in the journal, stable across releases.
  package enum Kind: String, Sendable, CaseIterable {
    case started, crashed, stopping, stopped, reloaded, reloadRefused, settingsKept,
      confirmationAwaited, settingsConfirmed, settingsTakenBack, settingsUnconfirmed, settingsAwaited, settingsWarning
    case sourceOpened, sourceLost, sourceChosen, noSourceGood, simulatedSource
    case firstFix, noFix, fixLost, fixRegained, fixRejected
    case online, offline, stillOffline, interrupted, updateAccepted, compactUpdatesRefused
    case tokenObtained, tokenFailed, tokenRefused, tokenRemark
    case tokenRestored, tokenNotRestored, tokenNotKept
    case backfilled, backfillRefused, positionsDropped
    case backlogRestored, backlogInMemory, backlogOnDisk, storeSetAside, storeReplaced
    case clockUnset, clockStepped, clockWrong, clockRight, receiverClock
    case networkLost, networkBack, networkUnwatched, resumed, trafficOfDay
    case vehicleInUse, vehicleFree, vehicleNotLocked
    case paused, pauseEnded, pauseNotKept, offDuty, onDuty, dutyNotKept
    case stateOffline, stateOfflineFailed, stateOfflineMissing
  }
}
