// SPDX-License-Identifier: Apache-2.0
import Authorization
import Daemon
import Delivery
import FixSources
import FleetEngine
import HTTPMessages
import PositionBacklog
import Positioning
import SourceSelection
import Vehicle

/// The cases that a run covers, derived from inputs, effects, plans and outcomes; nothing in the core counts them.
struct Coverage {
  var causes = Cases<CauseCase>("cause")
  var next = Cases<NextCase>("next")
  var steps = Cases<StepCase>("step")
  var categories = Cases<UpdateFailure.Category>("category")
  var transports = Cases<TransportFailure.Kind>("transport")
  var forms = Cases<FormCase>("form")
  var tokens = Cases<TokenCase>("token")
  var rejections = Cases<FixRejection>("rejection")
  var removals = Cases<Backlog.Removal>("removal")
  var sessions = Cases<SessionCase>("session")
  var lines = Cases<LineCase>("line")
  var stores = Cases<StoreCase>("store")
  var files = Cases<FileCase>("file")
  var settings = Cases<SettingsCase>("settings")
  var responses = Cases<ResponseCase>("response")
  var connections = Cases<ConnectionCase>("connection")
  var networks = Cases<NetworkCase>("network")
  var duties = Cases<DutyCase>("duty")
  var endings = Cases<EndingCase>("ending")
  var events = Cases<Event.Kind>("event")
  var acts = Cases<ActCase>("act")
  var faults = Cases<FaultCase>("fault")
  var badConnections = Cases<Fault.BadConnection>("badConnection")

  private var groups: [any CaseGroup] {
    [
      causes, next, steps, categories, transports, forms, tokens, rejections, removals, sessions, lines, stores, files,
      settings, responses, connections, networks, duties, endings, events, acts, faults, badConnections,
    ]
  }

  /// All cases, in order, each as `group case`, and whether the run covered it.
  var list: [(name: String, isCovered: Bool)] { Array(zip(Coverage.names, groups.flatMap(\.areCovered))) }

  /// The names are the same in each run, and are made only once, because making them takes longer than recording which
  /// cases are covered.
  private static let names = Coverage().groups.flatMap(\.names)
}

/// The cases of one kind.
private protocol CaseGroup {
  var names: [String] { get }
  /// Whether each case is covered, in the order of `names`.
  var areCovered: [Bool] { get }
}

/// The cases of one kind, and which of them are covered.
struct Cases<Case: CaseIterable & Hashable>: CaseGroup {
  private let group: String
  private var covered: Set<Case> = []
  /// The case that occurred last: most occur many times in a row.
  private var last: Case?

  init(_ group: String) {
    self.group = group
  }

  mutating func cover(_ one: Case) {
    guard one != last else { return }
    last = one
    covered.insert(one)
  }

  fileprivate var names: [String] { Case.allCases.map { "\(group) \($0)" } }

  fileprivate var areCovered: [Bool] { Case.allCases.map { covered.contains($0) } }
}

// Cases for which the core has no list. If the core gets a new case, this file does not compile until it is added.

/// The reasons why the agent waits.
enum CauseCase: CaseIterable {
  case stopping, stopped, vehicleInUse, paused, goingOffline, noSource, noFixYet, noFixAnyMore, behind, contradicted,
    noNetwork, firstToken, noToken, failed, floor, attempts, waking, inFlight, notDue

  init(_ cause: Cause) {
    self =
      switch cause {
      case .stopping(until: .some, _): .stopping
      case .stopping(until: nil, _): .stopped
      case .vehicleInUse: .vehicleInUse
      case .paused(_, offline: nil): .paused
      case .paused(_, offline: .some): .goingOffline
      case .noSource: .noSource
      case .noFix(since: nil, _): .noFixYet
      case .noFix(since: .some, _): .noFixAnyMore
      case .held(.behind): .behind
      case .held(.contradicted): .contradicted
      case .noNetwork: .noNetwork
      case .noToken(nil, _): .firstToken
      case .noToken(.some, _): .noToken
      case .failed: .failed
      case .rateLimited(_, by: .floor): .floor
      case .rateLimited(_, by: .attempts): .attempts
      case .rateLimited(_, by: .waking): .waking
      case .inFlight: .inFlight
      case .notDue: .notDue
      }
  }
}

/// The next request to Fleet Engine.
enum NextCase: CaseIterable {
  case none, report, heartbeat, retry, offline, tokenLater, tokenFetched

  init(_ next: Plan.Next?) {
    self =
      switch next {
      case nil: .none
      case .report: .report
      case .heartbeat: .heartbeat
      case .retry: .retry
      case .offline: .offline
      case .token(.some): .tokenLater
      case .token(nil): .tokenFetched
      }
  }
}

/// What the agent does at the end of a wait.
enum StepCase: CaseIterable {
  case selectSource, reviewTime, reportFixMissing, readStore, lockVehicle, enqueue, askForToken, sendDue, send,
    goOffline, setOffline, finish

  init(_ step: Plan.Step) {
    self =
      switch step {
      case .selectSource: .selectSource
      case .reviewTime: .reviewTime
      case .reportFixMissing: .reportFixMissing
      case .readStore: .readStore
      case .lockVehicle: .lockVehicle
      case .enqueue: .enqueue
      case .askForToken: .askForToken
      case .send(isDue: true): .sendDue
      case .send(isDue: false): .send
      case .goOffline: .goOffline
      case .setOffline: .setOffline
      case .finish: .finish
      }
  }
}

/// The form in which updates are sent.
enum FormCase: CaseIterable {
  case off, untested, accepted, fallback, fallbackUntilAccepted, rejected

  init(_ summary: UpdateFormNegotiation.Summary) {
    self =
      switch summary {
      case .off: .off
      case .untested: .untested
      case .accepted: .accepted
      case .fallback(until: .some): .fallback
      case .fallback(until: nil): .fallbackUntilAccepted
      case .rejected: .rejected
      }
  }
}

/// The reason why there is no token.
enum TokenCase: CaseIterable {
  case missingAuthorizationContext, missingData, transport, status, notJSON, missingField, serviceAccountKey,
    unknownLifetime, notJWT, missingClaim, wrongVehicle, wrongContext, expired, unchanged, program, file

  init(_ reason: TokenFailure.Reason) {
    self =
      switch reason {
      case .missingAuthorizationContext: .missingAuthorizationContext
      case .missingData: .missingData
      case .transport: .transport
      case .status: .status
      case .notJSON: .notJSON
      case .missingField: .missingField
      case .serviceAccountKey: .serviceAccountKey
      case .unknownLifetime: .unknownLifetime
      case .notJWT: .notJWT
      case .missingClaim: .missingClaim
      case .wrongVehicle: .wrongVehicle
      case .wrongContext: .wrongContext
      case .expired: .expired
      case .unchanged: .unchanged
      case .program: .program
      case .file: .file
      }
  }
}

/// The reports of each kind of source, and that its fixes are not needed (`unneeded`).
struct SessionCase: CaseIterable, Hashable, CustomStringConvertible {
  enum Kind: CaseIterable { case serial, autobaud, datagrams, gpsd, modem, pipe, file }
  enum State: CaseIterable { case fix, reading, detecting, lost, sky, ended, unneeded }

  var kind: Kind
  var state: State

  static var allCases: [SessionCase] {
    Kind.allCases.flatMap { kind in State.allCases.map { SessionCase(kind: kind, state: $0) } }
  }

  var description: String { "\(kind).\(state)" }
}

extension SessionCase.State {
  init(_ report: SourceReport) {
    self =
      switch report {
      case .fix: .fix
      case .reading: .reading
      case .detecting: .detecting
      case .lost: .lost
      case .sky: .sky
      case .ended: .ended
      }
  }
}

/// The operations on the line of a source.
enum LineCase: CaseIterable {
  case open, setBaud, close, pause, read, watch, awaitBytes, send, rejoin, listModems, enableModem, locateModem, end,
    endAfterRequest

  init(_ operation: LineOperation) {
    self =
      switch operation {
      case .open: .open
      case .setBaud: .setBaud
      case .close: .close
      case .pause: .pause
      case .read: .read
      case .watch: .watch
      case .awaitBytes: .awaitBytes
      case .send: .send
      case .rejoin: .rejoin
      case .modem(.list): .listModems
      case .modem(.enable): .enableModem
      case .modem(.locate): .locateModem
      case .end(after: nil): .end
      case .end(after: .some): .endAfterRequest
      }
  }
}

/// The backlog's store.
enum StoreCase: CaseIterable {
  case off, unread, healthy, memoryOnly

  init(_ state: BacklogStoreState) {
    self =
      switch state {
      case .off: .off
      case .unread: .unread
      case .healthy: .healthy
      case .memoryOnly: .memoryOnly
      }
  }
}

/// The operations on the store's file, and their outcomes.
enum FileCase: CaseIterable {
  case open, replace, commit, makeRoom, read, forgetOthers, close
  case opened, openedAfterSetAside, openedAnother, committed, madeRoom, wasRead, readDamaged, readOrphaned,
    readExcess, forgotten, full, unusable, replaced, failed

  init(_ operation: StoreAgent.Operation) {
    self =
      switch operation {
      case .open: .open
      case .replace: .replace
      case .commit: .commit
      case .makeRoom: .makeRoom
      case .read: .read
      case .forgetOthers: .forgetOthers
      case .close: .close
      }
  }

  init(_ outcome: StoreAgent.Outcome) {
    self =
      switch outcome {
      case .opened(nil): .opened
      case .opened(.some): .openedAfterSetAside
      case .openedAnother: .openedAnother
      case .committed: .committed
      case .madeRoom: .madeRoom
      case .read(_, let damaged, _, _) where !damaged.isEmpty: .readDamaged
      case .read(_, _, let orphaned, _) where orphaned > 0: .readOrphaned
      case .read(_, _, _, let excess) where excess > 0: .readExcess
      case .read: .wasRead
      case .forgotten: .forgotten
      case .failed(let failure):
        switch failure.kind {
        case .full: .full
        case .unusable: .unusable
        case .replaced: .replaced
        case .other: .failed
        }
      }
  }
}

/// The outcomes of reading the settings.
enum SettingsCase: CaseIterable {
  case valid, validAndInUse, missing, invalid, unusable
  case keptNone, keptValid, keptMissing, keptInvalid, keptUnusable
  /// The settings were stored as the last working ones.
  case proven

  init(_ outcome: SettingsOutcome) {
    self =
      switch outcome {
      case .valid(_, lockedBy: nil): .valid
      case .valid: .validAndInUse
      case .missing: .missing
      case .invalid: .invalid
      case .unusable: .unusable
      }
  }

  init(_ outcome: KeptSettingsOutcome) {
    self =
      switch outcome {
      case .none: .keptNone
      case .read(.valid): .keptValid
      case .read(.missing): .keptMissing
      case .read(.invalid): .keptInvalid
      case .read(.unusable): .keptUnusable
      }
  }
}

/// The responses on the control socket.
enum ResponseCase: CaseIterable {
  case status, metrics, done, doneWithRemark, monitoring, monitoringPositions, stopping, settingsRefused,
    settingsMissing, noDuty, nothing

  init(_ response: Daemon.Response) {
    self =
      switch response {
      case .status: .status
      case .metrics: .metrics
      case .done(remark: nil): .done
      case .done: .doneWithRemark
      case .monitoring: .monitoring
      case .monitoringPositions: .monitoringPositions
      case .refused(.stopping, _): .stopping
      case .refused(.settingsRefused, _): .settingsRefused
      case .refused(.settingsMissing, _): .settingsMissing
      case .refused(.duty, _): .noDuty
      case .refused(.send, _): .nothing
      }
  }
}

/// The connection on which an update is sent.
enum ConnectionCase: CaseIterable {
  /// There was no connection, or it was lost.
  case new
  /// The connection has carried an update before, without or with a response.
  case used, answered
  /// The connection replaces an open one that is bad, or on which the server accepts no more requests.
  case replaced, afterGoAway
}

/// The state of the machine's network.
enum NetworkCase: CaseIterable { case usable, absent, isolated, suspended }

/// The driver's duty and pause, and the vehicle's state at Fleet Engine.
enum DutyCase: CaseIterable {
  case working
  /// In a pause: the vehicle has no state; OFFLINE is pending; OFFLINE is accepted.
  case paused, pausedPending, pausedOffline
  case offDutyPending, offDutyOffline
  /// Off duty and paused.
  case pausedOffDutyPending, pausedOffDutyOffline
}

/// How a run ends.
enum EndingCase: CaseIterable {
  case stopped, restarting, delivered, undelivered, rejected
  /// The daemon never had settings.
  case stoppedWaiting, restartingWaiting, unavailable, failed

  init(_ ending: Lifecycle.Ending) {
    self =
      switch ending.result {
      case .stopped: .stopped
      case .restarting: .restarting
      case .delivered: .delivered
      case .undelivered: .undelivered
      case .rejected: .rejected
      }
  }

  init(_ exit: Daemon.Exit) {
    self =
      switch exit {
      case .stopped: .stoppedWaiting
      case .restarting: .restartingWaiting
      case .unavailable: .unavailable
      case .failed: .failed
      }
  }
}

/// Actions from outside the daemon.
enum ActCase: CaseIterable {
  case networkUp, networkGone, networkBack, suspend, reload, stop, sourceEnded, pause, resume, goOffline, goOnline,
    clockStep, clockSet, askStatus, askMetrics, askReload, askConfirmedReload, askDriverCommand, askSendNow, askMonitor,
    askMonitorPositions, edit, deleteDirectory
  case powerCut, kill

  init(_ act: Scenario.Act) {
    self =
      switch act {
      case .networkUp: .networkUp
      case .network(false): .networkGone
      case .network(true): .networkBack
      case .suspend: .suspend
      case .reload: .reload
      case .stop: .stop
      case .sourceEnded: .sourceEnded
      case .pause: .pause
      case .resume: .resume
      case .goOffline: .goOffline
      case .goOnline: .goOnline
      case .clockStep: .clockStep
      case .clockSet: .clockSet
      case .ask(.status): .askStatus
      case .ask(.metrics): .askMetrics
      case .ask(.reload): .askReload
      case .ask(.confirmedReload): .askConfirmedReload
      case .ask(.driverCommand): .askDriverCommand
      case .ask(.sendNow): .askSendNow
      case .ask(.monitor): .askMonitor
      case .ask(.monitorPositions): .askMonitorPositions
      case .edit: .edit
      case .deleteDirectory: .deleteDirectory
      case .powerCut: .powerCut
      case .kill: .kill
      }
  }
}

/// Faults.
enum FaultCase: CaseIterable {
  case nameServersDead, unresolved, unreachable, silent, loss, answersLost, dropsPast, captivePortal,
    certificateNotYetValid, latency, answersLate, bandwidth
  case slow, answers, answersSometimes, refusesCompact, refusesCompactWithPage, deniesPast, rejectsPast, failsPast,
    failsPositions, mostPast, mostBytes, rejectsLivePositions, rejectsPositions, refusesRepeats,
    refusesOfflinePositions, revoked, serverClock, closedUnanswered, badConnections
  case providerClock, providerUndated, providerDown, providerAnswers, providerWebPage, providerForeign, providerStale
  case noFix, ahead, behind, undated, jump, twice, swapped, heldBack, noTime
  case noise, bytesLost, speed, unplugged, mute
  case otherDaemon
  case settingsWrong, settingsUnreadable, settingsDeleted, credentialMissing, settingsUnusable
  case diskFull, diskFails, diskDamaged, diskDeleted

  init(_ kind: Fault.Kind) {
    self =
      switch kind {
      case .nameServersDead: .nameServersDead
      case .unresolved: .unresolved
      case .unreachable: .unreachable
      case .silent: .silent
      case .loss: .loss
      case .answersLost: .answersLost
      case .dropsPast: .dropsPast
      case .captivePortal: .captivePortal
      case .certificateNotYetValid: .certificateNotYetValid
      case .latency: .latency
      case .answersLate: .answersLate
      case .bandwidth: .bandwidth
      case .slow: .slow
      case .answers: .answers
      case .answersSometimes: .answersSometimes
      case .refusesCompact(_, .status): .refusesCompact
      case .refusesCompact(_, .page): .refusesCompactWithPage
      case .deniesPast: .deniesPast
      case .rejectsPast: .rejectsPast
      case .failsPast: .failsPast
      case .failsPositions: .failsPositions
      case .mostPast: .mostPast
      case .mostBytes: .mostBytes
      case .rejectsLivePositions: .rejectsLivePositions
      case .rejectsPositions: .rejectsPositions
      case .refusesRepeats: .refusesRepeats
      case .refusesOfflinePositions: .refusesOfflinePositions
      case .revoked: .revoked
      case .serverClock: .serverClock
      case .closedUnanswered: .closedUnanswered
      case .badConnections: .badConnections
      case .providerClock: .providerClock
      case .providerUndated: .providerUndated
      case .providerDown: .providerDown
      case .providerAnswers: .providerAnswers
      case .providerWebPage: .providerWebPage
      case .providerForeign: .providerForeign
      case .providerStale: .providerStale
      case .noFix: .noFix
      case .ahead: .ahead
      case .behind: .behind
      case .undated: .undated
      case .jump: .jump
      case .twice: .twice
      case .swapped: .swapped
      case .heldBack: .heldBack
      case .noTime: .noTime
      case .noise: .noise
      case .bytesLost: .bytesLost
      case .speed: .speed
      case .unplugged: .unplugged
      case .mute: .mute
      case .otherDaemon: .otherDaemon
      case .settingsWrong: .settingsWrong
      case .settingsUnreadable: .settingsUnreadable
      case .settingsDeleted: .settingsDeleted
      case .credentialMissing: .credentialMissing
      case .settingsUnusable: .settingsUnusable
      case .diskFull: .diskFull
      case .diskFails: .diskFails
      case .diskDamaged: .diskDamaged
      case .diskDeleted: .diskDeleted
      }
  }
}
