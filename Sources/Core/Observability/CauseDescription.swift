// SPDX-License-Identifier: Apache-2.0
import SourceSelection
import Delivery
import Vehicle
import ExternalInput
import FleetEngine
import Positioning
import Timekeeping

/// How one cause is described wherever it is shown: STATUS=, `status`, `status --json` and `explain`.
struct CauseDescription: Equatable {
  /// How a terminal shows it.
  enum Level: String {
    case good, warning, bad
  }

  /// One word for a script.
  var reason: String
  /// A few words that begin the line of `systemctl status` and of `status`; without a capital letter.
  var label: String
  var level: Level
  /// What follows the label, beginning with the separator: ` for 4 min`, `: /dev/ttyUSB0 is not there`.
  var detail: Sentence = ""
  /// What to do, as a sentence without its full stop; nil if there is nothing to do.
  var advice: String?
  /// The clause of `explain` after what happened to the last fix; nil if there is nothing to add.
  var clause: Sentence?
}

extension VehicleAgent.Snapshot {
  /// The description of what the agent is waiting for.
  var causeDescription: CauseDescription { description(of: cause) }

  /// The table of causes.
  private func description(of cause: Cause) -> CauseDescription {
    switch cause {
    case .stopping(let end, let inner):
      let limit: Sentence = end.map { " within \(delay(until: $0))" } ?? ""
      return CauseDescription(
        reason: "stopping", label: "stopping", level: .warning, detail: limit + obstacle(inner),
        clause: "the daemon stops\(limit)\(obstacle(inner))\(attemptClause("next attempt"))")
    case .vehicleInUse(let holder, let since):
      let time = duration(since, atLeast: .seconds(10))
      return CauseDescription(
        reason: "vehicleInUse", label: "vehicle in use", level: .bad,
        detail: " by \(holder.phrase) on this machine\(time), so nothing is sent: \(VehicleHolder.advice)",
        advice:
          "If a settings file was copied, give it the vehicle_id of its own vehicle, then: fleet-locationctl reload",
        clause:
          "the vehicle has been in use by \(holder.phrase) on this machine\(time), and nothing is sent until that "
          + "ends: \(VehicleHolder.advice)")
    case .paused(let pause, let offline?):
      let pending: Sentence = "OFFLINE not accepted yet\(offlineObstacle(offline))"
      return CauseDescription(
        reason: "offlinePending", label: "paused", level: .warning,
        detail: "\(pause.since.phrase), fleet-locationctl resume ends it; \(pending)",
        advice: "OFFLINE is repeated until it is accepted; fleet-locationctl explain says what it waits for",
        clause: "a pause is in force\(pause.since.phrase): no position is sent or stored until "
          + "fleet-locationctl resume; \(pending)\(attemptClause("next attempt"))")
    case .paused(let pause, nil):
      return CauseDescription(
        reason: "paused", label: "paused", level: .warning,
        detail: "\(pause.since.phrase), fleet-locationctl resume ends it",
        clause: "a pause is in force\(pause.since.phrase): no position is sent or stored until "
          + "fleet-locationctl resume")
    case .noSource(let why):
      return CauseDescription(
        reason: "noSource", label: "no source", level: sources.isStarting ? .warning : .bad, detail: ": \(why)",
        advice: "\(ManualPage.receivers) says what to do for each kind of receiver",
        clause: "no source is read: \(why)")
    case .noFix(let since, let rejection):
      let refusal = rejection.map { " (rejected: \($0.sentence.text))" } ?? ""
      let satellites = fixMissingSince == nil ? "" : sources.satellitesInView.satellitesPhrase
      return CauseDescription(
        reason: rejection?.rawValue ?? "noFix", label: "waiting for a fix", level: .warning,
        detail: "\(duration(fixMissingSince, atLeast: .seconds(10)))\(satellites)\(refusal)",
        advice: rejection.flatMap(\.advice)?.sentenceCase
          ?? SkyAdvice.text(inView: fixMissingSince == nil ? nil : sources.satellitesInView),
        clause: since == nil ? firstFixWait : "no other has been accepted since")
    case .held(let hold):
      let name = sources.usedSource?.name ?? "the source"
      return CauseDescription(
        reason: "held", label: "waiting for a newer fix", level: .warning, detail: " of \(name): \(hold.phrase)",
        advice: "This ends by itself when its clock has caught up or is confirmed",
        clause: "fixes of \(name) are held: \(hold.phrase)")
    case .noNetwork(let since):
      let isolation = ": the service has no interface but lo"
      return CauseDescription(
        reason: "noNetwork", label: "no network", level: .bad,
        detail: " for \(age(of: since))\(isNetworkIsolated ? isolation : "")",
        advice: isNetworkIsolated
          ? "If ip link shows another interface, the unit has PrivateNetwork= (systemctl cat fleet-locationd), or the "
            + "container has no network"
          : "Check the modem, its SIM and the coverage: \(ManualPage.network)",
        clause: "no interface has had an address and a default route for \(age(of: since))"
          + "\(attemptClause("one attempt is still made"))")
    case .noToken(let failure?, let since):
      let requested = since.map { ", requested for \(age(of: $0))" } ?? ""
      return CauseDescription(
        reason: "noToken", label: "no token", level: .bad,
        detail: "\(duration(since, atLeast: .seconds(10))): \(failure.withAdvice)",
        advice: "fleet-locationctl token shows what the provider returns",
        clause: "it waits for a token\(requested): \(failure.withAdvice)\(attemptClause("next attempt"))")
    case .noToken(nil, _):
      return CauseDescription(
        reason: "noToken", label: "waiting for a token", level: .warning,
        clause: "it waits for a token\(attemptClause("next attempt"))")
    case .failed(let failure, let since):
      let category = failure.category.rawValue
      return CauseDescription(
        reason: category, label: "offline", level: .bad,
        detail: "\(duration(since, atLeast: .seconds(10))) (\(category)): \(failure.withAdvice)",
        advice: failure.remedy,
        clause: "the last update was not accepted (\(category)): \(failure.withAdvice)\(attemptClause("next attempt"))")
    case .rateLimited(let until, let limit):
      return unobstructed("spacing", "an update is due, and is sent in \(delay(until: until)): \(limit.phrase)")
    case .inFlight: return unobstructed("inFlight", "a request is under way; the newest fix is sent with the next one")
    case .notDue(let until):
      return unobstructed(
        "notDue",
        isParked
          ? "the vehicle is parked, and the next heartbeat is due in \(delay(until: until))"
          : "the next report is due \(seconds(until: until) > 0 ? "in \(delay(until: until))" : "with the next fix")")
    }
  }

  /// Updates are sent, or nothing prevents them.
  private func unobstructed(_ reason: String, _ clause: Sentence) -> CauseDescription {
    CauseDescription(
      reason: reason, label: isOnline ? "online" : "connecting", level: isOnline ? .good : .warning, clause: clause)
  }

  /// How long the daemon has waited for the first fix; nil in the first seconds.
  private var firstFixWait: Sentence? {
    guard let since = fixMissingSince, now.boot - since >= .seconds(10) else { return nil }
    return "the source has been open for \(age(of: since))\(sources.satellitesInView.satellitesPhrase)"
  }

  /// What prevents an agent that is about to stop from delivering the rest.
  private func obstacle(_ cause: Cause?) -> Sentence {
    switch cause {
    case .noNetwork, .noToken, .failed:
      cause.map { description(of: $0) }.map { ": \($0.label)\($0.detail)" as Sentence } ?? ""
    default: ""
    }
  }

  /// Why Fleet Engine has not accepted yet that the vehicle is OFFLINE.
  private func offlineObstacle(_ cause: Cause) -> Sentence {
    switch cause {
    case .failed(let failure, let since):
      "\(duration(since, atLeast: .seconds(10))) (\(failure.category.rawValue)): \(failure.withAdvice)"
    case .notDue: ": it is sent once more, because a position with ONLINE may have arrived after it"
    default: obstacle(cause)
    }
  }

  /// When the next attempt is due, as in `; next attempt in 9 s`; empty if it is not known.
  private func attemptClause(_ name: String) -> String {
    switch next {
    case .report(let at), .heartbeat(let at), .retry(let at), .offline(let at): "; \(name) in \(delay(until: at))"
    case .token(let at?): "; a token is requested in \(delay(until: at))"
    case .token(nil): "; a token is being requested"
    case nil: isUpdating ? "; a request is under way" : ""
    }
  }

  /// The next request to Fleet Engine, as `status` shows it.
  var nextRequest: String {
    if isVehicleInUse { return "when the other process has ended" }
    let request =
      switch next {
      case .report(let at): when(at)
      case .heartbeat(let at): "\(when(at)), a heartbeat"
      case .retry(let at): "\(when(at)), a retry"
      case .offline(let at): "OFFLINE \(when(at))"
      case .token(let at?): "with the next token, which is requested \(when(at))"
      case .token(nil): "with the next token, which is being requested"
      case nil: isUpdating ? "under way" : ""
      }
    if pause != nil { return request.isEmpty ? "after the pause" : "\(request); positions after the pause" }
    if !request.isEmpty { return request }
    if case .stopping = cause { return "none" }
    return newest == nil ? "with the first fix" : "with the next fix"
  }

  private func when(_ time: BootInstant) -> String { seconds(until: time) > 0 ? "in \(delay(until: time))" : "now" }

  func age(of instant: BootInstant) -> String { (now.boot - instant).humanReadable }

  private func duration(_ since: BootInstant?, atLeast least: Duration) -> String {
    guard let since, now.boot - since >= least else { return "" }
    return " for \(age(of: since))"
  }

  /// In a unit that a person would use, rounded up to a whole second.
  private func delay(until time: BootInstant) -> String { Duration.seconds(seconds(until: time)).humanReadable }

  /// Whole seconds, rounded up; 0 if the time has passed.
  func seconds(until time: BootInstant) -> Int64 { max((time - now.boot + .milliseconds(999)).wholeSeconds, 0) }
}

extension RequestLimit {
  fileprivate var phrase: String {
    switch self {
    case .floor: "the updates of a vehicle are at least 5 s apart"
    case .attempts: "the daemon makes at most \(AttemptLimiter.perMinute) requests in a minute"
    case .waking: "the machine has just resumed, and waits for its receiver"
    }
  }
}
