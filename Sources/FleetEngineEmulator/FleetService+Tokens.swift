// SPDX-License-Identifier: Apache-2.0

extension FleetService {
  /// The token endpoints of Google's two sample backends, which differ in path and keys.
  ///
  /// - Parameter id: the vehicle's ID; in a consumer's token, that of the trip or the parcel.
  func token(_ request: Request, kind path: String, id: String, at now: ServerTime) throws(APIError) -> Reply {
    guard let kind = TokenKind.all.first(where: { $0.path == path }) else {
      throw APIError(
        .notFound, "There are /token/\(TokenKind.all.map(\.path).joined(separator: ", ")).", reason: "NO_SUCH_PATH")
    }
    guard request.method == "GET" || request.method == "POST" else { throw Self.methodNotAllowed(request) }
    if id == "*" { throw .invalid("No token is issued for everything (\"*\").") }
    try ResourceName.check(id)
    tokenRequests += 1
    // A consumer has no statistics.
    let key = kind.service?.key(id) ?? ""
    if kind.service != nil { statistics[key, default: .init()].countTokenRequest() }
    let fault = consumeFault(.token, vehicle: id, at: now)
    if let fault, fault.flaw == nil, let reply = fault.reply(at: now, replacing: nil) {
      publish(
        .tokenRefused(.init(fault, reply)), key,
        UpdateLine.event(id, "token request: \(fault.label): \(fault.summary)"), at: now)
      return reply
    }
    if let expected = options.tokenAuthorization, request.header("authorization") != expected {
      let error = APIError(
        .unauthenticated, "The token endpoint requires another Authorization.", reason: "CREDENTIALS_MISSING")
      publish(
        .tokenRefused(.init(error)), key, UpdateLine.event(id, "token refused: the request is not authorized"), at: now)
      throw error
    }
    let token: TokenIssuer.Token
    do throws(EmulatorError) {
      token = try issuer.issue(kind.claim, id, at: now, flaw: fault?.flaw)
    } catch {
      throw APIError(.internal, error.message, reason: "SIGNING_FAILED")
    }
    if kind.service == nil {
      consumerTokenCount += 1
    } else {
      statistics[key, default: .init()].countToken()
    }
    let what = kind.service == nil ? "token issued (\(kind.path))" : "token issued"
    publish(
      .token(issued: token.creation, expires: token.expiration), key,
      UpdateLine.event(id, what + (fault.map { ", with a \($0.label): \($0.summary)" } ?? "")), at: now)
    var reply = Reply(json: kind.dialect.answer(token))
    reply.headers.append(("Cache-Control", "no-store"))
    reply.delay = fault?.delay ?? 0
    return reply
  }
}

/// The identifiers in a resource name, by Google's rules.
enum ResourceName {
  /// For messages.
  static let rule = "1 to 64 characters without / : ? , #"

  static func isValid(_ identifier: String) -> Bool {
    (1...64).contains(identifier.unicodeScalars.count)
      && !identifier.unicodeScalars.contains { "/:?,#".unicodeScalars.contains($0) }
  }

  /// - Throws: `APIError`, INVALID_ARGUMENT.
  static func check(_ identifier: String) throws(APIError) {
    guard isValid(identifier) else {
      throw .invalid("Invalid resource ID: \(rule) are allowed.", reason: "INVALID_NAME")
    }
  }
}

extension Fault {
  /// The response that is sent instead of the correct one.
  ///
  /// - Parameter correct: the correct response; nil if the request was not performed.
  /// - Returns: nil if the request has to be performed first, because the fault does not replace the response.
  func reply(at now: ServerTime, replacing correct: Reply?) -> Reply? {
    var reply: Reply
    if let body {
      reply = bodyReply(body)
    } else if let status, status >= 300 {
      let code = APIError.Code(httpStatus: status)
      reply = Reply(
        APIError(
          code, message ?? "A simulated fault.", reason: reason ?? "EMULATED_FAULT", retryDelay: retryInfo,
          httpStatus: status))
    } else if let status {
      reply = correct ?? Reply(json: [:], status: status)
      reply.status = status
    } else if silence != nil {
      reply = Reply(status: 200)
    } else {
      guard var correct else { return nil }
      correct.delay = delay
      return correct
    }
    reply.silence = silence
    reply.delay = delay
    if let retryAfter { reply.headers.append(("Retry-After", Self.retryAfterHeader(retryAfter, at: now))) }
    return reply
  }

  private func bodyReply(_ body: Body) -> Reply {
    let status = status ?? 200
    let json = [("Content-Type", "application/json; charset=UTF-8")]
    let page =
      "<!DOCTYPE html><html><head><title>Welcome</title></head><body>Please log in to the network.</body></html>\n"
    return switch body {
    case .html:
      Reply(status: status, headers: [("Content-Type", "text/html; charset=utf-8")], content: .bytes(Array(page.utf8)))
    case .empty: Reply(status: status)
    case .truncated:
      Reply(
        status: status, headers: json,
        content: .truncated(Array("{\"name\": \"providers/cut-off/deliveryVehicles/cut-off\"}".utf8)))
    case .huge: Reply(status: status, headers: json, content: .endless(200_000_000))
    case .notJSON: Reply(status: status, headers: json, content: .bytes(Array("this is not JSON\n".utf8)))
    }
  }

  private static func retryAfterHeader(_ text: String, at now: ServerTime) -> String {
    if text == "http-date" { return RFC3339.httpDate(now.wall + 10_000) }
    guard text.hasPrefix("date+"), let seconds = Int64(text.dropFirst(5)), (0...86_400).contains(seconds) else {
      return text
    }
    return RFC3339.httpDate(now.wall + seconds * 1000)
  }
}
