// SPDX-License-Identifier: Apache-2.0
import ExternalInput
package import Vehicle
import FleetEngine
import Positioning

/// What happened to the last fix, and why: the answer to "why was it not sent?".
package struct Explanation: Equatable, Sendable, Codable {
  /// One word for a script: the reason of a rejection, the category of a failure, or one of `noSource`, `noFix`,
  /// `held`, `delivered`, `inFlight`, `notDue`, `spacing`, `noToken`, `noNetwork`, `paused`, `offlinePending`,
  /// `vehicleInUse`, `stopping`, `noSettings`.
  package var reason: String
  /// For a person: what happened, and when the next update is due.
  package var sentence: String

  /// - Parameters:
  ///   - reason: one of the words listed at ``reason``.
  ///   - sentence: without coordinates.
  package init(_ reason: String, _ sentence: String) {
    self.reason = reason
    self.sentence = sentence
  }
}

extension Explanation {
  /// The reason is the cause that prevents updates, as in the line of `systemctl status`; if nothing prevents them, it
  /// is what happened to the last fix.
  package init(_ snapshot: VehicleAgent.Snapshot) {
    let description = snapshot.causeDescription
    reason = description.reason
    if snapshot.isUnobstructed {
      if let rejection = snapshot.lastRejection {
        reason = rejection.rawValue
      } else if let newest = snapshot.newest, newest.time == snapshot.delivered {
        reason = "delivered"
      }
    }
    let duty = snapshot.pause == nil && snapshot.offDuty != nil ? snapshot.dutyClause : nil
    sentence = snapshot.sentence(endingWith: description.clause?.text, duty)
  }
}

extension VehicleAgent.Snapshot {
  /// What happened to the last fix, for a reader who knows the cause that prevents updates; empty if there is nothing
  /// to say, as during a pause.
  var lastFixSentence: String { sentence(endingWith: isUnobstructed ? causeDescription.clause?.text : nil) }

  /// Whether nothing prevents updates.
  fileprivate var isUnobstructed: Bool {
    switch cause {
    case .notDue, .rateLimited, .inFlight: true
    default: false
    }
  }

  /// - Parameter clauses: clauses to append, such as what the agent waits for; nil ones are left out.
  fileprivate func sentence(endingWith clauses: String?...) -> String {
    let fixClause: String? =
      switch cause {
      case .paused, .vehicleInUse: nil
      case .held: rejectionClause
      default: lastFixClause
      }
    let text = ([fixClause] + clauses).compactMap(\.self)
    return text.isEmpty ? "" : text.joined(separator: "; ").sentenceCase + "." + rejectionsSentence
  }

  fileprivate var rejectionClause: String? {
    lastRejection.map { "the last fix was rejected: \($0.sentence.text)" }
  }

  /// What being off duty means for the updates.
  fileprivate var dutyClause: String {
    "the driver is \(offDutyPhrase): each update sets the vehicle to OFFLINE until fleet-locationctl online"
  }

  /// What happened to the last fix, regardless of the cause.
  fileprivate var lastFixClause: String {
    let rejection = rejectionClause
    guard let newest else { return rejection ?? "no fix has been received yet" }
    let age = "\(age(of: newestReceivedAt)) old\(newest.time == delivered ? " and was accepted by Fleet Engine" : "")"
    return rejection.map { "\($0); the newest accepted one is \(age)" } ?? "the last fix is \(age)"
  }

  fileprivate var rejectionsSentence: String {
    guard lastRejection != nil, pause == nil else { return "" }
    let counts = statistics.rejected.sorted { $0.key.rawValue < $1.key.rawValue }
      .map { "\($0.key.rawValue) \($0.value)" }
    return " Rejected so far, by reason: \(counts.joined(separator: ", "))."
  }
}
