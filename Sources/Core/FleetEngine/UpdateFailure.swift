// SPDX-License-Identifier: Apache-2.0
package import Authorization
package import ExternalInput
package import HTTPMessages
package import Timekeeping

/// Why an update was not accepted.
package struct UpdateFailure: Error, ReportedProblem, Equatable, Sendable {
  /// Determines what happens next, by its ``Category/Row``.
  package var category: Category
  /// The HTTP status, if there was a response.
  package var httpStatus: Int?
  /// `error.status` of google.rpc.Status, as in `PERMISSION_DENIED`.
  package var status: String?
  /// What happened, without secrets.
  package private(set) var sentence: Sentence
  /// The sentence's text, including what the server wrote.
  package var message: String { sentence.text }
  /// The minimum wait that the server asks for.
  package var retryAfter: Duration?
  /// Why the token was rejected, if it was and the response says why.
  package var cause: RejectionCause?
  /// What is wrong with the rejected token, as far as its contents show; nil if nothing is wrong, or no token was
  /// rejected.
  package private(set) var tokenProblem: TokenInspection.Problem?
  /// Why there was no response; nil if there was one.
  package var transport: TransportFailure.Kind?

  /// Whether the same request on another connection will most likely be accepted: the server did not process it, or the
  /// connection was closed without a response.
  package var isWorthResending: Bool { transport == .unprocessed || transport == .unanswered }

  /// Whether only the request failed, as when the server reset its stream: the connection remains open.
  package var isConnectionOpen = false

  /// Whether the request was never sent: there was no connection.
  package var isUnsent: Bool {
    switch transport {
    case .unresolved, .unreachable, .refused, .certificateNotYetValid, .certificateExpired, .certificateUntrusted: true
    case nil, .timedOut, .broken, .unprocessed, .unanswered, .local, .throttled, .handshakeFailed, .tooLarge,
      .malformed, .answeredEarly:
      false
    }
  }

  /// Whether the request may still reach the server, or be processed there: there was no response, and it is certain
  /// neither that the request was never sent nor that the server refused it (GOAWAY, REFUSED_STREAM). A connection that
  /// was closed without a response proves neither.
  package var mayArrive: Bool { httpStatus == nil && !isUnsent && transport != .unprocessed }

  /// The service of the request.
  package var service: FleetEngineService
  /// The vehicle of the request, for advice; nil if it is not known.
  package var vehicle: FleetEngineVehicle?

  package init(
    _ category: Category, _ sentence: Sentence, from service: FleetEngineService, httpStatus: Int? = nil,
    status: String? = nil, retryAfter: Duration? = nil,
    cause: RejectionCause? = nil
  ) {
    self.category = category
    self.sentence = sentence
    self.httpStatus = httpStatus
    self.status = status
    self.retryAfter = retryAfter
    self.cause = cause
    self.service = service
  }

  /// Whether the token was rejected, so that another one may be accepted.
  package var rejectsToken: Bool { category.row.rejectsToken || cause?.isClockError == true }

  /// Whether the server evaluated the request; retrying it unchanged soon will not help.
  package var isEvaluated: Bool { category.row.isEvaluated || cause != nil }

  /// The backoff before the next attempt.
  package var backoff: Backoff.Bounds { rejectsToken ? UpdateFailure.tokenBackoff : category.row.backoff }

  /// The backoff after several failures in a row that left the connection open: a single failure may be due to this
  /// connection, and the request is retried soon on another; from the second on, the server may be shedding load.
  ///
  /// - Parameter count: the number of these failures, including this one.
  package func backoff(afterResets count: Int) -> Backoff.Bounds {
    count > 1 && category.row.isNetworkFailure ? Category.unavailable.row.backoff : backoff
  }

  /// If the token was rejected, `TokenAgent` limits the rate: there is no attempt without a token.
  static let tokenBackoff = Backoff.Bounds.seconds(1, cap: 1)

  /// The same failure, with what an inspection has found wrong with the rejected token.
  package func explained(by inspection: TokenInspection) -> UpdateFailure {
    let problems = inspection.problems.filter(\.isFatal)
    guard let first = problems.first else { return self }
    var failure = self
    failure.tokenProblem = first
    failure.sentence += "; the token itself is wrong: \(first.sentence)"
    if problems.count > 1 { failure.sentence += " (\(problems.count - 1) more: fleet-locationctl token)" }
    return failure
  }

  /// What to do, according to the token itself, the cause, or else the category. An expired certificate is in the
  /// category of untrusted ones, but may be due to this machine's clock.
  package var advice: String? {
    if transport == .certificateExpired { return UpdateFailure.advice(for: .certificateExpired) }
    return tokenProblem?.advice ?? cause?.advice(for: service, vehicle) ?? category.advice(for: service, vehicle)
  }

  /// What to do next about an outage of this kind, as a sentence without its full stop.
  package var remedy: String {
    if rejectsToken || category.row.needsConfiguration {
      return "fleet-locationctl token shows the token's contents; correct the settings or the backend"
    }
    if category.row.isTransient || category.row.isNetworkFailure {
      return "It is retried automatically; fleet-locationctl doctor checks the connection"
    }
    return "fleet-locationctl doctor checks the connection; see \(ManualPage.troubleshooting)"
  }

  /// What to do if there is no response.
  package static func advice(for kind: TransportFailure.Kind) -> String {
    kind.advice(section: "fleet_engine", url: "fleet_engine.endpoint")
  }

  /// What to do if Fleet Engine rejects fresh tokens too.
  package var tokenAdvice: String {
    tokenProblem?.advice ?? cause?.advice(for: service, vehicle)
      ?? (httpStatus == 401
        ? "check which key signs the tokens, and that its service account is of the project vehicle.provider_id"
        : UpdateFailure.roleAdvice(service, vehicle))
  }

  /// What to do if the vehicle, the project or the role may be wrong.
  static func roleAdvice(_ service: FleetEngineService, _ vehicle: FleetEngineVehicle?) -> String {
    "check vehicle.provider_id\(vehicle.parenthesized(\.providerID)), "
      + "vehicle.vehicle_id\(vehicle.parenthesized(\.vehicleID)) and the service account's role (\(service.role))"
  }
}

extension FleetEngineVehicle? {
  /// One of its names as it follows its key in a sentence, as in ` (truck-17)`; empty if it is not known.
  func parenthesized(_ name: KeyPath<FleetEngineVehicle, String>) -> String { map { " (\($0[keyPath: name]))" } ?? "" }
}
