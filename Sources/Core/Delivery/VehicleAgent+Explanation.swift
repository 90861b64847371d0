// SPDX-License-Identifier: Apache-2.0
import Authorization
import FleetEngine
import Positioning
package import Timekeeping

extension VehicleAgent {
  /// What became of the last fix.
  package func explanation(at now: BootInstant) -> Explanation {
    if let pause {
      return Explanation(
        "paused",
        "The driver is off duty\(pause.words): no position leaves this machine and none is kept, until "
          + "fleet-locationctl resume.")
    }
    if let lastRejection {
      return Explanation(
        lastRejection.rawValue,
        "The last fix was refused: \(lastRejection.explanation). Refused so far, by reason: \(rejections(statistics)).")
    }
    guard let newest = policy.newest else {
      return Explanation("noFix", "No fix has come yet\(sourceTrouble).")
    }
    let age = "The last fix is \((now - policy.newestAt).spoken) old"
    if phase != .running { return Explanation("stopping", "\(age); the daemon is about to stop.") }
    if delivery.delivered?.time == newest.time {
      return Explanation(
        "delivered",
        "\(age) and was accepted by Fleet Engine\(isFixLost ? "; no other has come since\(sourceTrouble)" : "").")
    }
    if !delivery.isIdle {
      return Explanation("inFlight", "\(age); a request is under way, and the newest fix goes with the next.")
    }
    return waiting(age, at: now)
  }

  private func waiting(_ age: String, at now: BootInstant) -> Explanation {
    if let since = network.absentSince {
      let retry = earliest > now ? "; one try all the same in \((earliest - now).spoken)" : ""
      return Explanation(
        "noNetwork",
        "\(age) and waits for a network: no interface has had an address and a default route for "
          + "\((now - since).spoken)\(retry).")
    }
    if tokens.token(at: now) == nil, let failure = tokens.lastFailure {
      let retry = tokens.nextDeadline(at: now).map { "; the provider is asked again in \(($0 - now).spoken)" } ?? ""
      let since = tokens.failingSince.map { ", for which it has asked for \((now - $0).spoken)" } ?? ""
      return Explanation("noToken", "\(age) and waits for a token\(since): \(failure.message)\(retry).")
    }
    if let failure = delivery.failure {
      return Explanation(
        failure.category.rawValue,
        "\(age) and was not accepted (\(failure.category.rawValue)): \(failure.advice). "
          + "Next try in \((earliest - now).spoken).")
    }
    if policy.reason(at: now) != nil {
      return Explanation(
        "spacing",
        "\(age) and is due; Fleet Engine takes no updates closer together than 5 s. "
          + "It goes in \((earliest - now).spoken).")
    }
    let due = policy.nextDeadline.map { ($0 - now).spoken } ?? "a while"
    return Explanation(
      "notDue",
      policy.isParked
        ? "\(age); the vehicle is parked, and the next heartbeat is due in \(due)."
        : "\(age); the next report is due in \(due).")
  }

  private var sourceTrouble: String {
    if case .lost(let why) = source { return ": \(why)" }
    return ""
  }

  private func rejections(_ statistics: Statistics) -> String {
    statistics.rejected.sorted { $0.key.rawValue < $1.key.rawValue }
      .map { "\($0.key.rawValue) \($0.value)" }.joined(separator: ", ")
  }
}
