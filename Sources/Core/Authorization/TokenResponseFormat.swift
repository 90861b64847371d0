// SPDX-License-Identifier: Apache-2.0
import ExternalInput
package import HTTPMessages
package import Timekeeping

/// How a provider's answer is read: where the token stands and how its end is told.
package struct TokenResponseFormat: Equatable, Sendable {
  /// What the value at `expirationKey` is. The raw values are those of the setting `token.expiration_format`.
  package enum Expiration: String, Sendable, CaseIterable {
    case epochSeconds = "epoch-s"
    case epochMilliseconds = "epoch-ms"
    /// Seconds from the answer on.
    case relativeSeconds = "seconds"
    case rfc3339
    /// The `exp` claim; the answer is not looked at.
    case jwt
    /// Whichever of the above the value looks like.
    case automatic = "auto"
  }

  /// Key of the answer, or dotted path.
  package var tokenKey: String
  /// Nil: only the token's claims tell.
  package var expirationKey: String?
  /// How the value at `expirationKey` is read.
  package var expiration: Expiration
  /// Key, or dotted path, of the time at which the token was made, in the format of the expiration; nil when the answer
  /// has none.
  package var creationKey: String?

  package init(
    tokenKey: String = "token", expirationKey: String? = nil, expiration: Expiration = .automatic,
    creationKey: String? = nil
  ) {
    self.tokenKey = tokenKey
    self.expirationKey = expirationKey
    self.expiration = expiration
    self.creationKey = creationKey
  }

  /// An answer of whatever party, and what is known of its time.
  package struct Answer: Sendable {
    /// The token itself, or JSON.
    package var body: [UInt8]
    /// Names it in a message, as in `the token provider`.
    package var party: String
    /// When it was sent, by the clock of who sent it.
    package var date: Timestamp?
    /// How long ago it was made; zero when it was made for this request.
    package var age = Duration.zero
    /// Whether it has lain somewhere, so that its own times say nothing of now.
    package var isStored = false

    package init(body: [UInt8], party: String, date: Timestamp? = nil) {
      self.body = body
      self.party = party
      self.date = date
    }
  }

  /// Reads the answer of a URL.
  ///
  /// - Parameters:
  ///   - now: when the answer arrived.
  ///   - buildDate: a wall clock before it is not believed.
  /// - Throws: `TokenFailure` that names the status, key or claim.
  package func token(
    from response: HTTPResponse, for context: AuthorizationContext, at now: Moment, buildDate: Timestamp
  ) throws(TokenFailure) -> AccessToken {
    try token(from: try Answer(response), for: context, at: now, buildDate: buildDate)
  }

  /// Reads a JSON answer.
  ///
  /// - Throws: `TokenFailure` that names the key or claim.
  package func token(
    from answer: Answer, for context: AuthorizationContext, at now: Moment, buildDate: Timestamp
  ) throws(TokenFailure) -> AccessToken {
    let (secret, json) = try secret(in: answer)
    return try token(secret, beside: json, from: answer, for: context, at: now, buildDate: buildDate)
  }

  /// Finds the token in a JSON answer, whoever it is for and whatever it is worth.
  ///
  /// - Throws: `TokenFailure` that names the key.
  func secret(in answer: Answer) throws(TokenFailure) -> (Secret, beside: JSONValue) {
    guard answer.body.contains(where: { $0 > 32 }) else {
      throw TokenFailure(
        .missingData,
        answer.isStored ? "\(answer.party) is empty" : "\(answer.party) gave an empty body instead of a JSON object")
    }
    guard let json = try? JSONValue(parsing: answer.body), json.object != nil else {
      throw TokenFailure(.notJSON, TokenResponseFormat.notJSONMessage(answer))
    }
    guard let text = json.value(at: tokenKey)?.string, !text.isEmpty else {
      let what = json.value(at: tokenKey) == nil ? "nothing" : "no text"
      throw TokenFailure(
        .missingField,
        "\(answer.party) gave \(what) at `\(tokenKey)`\(TokenResponseFormat.keys(of: json)): set token_key")
    }
    return (Secret(text), json)
  }

  /// Reads a token that stands alone, or beside what JSON tells of it.
  ///
  /// - Throws: `TokenFailure` that names the key or claim.
  func token(
    _ secret: Secret, beside json: JSONValue? = nil, from answer: Answer, for context: AuthorizationContext,
    at now: Moment, buildDate: Timestamp
  ) throws(TokenFailure) -> AccessToken {
    let claims = try TokenClaims(of: secret)
    try claims.check(for: context)
    let (lifetime, source) = try lifetime(of: json, claims: claims, answer, at: now, buildDate: buildDate)
    guard lifetime > .zero else {
      if let key = expirationKey, let json, isInSeconds(json, answer, wall: now.wall) {
        throw TokenFailure(
          .unknownLifetime,
          "\(answer.party) gave seconds at `\(key)`, and milliseconds are expected there: set token.expiration_format = \"epoch-s\", or have milliseconds written"
        )
      }
      throw TokenFailure(
        .expired,
        answer.isStored
          ? "the token in \(answer.party) expired \((.zero - lifetime).wholeSeconds) s ago: who keeps it up to date has stopped, or a clock is wrong"
          : "the token had expired \((.zero - lifetime).wholeSeconds) s before it arrived: \(answer.party) caches too long, or its clock or this one is wrong"
      )
    }
    return AccessToken(
      secret: secret, context: context, receivedAt: now.boot, lifetime: lifetime, lifetimeSource: source)
  }

  // MARK: - Words

  fileprivate static func failure(_ status: Int) -> TokenFailure {
    TokenFailure(.status(status), statusMessage(status))
  }

  private static func statusMessage(_ status: Int) -> Sentence {
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

  private static func notJSONMessage(_ answer: Answer) -> Sentence {
    let isHTML = answer.body.first { $0 > 32 } == UInt8(ascii: "<")
    return isHTML
      ? "\(answer.party) gave a web page instead of JSON: a login page, a captive portal, or the wrong URL"
      : "what \(answer.party) gave is not a JSON object, or not a whole one"
  }

  /// Which keys there are. A confused provider may have a token for one.
  static func keys(of answer: JSONValue) -> Sentence {
    let keys = (answer.object ?? [:]).keys.sorted().prefix(8)
    return keys.isEmpty ? "" : " (there is \(ExternalText(keys.map { "`\($0.prefix(40))`" }.joined(separator: ", "))))"
  }
}

extension TokenResponseFormat.Answer {
  /// - Throws: `TokenFailure` with reason `status` unless it is one of success.
  init(_ response: HTTPResponse) throws(TokenFailure) {
    guard (200..<300).contains(response.status) else { throw TokenResponseFormat.failure(response.status) }
    self.init(body: response.body, party: "the token provider", date: response.date)
  }
}
