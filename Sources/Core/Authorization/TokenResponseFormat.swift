// SPDX-License-Identifier: Apache-2.0
package import HTTPMessages
package import Timekeeping

/// How a provider's answer is read: where the token stands and how its end is told.
package struct TokenResponseFormat: Equatable, Sendable {
  package enum Expiration: Equatable, Sendable {
    case epochSeconds
    case epochMilliseconds
    /// Seconds from the answer on.
    case relativeSeconds
    case rfc3339
    /// The `exp` claim; the answer is not looked at.
    case jwt
    /// Whichever of the above the value looks like.
    case automatic
  }

  /// Key of the answer, or dotted path.
  package var tokenKey: String
  /// Nil: only the token's claims tell.
  package var expirationKey: String?
  package var expiration: Expiration
  package var creationKey: String?

  package init(tokenKey: String, expirationKey: String?, expiration: Expiration, creationKey: String? = nil) {
    self.tokenKey = tokenKey
    self.expirationKey = expirationKey
    self.expiration = expiration
    self.creationKey = creationKey
  }

  /// Reads an answer.
  ///
  /// - Parameters:
  ///   - now: when the answer arrived.
  ///   - buildDate: a wall clock before it is not believed.
  /// - Throws: `TokenFailure` that names the key or claim.
  package func token(
    from response: HTTPResponse, for context: AuthorizationContext, at now: Moment, buildDate: Timestamp
  ) throws(TokenFailure) -> AccessToken {
    guard (200..<300).contains(response.status) else {
      throw TokenFailure(.status(response.status), TokenResponseFormat.statusMessage(response.status))
    }
    guard !response.body.isEmpty else {
      throw TokenFailure(.missingData, "the token provider answered \(response.status) with an empty body")
    }
    guard let answer = try? JSONValue(parsing: response.body), answer.object != nil else {
      throw TokenFailure(.notJSON, TokenResponseFormat.notJSONMessage(response))
    }
    guard let text = answer.value(at: tokenKey)?.string, !text.isEmpty else {
      throw TokenFailure(
        .missingField,
        "the token provider's answer has no text at `\(tokenKey)`\(TokenResponseFormat.keys(of: answer)): set token_key"
      )
    }
    let secret = Secret(text)
    let claims = try TokenClaims(of: secret)
    try claims.check(for: context)
    let date = response.header("date").flatMap { Timestamp(httpDate: $0) }
    let (lifetime, source) = try lifetime(of: answer, claims: claims, date: date, at: now, buildDate: buildDate)
    guard lifetime > .zero else {
      throw TokenFailure(
        .expired,
        "the token had expired \((.zero - lifetime).wholeSeconds) s before it arrived: the provider caches too long, or its clock or this one is wrong"
      )
    }
    return AccessToken(
      secret: secret, context: context, receivedAt: now.boot, lifetime: lifetime, lifetimeSource: source)
  }

  // MARK: - Lifetime

  private enum End {
    case after(Duration)
    case at(Timestamp)
  }

  private func lifetime(
    of answer: JSONValue, claims: TokenClaims, date: Timestamp?, at now: Moment, buildDate: Timestamp
  ) throws(TokenFailure) -> (Duration, AccessToken.LifetimeSource) {
    let whole = claims.issuedAt.flatMap { issued in claims.expiresAt.map { $0 - issued } }
    let told = try told(of: answer, claims: claims, date: date, at: now, buildDate: buildDate)
    switch (told, whole) {
    case (let (lifetime, source)?, let whole?) where whole > .zero:
      // No provider can lengthen what it has signed.
      return (min(lifetime, whole), source)
    case (let told?, _):
      return told
    case (nil, let whole?):
      return (whole, .claims)
    case (nil, nil):
      throw TokenFailure(
        .unknownLifetime,
        "the token's lifetime is not told: no \(expirationKey.map { "`\($0)`" } ?? "`exp`") that this machine can judge without a clock, and no `iat`"
      )
    }
  }

  private func told(
    of answer: JSONValue, claims: TokenClaims, date: Timestamp?, at now: Moment, buildDate: Timestamp
  ) throws(TokenFailure) -> (Duration, AccessToken.LifetimeSource)? {
    let end: End
    if expiration != .jwt, let key = expirationKey {
      guard let value = answer.value(at: key) else {
        throw TokenFailure(
          .missingField,
          "the token provider's answer has no `\(key)`\(TokenResponseFormat.keys(of: answer)): set expiration_key, or expiration_format = \"jwt\""
        )
      }
      guard let read = TokenResponseFormat.end(value, as: expiration) else {
        throw TokenFailure(
          .unknownLifetime, "`\(key)` in the token provider's answer is not of the form that expiration_format tells")
      }
      end = read
    } else if let expiresAt = claims.expiresAt {
      end = .at(expiresAt)
    } else {
      return nil
    }
    switch end {
    case .after(let duration):
      return (duration, .relative)
    case .at(let stamp):
      if let date { return (stamp - date, .responseDate) }
      if let key = creationKey, let value = answer.value(at: key),
        case .at(let created)? = TokenResponseFormat.end(value, as: expiration)
      {
        return (stamp - created, .creation)
      }
      if now.wall >= buildDate { return (stamp - now.wall, .wallClock) }
      return nil
    }
  }

  private static func end(_ value: JSONValue, as format: Expiration) -> End? {
    switch format {
    case .epochSeconds:
      return value.integer.map { .at(Timestamp(seconds: $0)) }
    case .epochMilliseconds:
      return value.integer.map { .at(Timestamp(milliseconds: $0)) }
    case .relativeSeconds:
      guard let seconds = value.integer, (0...31_536_000).contains(seconds) else { return nil }
      return .after(.seconds(seconds))
    case .rfc3339:
      return value.string.flatMap { Timestamp(rfc3339: $0) }.map { .at($0) }
    case .jwt:
      return nil
    case .automatic:
      if let text = value.string, let stamp = Timestamp(rfc3339: text) { return .at(stamp) }
      guard let number = value.integer, number >= 0 else { return nil }
      // 10^8 seconds are three years from now or the year 1973; 10^11 seconds are the year 5138.
      if number < 100_000_000 { return .after(.seconds(number)) }
      return .at(number < 100_000_000_000 ? Timestamp(seconds: number) : Timestamp(milliseconds: number))
    }
  }

  // MARK: - Words

  private static func statusMessage(_ status: Int) -> String {
    let advice =
      switch status {
      case 300..<400: "it redirects, which is not followed: give the final URL"
      case 401, 403: "it wants other credentials: check [token] headers"
      case 404: "it knows no such path or vehicle: check [token] url and vehicle_id"
      case 429: "it asks for fewer requests"
      case 500...: "it has a fault of its own"
      default: "check [token] url, method and headers"
      }
    return "the token provider answered HTTP \(status): \(advice)"
  }

  private static func notJSONMessage(_ response: HTTPResponse) -> String {
    let isHTML = response.body.first { $0 > 32 } == UInt8(ascii: "<")
    return isHTML
      ? "the token provider answered with a web page instead of JSON: a login page, a captive portal, or the wrong URL"
      : "the token provider's answer is not a JSON object"
  }

  private static func keys(of answer: JSONValue) -> String {
    let keys = (answer.object ?? [:]).keys.sorted().prefix(8)
    return keys.isEmpty ? "" : " (it has \(keys.map { "`\($0.prefix(40))`" }.joined(separator: ", ")))"
  }
}
