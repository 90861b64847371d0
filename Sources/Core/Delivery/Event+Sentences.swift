// SPDX-License-Identifier: Apache-2.0
import Authorization
import FleetEngine
import HTTPMessages
package import Positioning
import Timekeeping

extension Event {
  package static func started(vehicle: String, version: String) -> Event {
    Event(.started, "Started \(version) for vehicle \(vehicle)", [("FLEET_VEHICLE_ID", vehicle)])
  }

  /// - Parameter report: as the crash has told it: the signal, the place and the version; then, after a semicolon, the callers.
  package static func crashed(_ report: String) -> Event {
    let parts = report.split(separator: "; ", maxSplits: 1)
    return Event(
      .crashed, "The run before this one crashed: \(parts.first ?? "")", [("FLEET_BACKTRACE", report)])
  }

  package static func stopping(_ why: String) -> Event { Event(.stopping, "Stopping: \(why)") }

  package static func stopped(undelivered: Int) -> Event {
    Event(
      .stopped,
      undelivered == 0
        ? "Stopped, everything delivered"
        : "Stopped with \(undelivered) \(undelivered == 1 ? "position" : "positions") undelivered",
      [("FLEET_UNDELIVERED", "\(undelivered)")])
  }

  package static func reloaded() -> Event { Event(.reloaded, "Settings reloaded") }

  /// - Parameter why: the first mistake, with its file and line.
  package static func reloadRefused(_ why: String) -> Event {
    Event(.reloadRefused, "Settings not reloaded, the old ones stay in force: \(why)")
  }

  package static func settingsWarning(_ warning: String) -> Event { Event(.settingsWarning, warning) }

  static func sourceOpened(_ name: String) -> Event { Event(.sourceOpened, "Reading \(name)") }

  static func sourceLost(_ why: String) -> Event { Event(.sourceLost, "No source: \(why)") }

  package static func simulatedSource(endpoint: String) -> Event {
    Event(.simulatedSource, "Simulated positions are being sent to \(endpoint)")
  }

  package static func clockUnset() -> Event {
    Event(.clockUnset, "The clock of this machine is not set: it shows a time before this program was built")
  }

  /// - Parameter why: what was asked of the system, and what it said.
  package static func networkUnwatched(_ why: String) -> Event {
    Event(.networkUnwatched, "The network is not watched: \(why)")
  }

  static func networkLost(suppressed: Int) -> Event {
    Event(.networkLost, "No network: no interface has an address and a default route\(repeats(suppressed))")
  }

  /// - Parameter names: of the interfaces.
  static func networkBack(_ names: [String], after time: Duration) -> Event {
    Event(
      .networkBack, "Network on \(names.joined(separator: ", ")), after \(time.spoken) without",
      [("FLEET_SECONDS", "\(time.wholeSeconds)")])
  }

  static func resumed(after time: Duration) -> Event {
    Event(
      .resumed, "Awake after \(time.toTheSecond.spoken) of suspend",
      [("FLEET_SECONDS", "\(time.toTheSecond.wholeSeconds)")])
  }

  /// - Parameter untold: steps since the last that was told.
  static func clockStepped(_ step: Duration, untold: Int) -> Event {
    let size = step < .zero ? .zero - step : step
    let exact = size < .seconds(120) ? "\(size.tenths) s" : size.toTheSecond.spoken
    return Event(
      .clockStepped,
      "The clock of this machine was set \(step < .zero ? "back" : "forward") by \(exact)"
        + (untold == 0 ? "" : " (and \(untold) times more since the last time this was told)"),
      [("FLEET_SECONDS", "\(step < .zero ? "-" : "")\(size.tenths)")])
  }

  static func clockWrong(_ error: WallClockJudge.Error) -> Event {
    Event(
      .clockWrong, "The clock of this machine is \(error.words)",
      [("FLEET_CLOCK_OFFSET", "\(error.offset.wholeSeconds)"), ("FLEET_CLOCK_REFERENCE", "\(error.reference)")])
  }

  static func clockRight() -> Event { Event(.clockRight, "The clock of this machine is right again") }

  static func firstFix(_ fix: Fix) -> Event {
    Event(.firstFix, "First fix: \(fix.summary)")
  }

  static func fixLost(_ rejection: FixRejection?) -> Event {
    Event(
      .fixLost, "No fix for 30 s\(rejection.map { ": the last one was refused, \($0.explanation)" } ?? "")",
      rejection.map { [("FLEET_REASON", $0.rawValue)] } ?? [])
  }

  static func fixRegained(after: Duration) -> Event {
    Event(.fixRegained, "Fix is back after \(after.spoken)", [("FLEET_SECONDS", "\(after.wholeSeconds)")])
  }

  static func fixRejected(_ rejection: FixRejection, suppressed: Int) -> Event {
    Event(
      .fixRejected, "Fix refused: \(rejection.explanation)\(repeats(suppressed))",
      [("FLEET_REASON", rejection.rawValue)])
  }

  /// - Parameters:
  ///   - after: how long it was offline; nil: it is the first time.
  ///   - delivered: past positions that came with the update.
  ///   - waiting: past positions that come later.
  static func online(after: Duration?, delivered: Int, waiting: Int) -> Event {
    var sentence = "Online: Fleet Engine accepts updates\(after.map { ", after \($0.spoken)" } ?? "")"
    if waiting > 0 {
      sentence += "; \(delivered > 0 ? "\(waiting) of " : "")\(positions(delivered + waiting, "past")) still to come"
    } else if delivered > 0 {
      sentence += "; \(positions(delivered, "past")) delivered"
    }
    return Event(
      .online, sentence,
      [("FLEET_BACKLOG", "\(waiting)"), ("FLEET_PAST_LOCATIONS", "\(delivered)")]
        + (after.map { [("FLEET_SECONDS", "\($0.wholeSeconds)")] } ?? []))
  }

  /// - Parameters:
  ///   - after: how long it has been so, when it was not told at once.
  ///   - untold: short interruptions that were not told.
  static func offline(_ failure: UpdateFailure, after: Duration, untold: Int) -> Event {
    let since = after < .seconds(1) ? "" : " for \(after.spoken)"
    let before =
      untold == 0 ? "" : " (and \(untold) short \(untold == 1 ? "interruption" : "interruptions") before that)"
    return Event(
      .offline, "Offline\(since) (\(failure.category.rawValue)): \(failure.advice)\(before)", fields(failure))
  }

  static func interrupted(_ failure: UpdateFailure) -> Event {
    Event(.interrupted, "Interrupted (\(failure.category.rawValue)): \(failure.advice)", fields(failure))
  }

  /// - Parameter tries: since it was told last.
  static func stillOffline(_ failure: UpdateFailure, after: Duration, tries: Int) -> Event {
    Event(
      .stillOffline,
      "Still offline after \(after.spoken) (\(failure.category.rawValue)): \(failure.advice); "
        + "\(tries) \(tries == 1 ? "try" : "tries") since this was last told",
      fields(failure) + [("FLEET_SECONDS", "\(after.wholeSeconds)")])
  }

  /// - Parameter location: nil where coordinates are not to be told.
  static func updateAccepted(past: Int, at location: VehicleLocation?) -> Event {
    var event = Event(
      .updateAccepted,
      "Update accepted\(past == 0 ? "" : " with \(past) past \(past == 1 ? "position" : "positions")")",
      [("FLEET_PAST_LOCATIONS", "\(past)")])
    if let place = location?.coordinate {
      event.sentence += ": \(place.latitude), \(place.longitude)"
      event.fields += [("FLEET_LATITUDE", "\(place.latitude)"), ("FLEET_LONGITUDE", "\(place.longitude)")]
    }
    return event
  }

  /// - Parameters:
  ///   - isFirst: of this run.
  ///   - after: how long the provider had given none.
  static func tokenObtained(_ token: AccessToken, isFirst: Bool, after: Duration?, at now: BootInstant) -> Event {
    let life = token.deadline - now
    return Event(
      .tokenObtained,
      "Token \(isFirst ? "obtained" : "renewed"), good for \(life.spoken)\(after.map { ", after \($0.spoken) of asking" } ?? "")",
      [("FLEET_TOKEN_SECONDS", "\(life.wholeSeconds)"), ("FLEET_LIFETIME_SOURCE", token.lifetimeSource.rawValue)])
  }

  static func tokenRestored(_ token: AccessToken, at now: BootInstant) -> Event {
    let life = token.deadline - now
    return Event(
      .tokenRestored, "The token of the run before serves on, good for \(life.spoken)",
      [("FLEET_TOKEN_SECONDS", "\(life.wholeSeconds)"), ("FLEET_LIFETIME_SOURCE", token.lifetimeSource.rawValue)])
  }

  /// - Parameter why: with nothing of what was kept in it.
  package static func tokenNotRestored(_ why: String, reason: String) -> Event {
    Event(.tokenNotRestored, "The token that was kept is not used: \(why)", [("FLEET_REASON", reason)])
  }

  package static func tokenNotKept(_ why: String) -> Event {
    Event(.tokenNotKept, "The token is not kept for the next start: \(why)")
  }

  /// - Parameter left: how long the token before still serves; nil: there is none.
  static func tokenFailed(_ failure: TokenFailure, left: Duration?, suppressed: Int) -> Event {
    let outlook =
      left.map { "the one before is good for \($0.spoken)" }
      ?? "updates wait for one, and fleet-locationctl doctor tells what to do"
    return Event(
      .tokenFailed, "No token: \(failure.message)\(repeats(suppressed)); \(outlook)",
      [("FLEET_REASON", failure.reason.name)])
  }

  /// - Parameter line: without secrets.
  static func tokenRemark(_ line: String) -> Event { Event(.tokenRemark, "The token command says: \(line)") }

  /// - Parameter flaw: what is wrong with the token, as far as it shows.
  static func tokenRefused(
    _ failure: UpdateFailure?, of service: FleetEngineService, _ flaw: String?, retry: Duration
  ) -> Event {
    let advice =
      flaw.map { "of the token itself: \($0)" }
      ?? failure?.cause?.advice(for: service)
      ?? "check the service account's role (\(service.role)) and the vehicle's ID"
    return Event(
      .tokenRefused,
      "Fleet Engine refuses fresh tokens\(failure.map { " (\($0.message))" } ?? ""): \(advice); next try in \(retry.spoken)",
      failure.map(fields) ?? [])
  }

  static func backfilled(_ count: Int) -> Event {
    Event(
      .backfilled, "\(positions(count, "past")) delivered",
      [("FLEET_PAST_LOCATIONS", "\(count)")])
  }

  static func backfillRefused(_ failure: UpdateFailure, suppressed: Int) -> Event {
    Event(
      .backfillRefused,
      "Update with past positions refused, going on without: \(failure.message)\(repeats(suppressed))", fields(failure))
  }

  /// - Parameter within: metres of the thinned positions from what is left of the way, of all that were thinned.
  static func positionsDropped(
    _ count: Int, _ reason: Backlog.Removal, within: Double = 0, suppressed: Int
  ) -> Event {
    let positions = "\(count) \(count == 1 ? "position" : "positions")"
    let fields = [("FLEET_REASON", reason.rawValue), ("FLEET_COUNT", "\(count)")]
    guard reason != .thinned else {
      let metres = "\(Int(min(within, 99_999).rounded(.up)))"
      return Event(
        .positionsDropped,
        "\(positions) thinned out: the backlog is full, and what is left tells the way within \(metres) m"
          + repeats(suppressed), fields + [("FLEET_METRES", metres)])
    }
    let why =
      switch reason {
      case .delivered, .thinned: reason.rawValue
      case .full: "the backlog is full"
      case .expired: "they are older than backlog.max_age"
      case .refused: "the server refuses them"
      case .misdated: "the receiver gave them a wrong time"
      }
    return Event(.positionsDropped, "\(positions) dropped: \(why)\(repeats(suppressed))", fields)
  }

  /// Positions of vehicles that the settings do not name had to make room.
  static func othersDropped(_ count: Int) -> Event {
    Event(
      .positionsDropped,
      "\(count) \(count == 1 ? "position" : "positions") of other vehicles dropped: the backlog's file is full, and this vehicle's need the room",
      [("FLEET_REASON", Backlog.Removal.full.rawValue), ("FLEET_COUNT", "\(count)")])
  }

  static func backlogRestored(_ count: Int) -> Event {
    Event(
      .backlogRestored, "\(count) \(count == 1 ? "position" : "positions") kept on disk, to be delivered now",
      [("FLEET_BACKLOG", "\(count)")])
  }

  static func backlogInMemory(_ why: String, suppressed: Int) -> Event {
    Event(.backlogInMemory, "The backlog is kept in memory only: \(why)\(repeats(suppressed))")
  }

  static func backlogOnDisk(count: Int) -> Event {
    Event(.backlogOnDisk, "The backlog is on disk again", [("FLEET_BACKLOG", "\(count)")])
  }

  static func storeSetAside(name: String, why: String) -> Event {
    Event(
      .storeSetAside, "The backlog's file cannot be used (\(why)); it is now \(name), and an empty one is in its place",
      [("FLEET_FILE", name)])
  }

  private static func positions(_ count: Int, _ kind: String = "") -> String {
    "\(count) \(kind.isEmpty ? "" : kind + " ")\(count == 1 ? "position" : "positions")"
  }

  private static func repeats(_ suppressed: Int) -> String {
    suppressed == 0 ? "" : " (and \(suppressed) times more in the last ten minutes)"
  }

  private static func fields(_ failure: UpdateFailure) -> [(name: String, value: String)] {
    var fields = [(name: "FLEET_REASON", value: failure.category.rawValue)]
    if let http = failure.httpStatus { fields.append(("FLEET_HTTP_STATUS", "\(http)")) }
    if let status = failure.status { fields.append(("FLEET_STATUS", status.withoutSecrets)) }
    if let cause = failure.cause { fields.append(("FLEET_CAUSE", cause.rawValue)) }
    return fields
  }
}

extension Fix {
  /// Quality in a few words, without coordinates.
  package var summary: String {
    var words = [mode == .threeD ? "3D" : "2D"]
    if quality != .gnss { words.append(quality.rawValue) }
    if let accuracy = horizontalAccuracy { words.append("±\(Int(min(accuracy, 9999).rounded(.up))) m") }
    if let satellites { words.append("\(satellites) satellites") }
    return words.joined(separator: ", ")
  }
}

extension Duration {
  /// Clocks are read one after the other: what is told of two is some milliseconds off.
  fileprivate var toTheSecond: Duration { .seconds((self + .milliseconds(500)).wholeSeconds) }

  /// Seconds with one decimal.
  fileprivate var tenths: String {
    let tenths = nanoseconds / 100_000_000
    return "\(tenths / 10).\(tenths % 10)"
  }

  /// In the unit that a person would use: `7 s`, `4 min`, `3 h`, `2 days`.
  package var spoken: String {
    let seconds = max(wholeSeconds, 0)
    switch seconds {
    case ..<120: return "\(seconds) s"
    case ..<7200: return "\(seconds / 60) min"
    case ..<172_800: return "\(seconds / 3600) h"
    default: return "\(seconds / 86_400) days"
    }
  }
}
