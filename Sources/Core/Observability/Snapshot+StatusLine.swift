// SPDX-License-Identifier: Apache-2.0
import PositionBacklog
import SourceSelection
import Authorization
package import Vehicle
import ExternalInput
import Timekeeping

extension VehicleAgent.Snapshot {
  /// One line for users of the control socket: problems first, then fix, last update, token, backlog. It has ages, but
  /// never coordinates.
  package var statusLine: String { line.text }

  /// The same for `systemctl status`, which every local user can read: without text from servers and helper programs,
  /// except what is marked `worldReadable`.
  package var publicStatusLine: String { line.ownText }

  private var line: Sentence {
    let description = causeDescription
    var parts: [Sentence] = ["\(description.label.sentenceCase)\(description.detail)"]
    if offDuty != nil { parts.append(Sentence(own: offDutyPhrase)) }
    if sources.sources.count > 1, let used = sources.used {
      let problems = sources.problems(before: used)
      parts.append("source \(used + 1) of \(sources.sources.count)\(problems.isEmpty ? "" : " (\(problems))")")
    }
    if let hold = sources.hold, cause != .held(hold) { parts.append(Sentence(own: hold.phrase)) }
    if let fix {
      parts.append("fix \(fix.summary), \(age(of: fixReceivedAt)) old\(isParked ? ", parked" : "")")
    }
    if let lastAcceptedAt { parts.append("last update \(age(of: lastAcceptedAt)) ago") }
    if let tokenDeadline {
      let trouble = tokenFailure.map { ", no new one\(tokenFailureDuration): \($0.sentence)" as Sentence } ?? ""
      parts.append("token \((tokenDeadline - now.boot).humanReadable)\(trouble)")
    } else if failure == nil, tokenFailure == nil {
      parts.append("no token yet")
    }
    let thinning = thinnedWithin > 0 ? ", thinned within \(Int(thinnedWithin.rounded(.up))) m" : ""
    // The contents of the file are not known yet: a count of 0 may be wrong.
    let count = store == .unread && pendingCount == 0 ? "not read yet" : "\(pendingCount)"
    parts.append("backlog \(count)\(thinning)\(backlogTrouble)")
    if let clockError {
      parts.append("this machine's clock is \(clockError.phrase)")
    } else if isClockUnset {
      parts.append("this machine's clock is not set")
    }
    return parts.dropFirst().reduce(parts[0]) { "\($0); \($1)" }
  }

  /// As in `off duty since 2026-11-21T08:30:00Z (OFFLINE not accepted yet)`.
  var offDutyPhrase: String {
    "off duty\(offDuty?.since.phrase ?? "")\(isOfflinePending ? " (OFFLINE not accepted yet)" : "")"
  }

  private var backlogTrouble: String {
    if case .memoryOnly(let why) = store { return " (in memory only: \(why))" }
    return ""
  }

  /// How long there has been no new token, as in ` for 5 min`; empty in the first seconds.
  private var tokenFailureDuration: String {
    guard let since = tokenFailingSince, now.boot - since >= .seconds(10) else { return "" }
    return " for \(age(of: since))"
  }
}
