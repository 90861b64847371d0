// SPDX-License-Identifier: Apache-2.0
import ExternalInput
package import Delivery
import FleetEngine
import Positioning
import Timekeeping

/// What happened to the last fix, and why: the answer to "why was it not sent?".
package struct Explanation: Equatable, Sendable, Codable {
  /// One word for a script: the reason of a rejection, the category of a failure, or one of `noSource`, `noFix`,
  /// `held`, `delivered`, `inFlight`, `notDue`, `spacing`, `noToken`, `noNetwork`, `paused`, `offlinePending`,
  /// `vehicleInUse`, `stopping`.
  package var reason: String
  /// For a person: what happened, and when the next update is due.
  package var sentence: String

  /// - Parameters:
  ///   - reason: one of those that ``reason`` lists.
  ///   - sentence: without coordinates.
  package init(_ reason: String, _ sentence: String) {
    self.reason = reason
    self.sentence = sentence
  }
}

extension Explanation {
  /// The reason is the cause that prevents updates, as in the line of `systemctl status`; when nothing prevents them,
  /// it is what happened to the last fix.
  package init(_ snapshot: VehicleAgent.Snapshot) {
    let row = snapshot.causeDescription
    reason = row.reason
    switch snapshot.cause {
    case .notDue, .rateLimited, .inFlight:
      if let rejection = snapshot.lastRejection {
        reason = rejection.rawValue
      } else if let newest = snapshot.newest, newest.time == snapshot.delivered {
        reason = "delivered"
      }
    default: break
    }
    let fate: String? =
      switch snapshot.cause {
      case .paused, .vehicleInUse: nil
      case .held: snapshot.rejectionClause
      default: snapshot.lastFixClause
      }
    let text = [fate, row.clause?.text].compactMap(\.self).joined(separator: "; ")
    sentence = text.sentenceCase + "." + snapshot.rejectionsSentence
  }
}

extension VehicleAgent.Snapshot {
  fileprivate var rejectionClause: String? {
    lastRejection.map { "the last fix was rejected: \($0.sentence.text)" }
  }

  /// What happened to the last fix, regardless of the cause.
  fileprivate var lastFixClause: String {
    let rejection = rejectionClause
    guard let newest else { return rejection ?? "no fix has been received yet" }
    let age = "\(age(of: newestCameAt)) old\(newest.time == delivered ? " and was accepted by Fleet Engine" : "")"
    return rejection.map { "\($0); the newest accepted one is \(age)" } ?? "the last fix is \(age)"
  }

  fileprivate var rejectionsSentence: String {
    guard lastRejection != nil, pause == nil else { return "" }
    let counts = statistics.rejected.sorted { $0.key.rawValue < $1.key.rawValue }
      .map { "\($0.key.rawValue) \($0.value)" }
    return " Rejected so far, by reason: \(counts.joined(separator: ", "))."
  }
}
