// SPDX-License-Identifier: Apache-2.0
import Authorization
package import Delivery
import FleetEngine
import Positioning
import Timekeeping

extension VehicleAgent.Snapshot {
  /// What became of the last fix.
  package var explanation: Explanation {
    if let pause {
      return Explanation(
        "paused",
        "The driver is off duty\(pause.words): no position leaves this machine and none is kept, until "
          + "fleet-locationctl resume.")
    }
    if let lastRejection {
      return Explanation(
        lastRejection.rawValue,
        "The last fix was refused: \(lastRejection.explanation). Refused so far, by reason: \(rejections).")
    }
    if let hold = sources.hold, let used = sources.usedSource {
      return Explanation("held", "The last fix is of \(used.name) and waits: \(hold.words).")
    }
    guard let newest else {
      return Explanation("noFix", "No fix has come yet\(sourceTrouble).")
    }
    let age = "The last fix is \((now.boot - newestCameAt).spoken) old"
    if !isRunning { return Explanation("stopping", "\(age); the daemon is about to stop.") }
    if delivered == newest.time {
      return Explanation(
        "delivered",
        "\(age) and was accepted by Fleet Engine\(isFixLost ? "; no other has come since\(sourceTrouble)" : "").")
    }
    if isUpdating {
      return Explanation("inFlight", "\(age); a request is under way, and the newest fix goes with the next.")
    }
    return waiting(age)
  }

  private func waiting(_ age: String) -> Explanation {
    if let since = networkAbsentSince {
      let retry = earliest > now.boot ? "; one try all the same in \(until(earliest))" : ""
      return Explanation(
        "noNetwork",
        "\(age) and waits for a network: no interface has had an address and a default route for "
          + "\((now.boot - since).spoken)\(retry).")
    }
    if tokenDeadline == nil, let tokenFailure {
      let retry = tokenRetryAt.map { "; the provider is asked again in \(until($0))" } ?? ""
      let since = tokenFailingSince.map { ", for which it has asked for \((now.boot - $0).spoken)" } ?? ""
      return Explanation("noToken", "\(age) and waits for a token\(since): \(tokenFailure.message)\(retry).")
    }
    if let failure {
      return Explanation(
        failure.category.rawValue,
        "\(age) and was not accepted (\(failure.category.rawValue)): \(failure.advice). Next try in \(until(earliest))."
      )
    }
    if isReportDue {
      return Explanation(
        "spacing",
        "\(age) and is due; Fleet Engine takes no updates closer together than 5 s. It goes in \(until(earliest)).")
    }
    let due = reportDeadline.map(until) ?? "a while"
    return Explanation(
      "notDue",
      isParked
        ? "\(age); the vehicle is parked, and the next heartbeat is due in \(due)."
        : "\(age); the next report is due in \(due).")
  }

  private func until(_ time: BootInstant) -> String { (time - now.boot).spoken }

  private var sourceTrouble: String {
    sources.lossReason.map { ": \($0)" } ?? ""
  }

  private var rejections: String {
    statistics.rejected.sorted { $0.key.rawValue < $1.key.rawValue }
      .map { "\($0.key.rawValue) \($0.value)" }.joined(separator: ", ")
  }
}
