// SPDX-License-Identifier: Apache-2.0
import ExternalInput
package import HTTPMessages
import JSON
import Timekeeping

/// The interpretation of a response to an update.
package enum UpdateOutcome: Equatable, Sendable {
  case accepted
  indirect case failed(UpdateFailure)

  /// - Parameter vehicle: the vehicle of the request, which advice names.
  package init(_ outcome: HTTPOutcome, of vehicle: FleetEngineVehicle) {
    self.init(outcome, from: vehicle.service, showing: vehicle.names)
    guard case .failed(var failure) = self else { return }
    failure.vehicle = vehicle
    self = .failed(failure)
  }

  /// - Parameters:
  ///   - service: the service of the request.
  ///   - names: the names of the request's vehicle, which are shown if the server quotes them.
  package init(_ outcome: HTTPOutcome, from service: FleetEngineService, showing names: [String] = []) {
    switch outcome {
    case .failure(let failure): self = .failed(UpdateOutcome.failure(failure, service))
    case .response(let response): self = UpdateOutcome.read(response, service, names)
    }
  }

  /// Whether the response is from Fleet Engine, as far as can be determined.
  package var isFromFleetEngine: Bool {
    switch self {
    case .accepted: true
    case .failed(let failure): failure.status != nil && !failure.category.row.isFromOtherServer
    }
  }

  // MARK: - Without a response

  private static func failure(_ failure: TransportFailure, _ service: FleetEngineService) -> UpdateFailure {
    let category: UpdateFailure.Category =
      switch failure.kind {
      case .unresolved, .unreachable, .refused, .timedOut, .broken, .unprocessed, .unanswered, .local: .network
      case .throttled: .throttled
      case .certificateNotYetValid: .clockSkew
      case .certificateUntrusted, .certificateExpired, .handshakeFailed, .tooLarge, .malformed, .answeredEarly:
        .notFleetEngine
      }
    var result = UpdateFailure(category, Sentence(own: failure.message), from: service)
    result.transport = failure.kind
    result.isConnectionOpen = failure.isConnectionOpen
    return result
  }

  // MARK: - Responses

  private static func read(
    _ response: HTTPResponse, _ service: FleetEngineService, _ names: [String]
  ) -> UpdateOutcome {
    // The content is not needed: the body is a JSON object, so it is not the page of a captive portal, and it has no
    // error.
    if response.status == 200, JSONReader.object(response.body, hasMember: "error") == false { return .accepted }
    let json = try? JSONValue(parsing: response.body)
    if (200..<300).contains(response.status), json?.object?["error"] == nil {
      let body = json?.object == nil ? describe(response.body) : "an update is acknowledged with 200"
      return .failed(
        UpdateFailure(
          .notFleetEngine, "something answered \(response.status) that is not Fleet Engine: \(body)", from: service,
          httpStatus: response.status))
    }
    let error = json?.value(at: "error")
    let status = error?.value(at: "status")?.string
    let bodyDelay = retryDelay(in: error)
    let headerDelay = response.header("retry-after").flatMap { RetryAfter.delay($0, date: response.header("date")) }
    var category = category(status: status, http: response.status, isJSON: json?.object != nil)
    var cause: RejectionCause?
    if category.row.rejectsToken {
      cause = RejectionCause(reason: reason(in: error), message: error?.value(at: "message")?.string)
      if cause?.isClockError == true { category = .clockSkew }
    }
    let text = error?.value(at: "message")?.string.map { ExternalText(withoutFullStop($0), showing: names) }
    // What Google writes about a token, a role or a name is what an operator needs, and contains no position; what
    // Google writes about a request may quote a position.
    let isWorldReadable = status.map(knownCodes.contains) ?? false && (category.row.needsConfiguration || cause != nil)
    // A known code of google.rpc is safe to show; anything else is external text.
    let code: Sentence? = status.map { knownCodes.contains($0) ? Sentence(own: $0) : "\(ExternalText($0, limit: 64))" }
    let message: Sentence =
      switch (code, text) {
      case (let code?, let text?) where isWorldReadable: "\(code): \(worldReadable: text)"
      case (let code?, let text?): "\(code): \(text)"
      case (let code?, nil): code
      case (nil, let text?): "HTTP \(response.status): \(text)"
      case (nil, nil) where (300..<400).contains(response.status):
        "HTTP \(response.status), \(response.redirectDescription)"
      case (nil, nil): "HTTP \(response.status), \(describe(response.body))"
      }
    return .failed(
      UpdateFailure(
        category, message, from: service, httpStatus: response.status, status: status,
        retryAfter: [bodyDelay, headerDelay].compactMap { $0 }.max(), cause: cause))
  }

  /// Determined by `error.status`, because 400, 409 and 500 are each shared by several codes; by the HTTP status only
  /// if there is no `error.status`, as in responses of front ends and proxies.
  private static func category(status: String?, http: Int, isJSON: Bool) -> UpdateFailure.Category {
    switch status {
    case "UNAVAILABLE", "DEADLINE_EXCEEDED", "CANCELLED", "ABORTED", "INTERNAL", "UNKNOWN", "DATA_LOSS":
      return .unavailable
    case "RESOURCE_EXHAUSTED": return .throttled
    case "UNAUTHENTICATED": return .unauthenticated
    case "PERMISSION_DENIED": return .permissionDenied
    case "NOT_FOUND": return .notFound
    case "INVALID_ARGUMENT", "FAILED_PRECONDITION", "OUT_OF_RANGE", "UNIMPLEMENTED", "ALREADY_EXISTS":
      return .rejected
    default: break
    }
    switch http {
    case 429: return .throttled
    // RFC 6585: only captive portals send this.
    case 511: return .notFleetEngine
    case 408, 499, 500...: return .unavailable
    case 413: return .rejected
    case 401 where isJSON: return .unauthenticated
    case 403 where isJSON: return .permissionDenied
    case 404 where isJSON: return .notFound
    case 400..<500 where isJSON: return .rejected
    default: return .notFleetEngine
    }
  }

  /// `google.rpc.ErrorInfo.reason`, as in `ACCESS_TOKEN_EXPIRED`.
  private static func reason(in error: JSONValue?) -> String? {
    for detail in error?.value(at: "details")?.array ?? [] {
      guard detail.value(at: "@type")?.string == "type.googleapis.com/google.rpc.ErrorInfo" else { continue }
      if let reason = detail.value(at: "reason")?.string { return reason }
    }
    return nil
  }

  /// `google.rpc.RetryInfo.retryDelay`, a Duration as in `3.5s`, limited to the cap of `Retry-After`.
  private static func retryDelay(in error: JSONValue?) -> Duration? {
    for detail in error?.value(at: "details")?.array ?? [] {
      guard detail.value(at: "@type")?.string == "type.googleapis.com/google.rpc.RetryInfo",
        let text = detail.value(at: "retryDelay")?.string, text.hasSuffix("s"),
        text.utf8.allSatisfy({ (48...57).contains($0) || $0 == UInt8(ascii: ".") || $0 == UInt8(ascii: "s") }),
        let seconds = Double(text.dropLast()), seconds >= 0
      else { continue }
      return .milliseconds(Int64(min(seconds, Double(RetryAfter.cap.wholeSeconds)) * 1000))
    }
    return nil
  }

  private static func describe(_ body: [UInt8]) -> String {
    if HTTPResponse.isWebPage(body) { return "a web page" }
    return body.contains { $0 > 32 } ? "a body that is not JSON" : "an empty body"
  }

  /// The codes of google.rpc.Code.
  private static let knownCodes: Set<String> = [
    "CANCELLED", "UNKNOWN", "INVALID_ARGUMENT", "DEADLINE_EXCEEDED", "NOT_FOUND", "ALREADY_EXISTS", "PERMISSION_DENIED",
    "UNAUTHENTICATED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION", "ABORTED", "OUT_OF_RANGE", "UNIMPLEMENTED",
    "INTERNAL", "UNAVAILABLE", "DATA_LOSS",
  ]

  /// The sentence continues after the server's text.
  private static func withoutFullStop(_ text: String) -> Substring { text.hasSuffix(".") ? text.dropLast() : text[...] }
}
