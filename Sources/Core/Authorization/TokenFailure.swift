// SPDX-License-Identifier: Apache-2.0
package import ExternalInput
package import HTTPMessages
import Timekeeping

/// Why there is no token.
package struct TokenFailure: Error, Equatable, Sendable {
  /// The kind of failure, which decides the wait and the advice.
  package enum Reason: Equatable, Sendable {
    /// There is no vehicle to request a token for.
    case missingAuthorizationContext
    /// The response is empty.
    case missingData
    /// The provider could not be reached, or its response was incomplete.
    case transport(TransportFailure.Kind)
    /// The provider answered with an HTTP status other than 2xx.
    case status(Int)
    /// The response is not JSON.
    case notJSON
    /// The response lacks a key that the settings name, or has a value of another type there.
    case missingField
    /// The expiration is not in the format that the settings name, and cannot be derived otherwise.
    case unknownLifetime
    /// The token is not a JWT.
    case notJWT
    /// The token has no `authorization` claim, or no vehicle in it: Fleet Engine would reject it.
    case missingClaim
    /// The token is for another vehicle.
    case wrongVehicle
    /// The token is for another trip, task or tracking ID.
    case wrongContext
    /// The token has expired, or had when it arrived.
    case expired
    /// The provider returned the same token that Fleet Engine has just rejected.
    case unchanged
    /// The token command failed: its exit code, its signal, or why it could not complete.
    case program(String)
    /// The token file cannot be read: the reason.
    case file(String)

    /// The name in metrics and journal fields, as in `wrongVehicle`.
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

  /// Decides the wait before the next attempt, and the advice.
  package var reason: Reason
  /// One sentence for the journal: what arrived, what was expected, what to do. Never contains the token.
  package var sentence: Sentence
  /// The sentence's text, including what the provider wrote.
  package var message: String { sentence.text }

  package init(_ reason: Reason, _ sentence: Sentence) {
    self.reason = reason
    self.sentence = sentence
  }
}

extension TokenFailure {
  /// A failure of the transport: no response, or an incomplete one.
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
