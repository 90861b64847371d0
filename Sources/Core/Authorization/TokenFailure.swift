// SPDX-License-Identifier: Apache-2.0
package import ExternalInput
package import HTTPMessages

/// Why there is no token.
package struct TokenFailure: Error, ReportedProblem, Equatable, Sendable {
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
    /// The response is the key of a service account.
    case serviceAccountKey
    /// The expiration is not in the format that the settings name, and cannot be derived in another way.
    case unknownLifetime
    /// The token is not a JWT.
    case notJWT
    /// The token has no `authorization` claim, or no vehicle in it: Fleet Engine would reject it.
    case missingClaim
    /// The token is for another vehicle.
    case wrongVehicle
    /// The token is for another trip, task or tracking ID.
    case wrongContext
    /// The token has expired, or had already expired when it arrived.
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
      case .serviceAccountKey: "serviceAccountKey"
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

  /// The reason, which decides the wait before the next attempt, and the advice.
  package var reason: Reason
  /// What arrived, and what was expected. Never contains the token.
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
  init(_ failure: TransportFailure) {
    let what =
      switch failure.kind {
      case .unresolved, .unreachable, .refused: "the token provider cannot be reached"
      case .timedOut: "the token provider did not answer in time"
      case .broken: "the token provider's response broke off"
      case .unprocessed: "the token provider has not processed the request"
      case .unanswered: "the token provider closed the connection without a response"
      case .throttled: "the token provider asks for fewer requests"
      case .tooLarge:
        "the token provider's response is longer than the \(TokenEndpoint.maximumResponseSize) bytes that are read"
      case .malformed: "the server at the token provider's URL does not speak HTTP"
      case .answeredEarly: "the token provider answered before it had received the request"
      case .certificateUntrusted: "the token provider's certificate is not trusted"
      case .certificateNotYetValid: "the token provider's certificate is not valid yet"
      case .certificateExpired: "the token provider's certificate has expired"
      case .handshakeFailed: "the TLS handshake with the token provider failed"
      case .local: "the request to the token provider cannot be sent"
      }
    self.init(.transport(failure.kind), "\(what): \(failure.message)")
  }

  package var advice: String? { reason.advice }
}

extension TokenFailure.Reason {
  /// Whether another URL may return a token: a server answered, but without a token.
  var mayBeDueToURL: Bool {
    switch self {
    case .status, .notJSON, .missingData, .missingField: true
    default: false
    }
  }

  var advice: String? {
    switch self {
    case .missingAuthorizationContext:
      "check vehicle.provider_id, vehicle.vehicle_id, and the placeholders in [token]: \(ManualPage.tokenProvider)"
    case .transport(.handshakeFailed):
      "\(TokenFailure.Reason.advice(for: .handshakeFailed)); check token.client_certificate"
    case .transport(.broken), .transport(.unanswered):
      "\(TokenFailure.Reason.advice(for: .broken)); and token.client_certificate, if the provider demands one"
    case .transport(.timedOut):
      "if it connects but is slow, make it faster or raise token.deadline; \(TokenFailure.Reason.advice(for: .timedOut))"
    case .transport(let kind): TokenFailure.Reason.advice(for: kind)
    case .status(300..<400):
      "a captive portal answers instead, or token.url is not the provider's final URL: redirects are not followed"
    case .status(511): "a captive portal answers instead: log in to this network, or use another one"
    case .status(401), .status(403): "check token.headers, the credential, and token.client_certificate"
    case .status(404): "check token.url and vehicle.vehicle_id"
    case .status(429): TokenFailure.Reason.advice(for: .throttled)
    case .status(500...): "read the provider's log"
    case .status: "check token.url, token.method and token.headers, and read the provider's log"
    case .missingData, .notJSON: "see \(ManualPage.tokenProvider) for the format of a response"
    case .serviceAccountKey:
      "delete it here and revoke it, because with it anyone can act for the whole fleet; only the backend signs tokens: "
        + "\(ManualPage.tokenProvider)"
    case .missingField: "check token.token_key, token.expiration_key and token.response"
    case .unknownLifetime: "check token.expiration_key and token.expiration_format; or sign `iat` and `exp`"
    case .notJWT: "check token.token_key, and the provider's value for it"
    case .missingClaim: "sign exactly this claim (\(ManualPage.tokenProvider)), or correct vehicle.service"
    case .wrongVehicle, .wrongContext: "check vehicle.vehicle_id, the ID in token.url, and which ID the provider signs"
    case .expired: "check the clocks of both machines, and that no cache returns old tokens"
    case .unchanged: "make the provider sign a new token for each request"
    case .program("timedOut"): "make it faster, or raise token.deadline"
    case .program("notStarted"):
      "the service's user must be able to execute it, and cannot see /root and /home (ProtectHome=): install it in /usr/local/bin, with mode 0755"
    case .program("tooLarge"): "make it print only the response"
    case .program("signal9"):
      "if it needs more memory than the service may have, raise MemoryMax=: \(ManualPage.tokenProvider)"
    case .program: "run it as the service's user; the service cannot see /root and /home (ProtectHome=)"
    // The sentence comes from the module that reads files, and ends with the advice.
    case .file: nil
    }
  }

  private static func advice(for kind: TransportFailure.Kind) -> String {
    kind.advice(section: "token", url: "token.url")
  }
}
