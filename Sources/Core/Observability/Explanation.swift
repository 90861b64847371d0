// SPDX-License-Identifier: Apache-2.0
import ExternalInput
package import Delivery
import FleetEngine
import Positioning
import Timekeeping

/// What became of the last fix, and why: the answer to "why was it not sent?".
package struct Explanation: Equatable, Sendable, Codable {
  /// One word for a script: the reason of a rejection, the category of a failure, or one of `noSource`, `noFix`, `held`,
  /// `delivered`, `inFlight`, `notDue`, `spacing`, `noToken`, `noNetwork`, `paused`, `offlinePending`, `stopping`.
  package var reason: String
  /// For a person: what happened, and when it goes on.
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
  /// What stands in the way comes first, as in the line of `systemctl status`. While nothing does, the word is what became
  /// of the last fix.
  package init(_ snapshot: VehicleAgent.Snapshot) {
    let row = snapshot.causeRow
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
      case .paused: nil
      case .held: snapshot.rejectionClause
      default: snapshot.lastFixClause
      }
    let text = [fate, row.clause?.text].compactMap(\.self).joined(separator: "; ")
    sentence = text.prefix(1).uppercased() + text.dropFirst() + "." + snapshot.rejectionsSentence
  }
}

extension VehicleAgent.Snapshot {
  fileprivate var rejectionClause: String? {
    lastRejection.map { "the last fix was refused: \($0.explanation)" }
  }

  /// What became of the last fix, whatever comes next.
  fileprivate var lastFixClause: String {
    let refusal = rejectionClause
    guard let newest else { return refusal ?? "no fix has come yet" }
    let age = "\(age(of: newestCameAt)) old\(newest.time == delivered ? " and was accepted by Fleet Engine" : "")"
    return refusal.map { "\($0); the newest accepted one is \(age)" } ?? "the last fix is \(age)"
  }

  fileprivate var rejectionsSentence: String {
    guard lastRejection != nil, pause == nil else { return "" }
    let counts = statistics.rejected.sorted { $0.key.rawValue < $1.key.rawValue }
      .map { "\($0.key.rawValue) \($0.value)" }
    return " Refused so far, by reason: \(counts.joined(separator: ", "))."
  }
}
