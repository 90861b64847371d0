// SPDX-License-Identifier: Apache-2.0
import Authorization
import FleetEngine
import Positioning
package import Timekeeping

extension VehicleAgent {
  /// One line for `systemctl status`: what is wrong first, then fix, last update, token, backlog. Ages, never coordinates:
  /// every local user can read it.
  ///
  /// - Parameter wall: this machine's clock, when it is to be judged.
  package func status(at now: BootInstant, wall: Timestamp? = nil) -> String {
    var parts = [headline(at: now)]
    if let sources, sources.sources.count > 1, let used = sources.used {
      let troubles = sources.troubles(before: used)
      parts.append("source \(used + 1) of \(sources.sources.count)\(troubles.isEmpty ? "" : " (\(troubles))")")
    }
    if let fix = lastFix {
      parts.append("fix \(fix.summary), \((now - lastFixAt).spoken) old\(policy.isParked ? ", parked" : "")")
    }
    if let acceptedAt = delivery.lastAcceptedAt {
      parts.append("last update \((now - acceptedAt).spoken) ago")
    }
    if let token = tokens.token(at: now) {
      let trouble = tokens.lastFailure.map { ", no successor\(tokenTrouble(at: now)): \($0.message)" } ?? ""
      parts.append("token \((token.deadline - now).spoken)\(trouble)")
    } else if delivery.failure == nil, tokens.lastFailure == nil {
      parts.append("no token yet")
    }
    let within = delivery.backlog.thinnedWithin
    let thinning = within > 0 ? ", thinned within \(Int(within.rounded(.up))) m" : ""
    parts.append("backlog \(delivery.waiting)\(thinning)\(backlogTrouble)")
    if let error = wall.flatMap({ clocks.error(at: Moment(boot: now, wall: $0)) }) {
      parts.append("this machine's clock is \(error.words)")
    }
    return parts.joined(separator: "; ")
  }

  private var backlogTrouble: String {
    if case .memoryOnly(let why) = store { return " (in memory only: \(why))" }
    return ""
  }

  /// For how long no token has come, as in ` for 5 min`; nothing in the first seconds.
  private func tokenTrouble(at now: BootInstant) -> String {
    guard let since = tokens.failingSince, now - since >= .seconds(10) else { return "" }
    return " for \((now - since).spoken)"
  }

  private func headline(at now: BootInstant) -> String {
    if let pause { return "Paused\(pause.words), fleet-locationctl resume ends it" }
    if case .lost(let why) = source, phase == .running { return "No source: \(why)" }
    if let since = network.absentSince { return "No network for \((now - since).spoken)" }
    if tokens.token(at: now) == nil, let failure = tokens.lastFailure {
      return "No token\(tokenTrouble(at: now)): \(failure.message)"
    }
    if let failure = delivery.failure {
      let since = delivery.failingSince.map { " for \((now - $0).spoken)" } ?? ""
      return "Offline\(since) (\(failure.category.rawValue)): \(failure.advice)"
    }
    if isFixLost || policy.newest == nil {
      return "Waiting for a fix\(lastRejection.map { " (refused: \($0.explanation))" } ?? "")"
    }
    return isOnline ? "Online" : "Connecting"
  }

  /// Whether every wait has a deadline that is still to come, give or take half a minute: what the watchdog asks.
  package func isProgressing(at now: BootInstant) -> Bool {
    let grace = Duration.seconds(30)
    let deadlines = [nextDeadline(at: now), delivery.attemptDeadline, tokens.fetchDeadline]
    return deadlines.allSatisfy { $0.map { now - $0 < grace } ?? true }
  }
}
