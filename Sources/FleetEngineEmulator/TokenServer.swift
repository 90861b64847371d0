// SPDX-License-Identifier: Apache-2.0

/// Gives tokens that Google's Fleet Engine takes, signed with the key of a real service account: for trials, as a fleet's
/// backend would give them, but to any client.
package final class TokenServer {
  /// What the command line decides.
  package struct Options: Sendable {
    /// IDs of the vehicles that tokens are given for, or beginnings of IDs with `*` at their end. Empty: all.
    package var vehicles: [String] = []
    /// What requests must hold in `Authorization`; nil wants nothing.
    package var authorization: String?
    /// Seconds, up to an hour, which is all that Fleet Engine takes.
    package var lifetime: Int64 = 3600
    /// Whether it gives tokens that see the whole fleet.
    package var servesReaders = false
    /// Whether other machines may ask, by whatever name they know this one. Else it is asked by a name of the loopback only:
    /// a page of another site, open in a browser of this machine, is not to get a token.
    package var isPublic = false

    package init() {}
  }

  private let options: Options
  private let issuer: TokenIssuer
  private let log: (String) -> Void

  /// Tokens given since the start.
  package private(set) var tokens = 0

  /// - Parameter log: takes each readable line; no token is in it.
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
      say("-", "refused \(error.httpStatus): \(error.message)", at: now)
      reply = Reply(error)
    }
    reply.headers.append(("Cache-Control", "no-store"))
    reply.headers.append(("Date", RFC3339.httpDate(now.wall)))
    return reply
  }

  private func say(_ who: String, _ text: String, at now: ServerTime) {
    log("\(RFC3339.timeOfDay(now.wall)) \(UpdateLine.event(who, text))")
  }

  private func answer(_ request: Request, at now: ServerTime) throws(APIError) -> JSON {
    if !options.isPublic { try BrowserGuard.check(request) }
    let segments = try request.segments()
    guard segments.count == 3, segments[0] == "token" else {
      throw APIError(.notFound, "There are only tokens here: /token/delivery_driver/{vehicle}.", reason: "NO_SUCH_PATH")
    }
    guard !request.isTooLarge, request.method == "GET" || request.method == "POST" else {
      throw FleetService.methodNotAllowed(request)
    }
    if let expected = options.authorization, !Self.isSame(request.header("authorization") ?? "", expected) {
      throw APIError(.unauthenticated, "The token server wants another Authorization.", reason: "CREDENTIALS_MISSING")
    }
    let (kind, id) = (segments[1], segments[2])
    let (rights, dialect) = try rights(kind, id)
    let token: TokenIssuer.Token
    do throws(EmulatorError) {
      token = try issuer.issue(rights, at: now)
    } catch {
      throw APIError(.internal, error.message, reason: "SIGNING_FAILED")
    }
    tokens += 1
    say(id, "token given (\(kind))", at: now)
    return dialect.answer(token)
  }

  /// What the token is to allow, by the paths of Google's samples.
  private func rights(_ kind: String, _ id: String) throws(APIError) -> (JSON, TokenKind.Dialect) {
    if kind == "fleet_reader" {
      guard options.servesReaders else {
        throw APIError(
          .permissionDenied, "Tokens for the whole fleet are given with --fleet-reader only.", reason: "NOT_ALLOWED")
      }
      return (["deliveryvehicleid": "*", "taskids": ["*"]], .lastMile)
    }
    if id == "*" { throw .invalid("A token for everything (\"*\") is not given.") }
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
        .permissionDenied, "No token is given for this vehicle: it is not in --vehicle-scope.", reason: "NOT_ALLOWED")
    }
  }

  /// In constant time.
  private static func isSame(_ text: String, _ expected: String) -> Bool {
    let (left, right) = (Array(text.utf8), Array(expected.utf8))
    guard left.count == right.count else { return false }
    return zip(left, right).reduce(0) { $0 | ($1.0 ^ $1.1) } == 0
  }
}
