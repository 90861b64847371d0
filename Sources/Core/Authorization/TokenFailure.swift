// SPDX-License-Identifier: Apache-2.0
package import ExternalInput
package import HTTPMessages
import Timekeeping

/// Why there is no token.
package struct TokenFailure: Error, Equatable, Sendable {
  /// What the failure is, for the wait that follows and the advice to a person.
  package enum Reason: Equatable, Sendable {
    /// There is no vehicle to ask a token for.
    case missingAuthorizationContext
    /// The provider's answer is empty.
    case missingData
    /// The provider could not be reached, or its answer did not arrive whole.
    case transport(TransportFailure.Kind)
    /// The provider answered with an HTTP status other than 2xx.
    case status(Int)
    /// The answer is not JSON.
    case notJSON
    /// The answer lacks a key that the settings name, or holds another type there.
    case missingField
    /// The expiration cannot be read in the format that the settings name, nor any other way.
    case unknownLifetime
    /// The token is not a JWT.
    case notJWT
    /// The token has no `authorization` claim, or no vehicle in it: Fleet Engine would refuse it.
    case missingClaim
    /// The token is for another vehicle.
    case wrongVehicle
    /// The token is for another trip, task or tracking ID.
    case wrongContext
    /// The token has expired, or does on arrival.
    case expired
    /// The provider gives the very token that Fleet Engine has just refused.
    case unchanged
    /// The provider's program failed: its exit code, its signal, or why it could not end well.
    case program(String)
    /// The provider's file cannot be read: why.
    case file(String)

    /// A short name for metrics and fields, as in `wrongVehicle`.
    package var name: String {
      switch self {
      case .missingAuthorizationContext: "missingAuthorizationContext"
      case .missingData: "missingData"
      case .transport(let kind): kind.rawValue
      case .status(let status): "http\(status)"
      case .notJSON: "notJSON"
      case .missingField: "missingField"
      case .unknownLifetime: "unknownLifetime"
      case .notJWT: "notJWT"
      case .missingClaim: "missingClaim"
      case .wrongVehicle: "wrongVehicle"
      case .wrongContext: "wrongContext"
      case .expired: "expired"
      case .unchanged: "unchanged"
      case .program(let how): how
      case .file(let why): "file.\(why)"
      }
    }
  }

  /// Decides how long the next try waits, and what a person is advised.
  package var reason: Reason
  /// One sentence for a person: what came, what was expected, what to do. Never the token.
  package var sentence: Sentence
  /// The sentence with what the provider wrote in it.
  package var message: String { sentence.text }

  package init(_ reason: Reason, _ sentence: Sentence) {
    self.reason = reason
    self.sentence = sentence
  }
}

extension TokenFailure {
  /// No answer, or none that could be read to its end, in the words of who asked for a token.
  ///
  /// - Parameter deadline: of the request.
  init(_ failure: TransportFailure, deadline: Duration) {
    let what =
      switch failure.kind {
      case .unresolved, .unreachable, .refused: "the token provider cannot be reached"
      case .timedOut: "the token provider did not answer within \(deadline.wholeSeconds) s"
      case .broken: "the token provider's answer broke off"
      case .unprocessed: "the token provider rejected the request, or closed the idle connection without an answer"
      case .throttled: "the token provider asks for fewer requests"
      case .tooLarge:
        "the token provider's answer is longer than the \(TokenEndpoint.maximumResponseSize) bytes that are read"
      case .malformed: "the server at the token provider's URL does not speak HTTP"
      case .certificateUntrusted: "the token provider's certificate is not trusted"
      case .certificateNotYetValid:
        "the token provider's certificate is not valid yet, or the clock of this machine is behind"
      case .certificateExpired: "the token provider's certificate has expired, or the clock of this machine is ahead"
      case .handshakeFailed: "the TLS handshake with the token provider failed"
      case .local: "the request to the token provider cannot be sent"
      }
    let hint = failure.mayBePortal ? "; a captive portal, a proxy, or token.url or ca_file is wrong" : ""
    self.init(.transport(failure.kind), "\(what): \(failure.message)\(hint)")
  }
}
