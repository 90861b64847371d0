// SPDX-License-Identifier: Apache-2.0

/// Issues tokens that Google's Fleet Engine accepts, signed with the key of a real service account: for tests before
/// there is a backend.
package final class TokenServer {
  /// The options of the command line.
  package struct Options: Sendable {
    /// IDs of the vehicles for which tokens are issued; an ID that ends in `*` is a prefix. Empty: all.
    package var vehicles: [String] = []
    /// The value of `Authorization` that requests must have; nil requires none.
    package var authorization: String?
    /// Lifetime in seconds, at most an hour, the maximum of Fleet Engine.
    package var lifetime: Int64 = 3600
    /// Whether it issues tokens that can read the whole fleet.
    package var issuesReaderTokens = false
    /// Whether other machines may send requests, under any host name. Otherwise the host name must be one of the
    /// loopback interface, so that a page of another site, open in a browser of this machine, gets no token.
    package var isPublic = false

    package init() {}
  }

  private let options: Options
  private let issuer: TokenIssuer
  private let log: (String) -> Void

  /// Tokens issued since the start.
  package private(set) var issuedTokenCount = 0

  /// - Parameter log: receives one line for each request; a line never contains a token.
  package init(account: ServiceAccount, options: Options, log: @escaping (String) -> Void) {
    self.options = options
    self.log = log
    issuer = TokenIssuer(key: account.key, account: account.email, lifetime: options.lifetime)
  }

  /// Answers one request, and writes a line about it.
  package func handle(_ request: Request, at now: ServerTime) -> Reply {
    var reply: Reply
    do throws(APIError) {
      reply = Reply(json: try answer(request, at: now))
    } catch {
      logRequest("-", "refused \(error.httpStatus): \(error.message)", at: now)
      reply = Reply(error)
    }
    reply.headers.append(("Cache-Control", "no-store"))
    reply.headers.append(("Date", RFC3339.httpDate(now.wall)))
    return reply
  }

  private func logRequest(_ id: String, _ text: String, at now: ServerTime) {
    log("\(RFC3339.timeOfDay(now.wall)) \(UpdateLine.event(id, text))")
  }

  private func answer(_ request: Request, at now: ServerTime) throws(APIError) -> JSON {
    if !options.isPublic {
      try BrowserGuard.check(request)
      try BrowserGuard.checkSite(request)
    }
    let segments = try request.segments()
    guard segments.count == 3, segments[0] == "token" else {
      throw APIError(
        .notFound, "This server has only tokens: /token/delivery_driver/{vehicle}.", reason: "NO_SUCH_PATH")
    }
    guard !request.isTooLarge, request.method == "GET" || request.method == "POST" else {
      throw FleetService.methodNotAllowed(request)
    }
    if let expected = options.authorization, !Self.isSame(request.header("authorization") ?? "", expected) {
      throw APIError(
        .unauthenticated, "The token server requires another Authorization.", reason: "CREDENTIALS_MISSING")
    }
    let (kind, id) = (segments[1], segments[2])
    let (rights, dialect) = try rights(kind, id)
    let token: TokenIssuer.Token
    do throws(EmulatorError) {
      token = try issuer.issue(rights, at: now)
    } catch {
      throw APIError(.internal, error.message, reason: "SIGNING_FAILED")
    }
    issuedTokenCount += 1
    logRequest(id, "token issued (\(kind))", at: now)
    return dialect.answer(token)
  }

  /// The `authorization` claim for a path of Google's samples, and the format of the response.
  private func rights(_ kind: String, _ id: String) throws(APIError) -> (JSON, TokenKind.Dialect) {
    if kind == "fleet_reader" {
      guard options.issuesReaderTokens else {
        throw APIError(
          .permissionDenied, "Tokens for the whole fleet need --fleet-reader.", reason: "NOT_ALLOWED")
      }
      return (["deliveryvehicleid": "*", "taskids": ["*"]], .lastMile)
    }
    if id == "*" { throw .invalid("No token is issued for everything (\"*\").") }
    try ResourceName.check(id)
    guard let kind = TokenKind.all.first(where: { $0.path == kind }) else {
      throw APIError(
        .notFound, "There are /token/\(TokenKind.all.map(\.path).joined(separator: ", ")) and fleet_reader.",
        reason: "NO_SUCH_PATH")
    }
    if kind.service != nil { try checkVehicle(id) }
    return (.object([.init(kind.claim, .string(id))]), kind.dialect)
  }

  private func checkVehicle(_ id: String) throws(APIError) {
    let isServed =
      options.vehicles.isEmpty
      || options.vehicles.contains { $0.hasSuffix("*") ? id.hasPrefix($0.dropLast()) : id == $0 }
    guard isServed else {
      throw APIError(
        .permissionDenied, "No token is issued for this vehicle: it is not in --vehicle-scope.", reason: "NOT_ALLOWED")
    }
  }

  /// Compares in constant time.
  private static func isSame(_ text: String, _ expected: String) -> Bool {
    let (left, right) = (Array(text.utf8), Array(expected.utf8))
    guard left.count == right.count else { return false }
    return zip(left, right).reduce(0) { $0 | ($1.0 ^ $1.1) } == 0
  }
}
