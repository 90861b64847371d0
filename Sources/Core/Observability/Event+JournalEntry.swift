// SPDX-License-Identifier: Apache-2.0
import ClockEstimation
import Authorization
import Connectivity
import SourceSelection
import PositionBacklog
package import Vehicle
import ExternalInput
import FleetEngine
import Positioning
import Timekeeping

extension Event {
  /// The kind, without details.
  package var kind: Kind { row { kind, _ in kind } }

  /// What the journal says: one sentence. It has no secrets, and no coordinates except in `updateAccepted`.
  package var sentence: String { row { _, entry in entry().sentence } }

  /// Journal fields in addition to the standard ones: upper-case names, values on one line.
  package var fields: [(name: String, value: String)] { row { _, entry in entry().fields } }

  private typealias Fields = [(name: String, value: String)]
  private typealias Entry = (sentence: String, fields: Fields)

  /// Makes the requested part of an event's row: its kind, its sentence or its fields.
  private struct Row<Part> {
    let part: (Kind, () -> Entry) -> Part

    func callAsFunction(
      _ kind: Kind, _ sentence: @autoclosure () -> String, _ fields: @autoclosure () -> Fields = []
    ) -> Part {
      part(kind) { (sentence(), fields()) }
    }

    func callAsFunction(_ kind: Kind, _ entry: @autoclosure () -> Entry) -> Part { part(kind, entry) }
  }

  private func row<Part>(_ part: @escaping (Kind, () -> Entry) -> Part) -> Part {
    let row = Row(part: part)
    return switch self {
    case .started(let vehicle, let version):
      row(.started, "Started \(version) for vehicle \(vehicle)", [("FLEET_VEHICLE_ID", vehicle)])
    case .crashed(let report):
      row(
        .crashed, "The previous run crashed: \(report.prefix { $0 != ";" })",
        [("FLEET_BACKTRACE", report)])
    case .stopping(.signal(let name)): row(.stopping, "Stopping: received \(name)")
    case .stopping(.directoryDeleted(let path)):
      row(.stopping, "Stopping: \(path) was deleted; systemd starts the service again, and makes it anew")
    case .stopping(.sourcesEnded): row(.stopping, "Stopping: the source has no more positions")
    case .stopped(let undelivered, let isStored, let recording):
      row(.stopped, stopped(undelivered, isStored, recording), [("FLEET_UNDELIVERED", "\(undelivered)")])
    case .reloaded: row(.reloaded, "Settings reloaded")
    case .reloadRefused(let why): row(.reloadRefused, "Settings not reloaded, the previous ones stay in force: \(why)")
    case .settingsKept(let mistakes):
      row(
        .settingsKept,
        "The settings have a mistake; the last settings that worked are in use: \(SettingsStatus.summary(of: mistakes))"
      )
    case .confirmationAwaited(let limit, let obstacle):
      row(
        .confirmationAwaited,
        obstacle.map {
          "The new settings must be confirmed by an accepted update within \(limit.humanReadable); without one they stay in force all the same, because \($0)"
        }
          ?? "The new settings are reverted unless an update with them is accepted within \(limit.humanReadable)")
    case .settingsConfirmed: row(.settingsConfirmed, "An update with the new settings was accepted: they are confirmed")
    case .settingsTakenBack(let why):
      row(.settingsTakenBack, "The new settings were reverted, and the previous settings are in force again: \(why)")
    case .settingsUnconfirmed(let why, let obstacle):
      row(.settingsUnconfirmed, "The new settings are not confirmed: \(why); they stay in force, because \(obstacle)")
    case .settingsAwaited(let why):
      row(
        .settingsAwaited, "Waiting for a file or credential that the settings name: \(SettingsStatus.summary(of: why))")
    case .settingsWarning(let warning): row(.settingsWarning, warning)

    case .sourceOpened(let name, let number):
      row(.sourceOpened, "Reading \(number.map { "source \($0.phrase), " } ?? "")\(name)", fields(number))
    case .sourceLost(let why, let number, let suppressed):
      row(
        .sourceLost,
        "\(number.map { "Source \($0.phrase)" } ?? "Source") unavailable: \(why)\(repeats(suppressed))", fields(number))
    case .sourceChosen(let index, let overview): row(.sourceChosen, sourceChosen(index, in: overview))
    case .noSourceGood(let overview):
      row(
        .noSourceGood,
        "None of \(overview.sources.count) sources has an acceptable position: "
          + overview.problems(before: overview.sources.count))
    case .simulatedSource(let endpoint): row(.simulatedSource, "Simulated positions are being sent to \(endpoint)")
    case .firstFix(let fix): row(.firstFix, "First fix: \(fix.summary)")
    case .noFix(let time, let inView, let rejection):
      row(
        .noFix,
        "No fix for \(time.humanReadable) since the source was opened\(inView.satellitesPhrase)"
          + (rejection.map { "; the last fix was rejected: \($0.sentence.text)" }
            ?? (inView == 0 ? "; check the antenna and its cable" : "; the antenna needs a view of the sky")),
        rejection.map { [("FLEET_REASON", $0.rawValue)] } ?? [])
    case .fixLost(let rejection):
      row(
        .fixLost, "No fix for 30 s\(rejection.map { "; the last fix was rejected: \($0.sentence.text)" } ?? "")",
        rejection.map { [("FLEET_REASON", $0.rawValue)] } ?? [])
    case .fixRegained(let time): row(.fixRegained, "Fix is back after \(time.humanReadable)", [seconds(time)])
    case .fixRejected(let rejection, let suppressed):
      row(
        .fixRejected, "Fix rejected: \(rejection.sentence.text)\(repeats(suppressed))",
        [("FLEET_REASON", rejection.rawValue)])

    case .online(let time, let delivered, let pending):
      row(.online, online(after: time, delivered: delivered, pending: pending))
    case .offline(let failure, let time, let suppressed):
      row(.offline, offline(failure, after: time, suppressed: suppressed))
    case .stillOffline(let failure, let time, let attempts):
      row(
        .stillOffline,
        "Still offline after \(time.humanReadable) (\(failure.category.rawValue)): \(failure.withAdvice.text); "
          + "\(attempts) \(attempts == 1 ? "attempt" : "attempts") since this was last reported",
        fields(failure) + [seconds(time)])
    case .interrupted(let failure):
      row(.interrupted, "Interrupted (\(failure.category.rawValue)): \(failure.withAdvice.text)", fields(failure))
    case .updateAccepted(let past, let location): row(.updateAccepted, updateAccepted(past: past, location: location))
    case .compactUpdatesRefused(let status):
      row(
        .compactUpdatesRefused,
        "Fleet Engine accepts updates in the plain form only, which needs more data: compact ones were refused (HTTP \(status))",
        [("FLEET_HTTP_STATUS", "\(status)")])

    case .tokenObtained(let lifetime, let source, let isFirst, let time):
      row(
        .tokenObtained,
        "Token \(isFirst ? "obtained" : "renewed"), valid for \(lifetime.humanReadable)"
          + (time.map { ", after \($0.humanReadable) of attempts" } ?? ""),
        fields(lifetime, source))
    case .tokenFailed(let failure, let remaining, let suppressed):
      row(.tokenFailed, tokenFailed(failure, remaining: remaining, suppressed: suppressed))
    case .tokenRefused(let failure, let delay): row(.tokenRefused, tokenRefused(failure, retryDelay: delay))
    case .tokenRemark(let line): row(.tokenRemark, "The token command says: \(line)")
    case .tokenRestored(let lifetime, let source):
      row(
        .tokenRestored, "The token of the previous run is still used, valid for \(lifetime.humanReadable)",
        fields(lifetime, source))
    case .tokenNotRestored(let why, let reason):
      row(.tokenNotRestored, "The cached token is discarded: \(why)", [("FLEET_REASON", reason)])
    case .tokenNotKept(let why): row(.tokenNotKept, "The token cannot be cached for the next start: \(why)")

    case .backfilled(let count):
      row(.backfilled, "\(positions(count, "past")) delivered", [("FLEET_PAST_LOCATIONS", "\(count)")])
    case .backfillRefused(let failure, let suppressed):
      row(
        .backfillRefused,
        "Fleet Engine rejects past positions, and accepts updates without them: \(failure.message)\(repeats(suppressed))",
        fields(failure))
    case .positionsDropped(let count, let reason, let interpolationError, let suppressed):
      row(
        .positionsDropped,
        positionsDropped(count, reason, interpolationError: interpolationError, suppressed: suppressed))
    case .othersDropped(let count):
      row(
        .positionsDropped,
        "\(positions(count)) of other vehicles dropped: the backlog's file is full, and this vehicle's positions need the space",
        fields(count, .full))
    case .backlogRestored(let count):
      row(
        .backlogRestored, "\(positions(count)) of an earlier run found on disk, to be delivered now",
        [("FLEET_BACKLOG", "\(count)")])
    case .backlogInMemory(let why, let suppressed):
      row(.backlogInMemory, "The backlog is in memory only: \(why)\(repeats(suppressed))")
    case .backlogOnDisk(let count): row(.backlogOnDisk, "The backlog is on disk again", [("FLEET_BACKLOG", "\(count)")])
    case .storeSetAside(let name, let why):
      row(
        .storeSetAside,
        "The backlog's file cannot be used (\(why)); it was renamed to \(name), and a new one was created",
        [("FLEET_FILE", name)])
    case .storeReplaced(let directory):
      row(
        .storeReplaced,
        "The backlog's file in \(directory) was deleted or replaced; all pending positions are written to a new file from memory"
      )

    case .clockUnset:
      row(
        .clockUnset,
        "The clock of this machine is not set: it shows a time before this program was built; timedatectl set-ntp true sets it, if a time server can be reached"
      )
    case .clockStepped(let step, let suppressed): row(.clockStepped, clockStepped(step, suppressed: suppressed))
    case .clockWrong(let error):
      row(
        .clockWrong, "The clock of this machine is \(error.phrase)",
        [("FLEET_CLOCK_OFFSET", "\(error.offset.wholeSeconds)"), ("FLEET_CLOCK_REFERENCE", "\(error.reference)")])
    case .clockRight: row(.clockRight, "The clock of this machine is right again")
    case .receiverClock(let offset, let suppressed): row(.receiverClock, receiverClock(offset, suppressed: suppressed))
    case .networkLost(let suppressed):
      row(.networkLost, "No network: no interface has an address and a default route\(repeats(suppressed))")
    case .networkBack(let names, let time):
      row(
        .networkBack, "Network on \(names.joined(separator: ", ")), after \(time.humanReadable) without a network",
        [seconds(time)])
    case .networkUnwatched(let why): row(.networkUnwatched, "Network changes are not monitored: \(why)")
    case .resumed(let time):
      row(.resumed, "Awake after \(time.toTheSecond.humanReadable) of suspend", [seconds(time.toTheSecond)])
    case .trafficOfDay(let day): row(.trafficOfDay, trafficOfDay(day))
    case .vehicleInUse(let holder):
      row(
        .vehicleInUse,
        "Nothing is sent: \(holder.phrase) on this machine already reports this vehicle; \(VehicleHolder.advice)")
    case .vehicleFree(let time):
      row(
        .vehicleFree, "No other process on this machine has the vehicle now, after \(time.humanReadable)",
        [seconds(time)])
    case .vehicleNotLocked(let why): row(.vehicleNotLocked, why)
    case .paused(let record, let isRestored):
      row(
        .paused,
        (isRestored ? "Still paused\(record.since.phrase)" : "Paused")
          + ": no position leaves this machine until fleet-locationctl resume")
    case .pauseEnded(let time):
      row(
        .pauseEnded, "The pause has ended\(time.map { " after \($0.humanReadable)" } ?? "")",
        time.map { [seconds($0)] } ?? [])
    case .pauseNotKept(let why): row(.pauseNotKept, why)
    case .offDuty(let record, let isRestored):
      row(
        .offDuty,
        (isRestored ? "Still off duty\(record.since.phrase)" : "Off duty")
          + ": the vehicle is OFFLINE until fleet-locationctl online")
    case .onDuty(let time, let isPaused):
      row(
        .onDuty,
        "On duty\(time.map { " again after \($0.humanReadable)" } ?? ""): the vehicle is ONLINE with the next position"
          + (isPaused ? ", after the pause" : ""), time.map { [seconds($0)] } ?? [])
    case .dutyNotKept(let why): row(.dutyNotKept, why)
    case .stateOffline(let time):
      row(
        .stateOffline, "Fleet Engine has accepted OFFLINE\(time.map { " after \($0.humanReadable)" } ?? "")",
        time.map { [seconds($0)] } ?? [])
    case .stateOfflineFailed(let failure, let suppressed):
      row(
        .stateOfflineFailed,
        "OFFLINE was not accepted and is sent again: \(failure.withAdvice.text)\(repeats(suppressed))", fields(failure))
    case .stateOfflineMissing(let vehicle, let isSentAtNextStart):
      row(
        .stateOfflineMissing,
        "Fleet Engine has not accepted OFFLINE for vehicle \(vehicle): "
          + (isSentAtNextStart ? "it is sent again after the next start" : "the vehicle's state stays as it was"))
    }
  }

  // MARK: - Sentences of several parts

  private func sourceChosen(_ index: Int, in overview: SourceOverview) -> Entry {
    let number = SourceNumber(index, of: overview.sources.count)
    let why = overview.reasonForUse(problems: overview.problems(before: index))
    let hold = overview.hold.map { "; \($0.phrase)" } ?? ""
    return ("Using source \(number.phrase), \(overview.sources[index].name) (\(why))\(hold)", fields(number))
  }

  private func online(after time: Duration?, delivered: Int, pending: Int) -> Entry {
    var sentence = "Online: Fleet Engine accepts updates\(time.map { ", after \($0.humanReadable) offline" } ?? "")"
    if pending > 0 {
      sentence += "; \(delivered > 0 ? "\(pending) of " : "")\(positions(delivered + pending, "past")) still pending"
    } else if delivered > 0 {
      sentence += "; \(positions(delivered, "past")) delivered"
    }
    return (
      sentence,
      [("FLEET_BACKLOG", "\(pending)"), ("FLEET_PAST_LOCATIONS", "\(delivered)")] + (time.map { [seconds($0)] } ?? [])
    )
  }

  private func offline(_ failure: UpdateFailure, after time: Duration, suppressed: Int) -> Entry {
    let since = time < .seconds(1) ? "" : " for \(time.humanReadable)"
    let before =
      suppressed == 0
      ? "" : " (and \(suppressed) short \(suppressed == 1 ? "interruption" : "interruptions") before that)"
    return ("Offline\(since) (\(failure.category.rawValue)): \(failure.withAdvice.text)\(before)", fields(failure))
  }

  private func updateAccepted(past: Int, location: VehicleLocation?) -> Entry {
    let sentence = "Update accepted\(past == 0 ? "" : " with \(positions(past, "past"))")"
    let fields = [(name: "FLEET_PAST_LOCATIONS", value: "\(past)")]
    guard let place = location?.coordinate else { return (sentence, fields) }
    return (
      "\(sentence): \(place.latitude), \(place.longitude)",
      fields + [("FLEET_LATITUDE", "\(place.latitude)"), ("FLEET_LONGITUDE", "\(place.longitude)")]
    )
  }

  private func tokenFailed(_ failure: TokenFailure, remaining: Duration?, suppressed: Int) -> Entry {
    let outlook = remaining.map { "the current one is valid for \($0.humanReadable)" } ?? "updates wait for one"
    return (
      "No token: \(failure.withAdvice.text); \(outlook)\(repeats(suppressed))", [("FLEET_REASON", failure.reason.name)]
    )
  }

  private func tokenRefused(_ failure: UpdateFailure?, retryDelay: Duration) -> Entry {
    let advice = failure?.tokenAdvice ?? "fleet-locationctl token shows what is in them"
    return (
      "Fleet Engine rejects fresh tokens\(failure.map { " (\($0.message))" } ?? ""); \(advice); "
        + "next attempt in \(retryDelay.humanReadable)",
      failure.map(fields) ?? []
    )
  }

  /// Positions of a recording that the filter rejected do not count as delivered.
  private func stopped(_ undelivered: Int, _ isStored: Bool, _ recording: Statistics?) -> String {
    let rejected = recording?.nonDuplicateRejections ?? 0
    let outcome: String
    if let recording, recording.fixes == 0 {
      return "Stopped: the recording had no position"
    } else if let recording, recording.acceptedFixes == 0 {
      return "Stopped: all positions of the recording were rejected, \(recording.fixes) of \(recording.fixes)"
    } else if undelivered > 0 {
      let stored = isStored ? ", stored for the next start" : ""
      outcome = "Stopped with \(positions(undelivered)) undelivered\(stored)"
    } else {
      outcome = rejected == 0 ? "Stopped, all positions delivered" : "Stopped, all accepted positions delivered"
    }
    guard let recording, rejected > 0 else { return outcome }
    return "\(outcome); \(rejected) of \(positions(recording.fixes)) \(rejected == 1 ? "was" : "were") rejected"
  }

  private func positionsDropped(
    _ count: Int, _ reason: Backlog.Removal, interpolationError: Double, suppressed: Int
  ) -> Entry {
    let why: String
    let them = count == 1 ? "it" : "them"
    switch reason {
    case .thinned:
      let metres = "\(Int(min(interpolationError, 99_999).rounded(.up)))"
      return (
        "\(positions(count)) thinned out: the backlog is full, and the remaining positions describe the track within \(metres) m"
          + repeats(suppressed),
        fields(count, reason) + [("FLEET_METRES", metres)]
      )
    case .delivered: why = reason.rawValue
    case .full: why = "the backlog is full"
    case .expired: why = "\(count == 1 ? "it is" : "they are") older than backlog.max_age"
    case .rejected: why = "Fleet Engine rejects \(them)"
    case .misdated: why = "the receiver reported a wrong time for \(them)"
    case .damaged: why = "the backlog's file has invalid values for \(them)"
    }
    return ("\(positions(count)) dropped: \(why)\(repeats(suppressed))", fields(count, reason))
  }

  private func trafficOfDay(_ day: TrafficLedger.Day) -> Entry {
    let (traffic, updates) = (day.counts.traffic, day.counts.updates)
    let each = day.counts.bytesPerUpdate.map { ", \($0.dataVolumeText) each" } ?? ""
    let month = day.month.traffic.total.dataVolumeText
    return (
      "Traffic of \(day.date.text): \(traffic.totalSent.dataVolumeText) sent, "
        + "\(traffic.totalReceived.dataVolumeText) received, \(traffic.retransmitted.dataVolumeText) retransmitted; "
        + "\(updates) \(updates == 1 ? "update" : "updates")\(each); \(month) this month",
      [
        ("FLEET_DATE", day.date.text), ("FLEET_BYTES_SENT", "\(traffic.totalSent)"),
        ("FLEET_BYTES_RECEIVED", "\(traffic.totalReceived)"), ("FLEET_BYTES_RETRANSMITTED", "\(traffic.retransmitted)"),
        ("FLEET_UPDATES", "\(updates)"), ("FLEET_BYTES_MONTH", "\(day.month.traffic.total)"),
      ]
    )
  }

  private func receiverClock(_ offset: Duration, suppressed: Int) -> Entry {
    let fields = [("FLEET_CLOCK_OFFSET", "\(offset.wholeSeconds)")]
    guard offset != .zero else { return ("The receiver's clock is right again", fields) }
    let size = max(offset, .zero - offset).humanReadable
    let cause =
      offset == .seconds(18)
      ? ", it has no leap seconds yet"
      : offset < .zero && offset.wholeSeconds % (1024 * 7 * 86_400) == 0
        ? ", its GPS week number has rolled over (newer firmware may correct that)" : ""
    return (
      "The receiver's clock is \(size) \(offset < .zero ? "behind" : "ahead")\(cause): positions are sent with the corrected "
        + "time\(repeats(suppressed))", fields
    )
  }

  private func clockStepped(_ step: Duration, suppressed: Int) -> Entry {
    let size = step < .zero ? .zero - step : step
    let exact = size < .seconds(120) ? "\(size.secondsWithTenths) s" : size.toTheSecond.humanReadable
    return (
      "The clock of this machine was set \(step < .zero ? "back" : "forward") by \(exact)"
        + (suppressed == 0
          ? "" : " (and \(suppressed) more \(suppressed == 1 ? "time" : "times") since this was last reported)"),
      [("FLEET_SECONDS", "\(step < .zero ? "-" : "")\(size.secondsWithTenths)")]
    )
  }

  // MARK: - Parts

  private func positions(_ count: Int, _ kind: String? = nil) -> String {
    "\(count) \(kind.map { "\($0) " } ?? "")\(count == 1 ? "position" : "positions")"
  }

  private func repeats(_ suppressed: Int) -> String {
    suppressed == 0 ? "" : " (and \(suppressed) more \(suppressed == 1 ? "time" : "times") in the last ten minutes)"
  }

  private func seconds(_ time: Duration) -> (name: String, value: String) { ("FLEET_SECONDS", "\(time.wholeSeconds)") }

  private func fields(_ number: SourceNumber?) -> Fields { number.map { [("FLEET_SOURCE", "\($0.number)")] } ?? [] }

  private func fields(_ count: Int, _ reason: Backlog.Removal) -> Fields {
    [("FLEET_REASON", reason.rawValue), ("FLEET_COUNT", "\(count)")]
  }

  private func fields(_ lifetime: Duration, _ source: AccessToken.LifetimeSource) -> Fields {
    [("FLEET_TOKEN_SECONDS", "\(lifetime.wholeSeconds)"), ("FLEET_LIFETIME_SOURCE", source.rawValue)]
  }

  private func fields(_ failure: UpdateFailure) -> Fields {
    var fields = [(name: "FLEET_REASON", value: failure.category.rawValue)]
    if let http = failure.httpStatus { fields.append(("FLEET_HTTP_STATUS", "\(http)")) }
    if let status = failure.status { fields.append(("FLEET_STATUS", ExternalText(status, limit: 64).description)) }
    if let cause = failure.cause { fields.append(("FLEET_CAUSE", cause.rawValue)) }
    return fields
  }
}
