// SPDX-License-Identifier: Apache-2.0
package import Authorization
package import Connectivity
package import ExternalInput
package import FleetEngine
package import Positioning
import Timekeeping

/// One thing that happened and that a person may want to read: what, and with which particulars. `Observability` has the
/// words, the priority and the MESSAGE_ID.
///
/// `suppressed` is how many like it were not reported since the last one was. The large payloads that come seldom are
/// indirect: every event, and every effect of the agent, is as large as the largest case.
package enum Event: Equatable, Sendable {
  // MARK: The service

  /// - Parameter vehicle: the vehicle's ID.
  case started(vehicle: String, version: String)
  /// As the crash has written it: the signal, the place and the version; then, after "; ", the callers.
  case crashed(String)
  /// With the reason.
  case stopping(Lifecycle.StopReason)
  /// - Parameter recording: what became of the fixes when a recording or route has ended; nil when the stop was asked for.
  indirect case stopped(undelivered: Int, recording: Statistics? = nil)
  case reloaded
  /// With the first mistake, its file and its line.
  case reloadRefused(String)
  /// The settings files have these mistakes, each on a line of its own; the last settings that led to an accepted update are
  /// in force.
  case settingsKept(String)
  /// A file or credential that the settings name is not there: which, and what to do.
  case settingsAwaited(String)
  /// With a sentence of its own.
  case settingsWarning(String)

  // MARK: Sources and fixes

  /// With the name of the source, and its number where there are several.
  case sourceOpened(String, SourceNumber? = nil)
  /// With the reason, and the source's number where there are several.
  case sourceLost(String, SourceNumber? = nil)
  /// The source of this index is used from now on.
  indirect case sourceChosen(Int, in: SourceOverview)
  /// None of several sources gives an accepted fix.
  indirect case noSourceGood(SourceOverview)
  /// Simulated positions go to a server on another machine.
  case simulatedSource(endpoint: String)
  indirect case firstFix(Fix)
  /// The first fix does not come.
  ///
  /// - after: since a source is read.
  /// - inView: satellites in view; nil when the receiver does not say.
  case noFix(after: Duration, inView: Int?, FixRejection?)
  /// With the last rejection, when that is why there is none.
  case fixLost(FixRejection?)
  case fixRegained(after: Duration)
  case fixRejected(FixRejection, suppressed: Int)

  // MARK: Updates

  /// - Parameters:
  ///   - after: how long it was offline; nil the first time.
  ///   - delivered: past positions that came with the update.
  ///   - waiting: past positions that come later.
  case online(after: Duration?, delivered: Int, waiting: Int)
  /// - Parameters:
  ///   - after: how long it has been so, when it was not reported at once.
  ///   - untold: short interruptions that were not reported.
  indirect case offline(UpdateFailure, after: Duration, untold: Int)
  /// - Parameter tries: since it was last reported.
  indirect case stillOffline(UpdateFailure, after: Duration, tries: Int)
  indirect case interrupted(UpdateFailure)
  /// - Parameters:
  ///   - past: past positions that went with it.
  ///   - at: nil where coordinates are not to be reported.
  case updateAccepted(past: Int, at: VehicleLocation?)

  // MARK: Tokens

  /// - Parameters:
  ///   - life: what is left of the token's life.
  ///   - isFirst: of this run.
  ///   - after: how long the provider had given none.
  case tokenObtained(life: Duration, AccessToken.LifetimeSource, isFirst: Bool, after: Duration?)
  /// - Parameter left: how long the previous token still serves; nil: there is none.
  indirect case tokenFailed(TokenFailure, left: Duration?, suppressed: Int)
  /// With the last failure, and with what is wrong with the token itself as far as it shows.
  indirect case tokenRefused(UpdateFailure?, of: FleetEngineService, String?, retry: Duration)
  /// A line of the token command, without secrets.
  case tokenRemark(ExternalText)
  case tokenRestored(life: Duration, AccessToken.LifetimeSource)
  /// With the cause for a person, which holds nothing of the cached token, and in one word.
  case tokenNotRestored(String, reason: String)
  /// With the cause.
  case tokenNotKept(String)

  // MARK: Backlog

  /// This many past positions have all arrived.
  case backfilled(Int)
  indirect case backfillRefused(UpdateFailure, suppressed: Int)
  /// - Parameter within: error of the thinned track against all of it, in metres.
  case positionsDropped(Int, Backlog.Removal, within: Double = 0, suppressed: Int)
  /// Positions of vehicles that the settings do not name had to make room.
  case othersDropped(Int)
  /// This many positions were on disk.
  case backlogRestored(Int)
  /// With the cause.
  case backlogInMemory(String, suppressed: Int)
  /// - Parameter count: positions that are pending.
  case backlogOnDisk(count: Int)
  /// - Parameter name: of the file that could not be used, from now on.
  case storeSetAside(name: String, why: String)
  /// With the directory of the file, which is gone, or another now.
  case storeReplaced(directory: String)

  // MARK: Clock, network and pause

  /// What the daemon's connections carried on a day that is over.
  indirect case trafficOfDay(TrafficLedger.Day)

  case clockUnset
  /// - Parameter untold: steps since the last that was reported.
  case clockStepped(Duration, untold: Int)
  case clockWrong(TimeJudge.Error)
  case clockRight
  /// The receiver's stamps are corrected from now on by another offset, more than zero when its clock is ahead; zero: not
  /// any more.
  case receiverClock(Duration, suppressed: Int)
  case networkLost(suppressed: Int)
  /// With the names of the interfaces.
  case networkBack([String], after: Duration)
  /// With what was asked of the system, and what it said.
  case networkUnwatched(String)
  case resumed(after: Duration)
  /// - Parameter isOld: whether the pause was in force before the daemon started.
  case paused(PauseNote, isOld: Bool)
  /// - Parameter after: nil when nobody knew the time.
  case pauseEnded(after: Duration?)
  /// With a sentence of its own.
  case pauseNotKept(String)
  /// Fleet Engine has accepted OFFLINE.
  ///
  /// - Parameter after: since the pause began; nil when that is not known, or there is none.
  case stateOffline(after: Duration?)
  /// Fleet Engine has not accepted OFFLINE, which is sent again.
  indirect case stateOfflineFailed(UpdateFailure, suppressed: Int)
  /// Fleet Engine has not accepted OFFLINE for this vehicle in time.
  ///
  /// - Parameter isRepeated: whether the next start sends it again.
  case stateOfflineMissing(vehicle: String, isRepeated: Bool)
}

/// Which of several sources, in the order of preference.
package struct SourceNumber: Equatable, Sendable {
  /// From 1.
  package var number: Int
  /// How many there are.
  package var count: Int

  /// - Parameter index: from 0.
  package init(_ index: Int, of count: Int) {
    number = index + 1
    self.count = count
  }
}

extension Event {
  /// What `FLEET_EVENT` of the journal names it by: the same in every release.
  package enum Kind: String, Sendable, CaseIterable {
    case started, crashed, stopping, stopped, reloaded, reloadRefused, settingsKept, settingsAwaited,
      settingsWarning
    case sourceOpened, sourceLost, sourceChosen, noSourceGood, simulatedSource
    case firstFix, noFix, fixLost, fixRegained, fixRejected
    case online, offline, stillOffline, interrupted, updateAccepted
    case tokenObtained, tokenFailed, tokenRefused, tokenRemark
    case tokenRestored, tokenNotRestored, tokenNotKept
    case backfilled, backfillRefused, positionsDropped
    case backlogRestored, backlogInMemory, backlogOnDisk, storeSetAside, storeReplaced
    case clockUnset, clockStepped, clockWrong, clockRight, receiverClock
    case networkLost, networkBack, networkUnwatched, resumed, trafficOfDay
    case paused, pauseEnded, pauseNotKept
    case stateOffline, stateOfflineFailed, stateOfflineMissing
  }

  /// Its name, without the particulars.
  package var kind: Kind {
    switch self {
    case .started: .started
    case .crashed: .crashed
    case .stopping: .stopping
    case .stopped: .stopped
    case .reloaded: .reloaded
    case .reloadRefused: .reloadRefused
    case .settingsKept: .settingsKept
    case .settingsAwaited: .settingsAwaited
    case .settingsWarning: .settingsWarning
    case .sourceOpened: .sourceOpened
    case .sourceLost: .sourceLost
    case .sourceChosen: .sourceChosen
    case .noSourceGood: .noSourceGood
    case .simulatedSource: .simulatedSource
    case .firstFix: .firstFix
    case .noFix: .noFix
    case .fixLost: .fixLost
    case .fixRegained: .fixRegained
    case .fixRejected: .fixRejected
    case .online: .online
    case .offline: .offline
    case .stillOffline: .stillOffline
    case .interrupted: .interrupted
    case .updateAccepted: .updateAccepted
    case .tokenObtained: .tokenObtained
    case .tokenFailed: .tokenFailed
    case .tokenRefused: .tokenRefused
    case .tokenRemark: .tokenRemark
    case .tokenRestored: .tokenRestored
    case .tokenNotRestored: .tokenNotRestored
    case .tokenNotKept: .tokenNotKept
    case .backfilled: .backfilled
    case .backfillRefused: .backfillRefused
    case .positionsDropped, .othersDropped: .positionsDropped
    case .backlogRestored: .backlogRestored
    case .backlogInMemory: .backlogInMemory
    case .backlogOnDisk: .backlogOnDisk
    case .storeSetAside: .storeSetAside
    case .storeReplaced: .storeReplaced
    case .clockUnset: .clockUnset
    case .clockStepped: .clockStepped
    case .clockWrong: .clockWrong
    case .clockRight: .clockRight
    case .receiverClock: .receiverClock
    case .networkLost: .networkLost
    case .networkBack: .networkBack
    case .networkUnwatched: .networkUnwatched
    case .resumed: .resumed
    case .trafficOfDay: .trafficOfDay
    case .paused: .paused
    case .pauseEnded: .pauseEnded
    case .pauseNotKept: .pauseNotKept
    case .stateOffline: .stateOffline
    case .stateOfflineFailed: .stateOfflineFailed
    case .stateOfflineMissing: .stateOfflineMissing
    }
  }
}
