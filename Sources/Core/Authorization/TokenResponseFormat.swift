// SPDX-License-Identifier: Apache-2.0
import ExternalInput
package import HTTPMessages
import JSON
package import Timekeeping

/// The format of a provider's response: where the token and its expiration are.
package struct TokenResponseFormat: Equatable, Sendable {
  /// The format of the value at `expirationKey`. The raw values are those of the setting `token.expiration_format`.
  package enum Expiration: String, Sendable, CaseIterable {
    case epochSeconds = "epoch-s"
    case epochMilliseconds = "epoch-ms"
    /// Seconds from the response.
    case relativeSeconds = "seconds"
    case rfc3339
    /// The `exp` claim; the response is not used.
    case jwt
    /// Detected from the value.
    case automatic = "auto"
  }

  /// The key of the token in the response, or a dotted path.
  package var tokenKey: String
  /// The key of the expiration, or a dotted path; nil: only the token's claims are used.
  package var expirationKey: String?
  /// The format of the value at `expirationKey`.
  package var expiration: Expiration
  /// Key, or dotted path, of the token's creation time, in the format of the expiration; nil if the response does not
  /// contain it.
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

  /// A response of any kind of provider, and its time.
  package struct Response: Sendable {
    /// The token itself, or JSON.
    package var body: [UInt8]
    /// Its origin for messages, as in `the token provider`.
    package var origin: String
    /// When it was sent, by the sender's clock.
    package var date: Timestamp?
    /// The time since the response was made; zero if it was made for this request.
    package var age = Duration.zero
    /// Whether it was stored before it was read, so that its relative times do not start now.
    package var isStored = false

    package init(body: [UInt8], origin: String, date: Timestamp? = nil) {
      self.body = body
      self.origin = origin
      self.date = date
    }
  }

  /// Parses an HTTP response.
  ///
  /// - Parameters:
  ///   - now: when the response arrived.
  ///   - buildDate: the wall clock is ignored if it is before this.
  /// - Throws: `TokenFailure` that names the status, key or claim.
  package func token(
    from response: HTTPResponse, for context: AuthorizationContext, at now: Moment, buildDate: Timestamp
  ) throws(TokenFailure) -> AccessToken {
    try token(from: try Response(response), for: context, at: now, buildDate: buildDate)
  }

  /// Parses JSON.
  ///
  /// - Throws: `TokenFailure` that names the key or claim.
  package func token(
    from response: Response, for context: AuthorizationContext, at now: Moment, buildDate: Timestamp
  ) throws(TokenFailure) -> AccessToken {
    let (secret, json) = try secret(in: response)
    return try token(secret, json: json, from: response, for: context, at: now, buildDate: buildDate)
  }

  /// Finds the token in JSON without validating it.
  ///
  /// - Throws: `TokenFailure` that names the key.
  func secret(in response: Response) throws(TokenFailure) -> (Secret, json: JSONValue) {
    guard response.body.contains(where: { $0 > 32 }) else {
      throw TokenFailure(
        .missingData,
        response.isStored
          ? "\(response.origin) is empty" : "\(response.origin) gave an empty body instead of a JSON object")
    }
    guard let json = try? JSONValue(parsing: response.body), json.object != nil else {
      throw TokenFailure(.notJSON, TokenResponseFormat.notJSONMessage(response))
    }
    guard let text = json.value(at: tokenKey)?.string, !text.isEmpty else {
      if json["private_key"] != nil {
        throw TokenFailure(
          .serviceAccountKey, "\(response.origin) gave the key of a service account, which must never be in a vehicle")
      }
      let what = json.value(at: tokenKey) == nil ? "nothing" : "no text"
      throw TokenFailure(
        .missingField,
        "\(response.origin) gave \(what) at `\(tokenKey)`\(TokenResponseFormat.keys(of: json))")
    }
    return (Secret(text), json)
  }

  /// Validates a token, either bare or from the JSON that contained it.
  ///
  /// - Throws: `TokenFailure` that names the key or claim.
  func token(
    _ secret: Secret, json: JSONValue? = nil, from response: Response, for context: AuthorizationContext,
    at now: Moment, buildDate: Timestamp
  ) throws(TokenFailure) -> AccessToken {
    let claims = try TokenClaims(of: secret)
    try claims.check(for: context)
    let (lifetime, source) = try lifetime(of: json, claims: claims, response, at: now, buildDate: buildDate)
    guard lifetime > .zero else {
      if let key = expirationKey, let json, looksLikeSeconds(json, response, wall: now.wall) {
        throw TokenFailure(
          .unknownLifetime,
          "\(response.origin) gave seconds at `\(key)`, and token.expiration_format is \"epoch-ms\""
        )
      }
      throw TokenFailure(
        .expired,
        response.isStored
          ? "the token in \(response.origin) expired \((.zero - lifetime).wholeSeconds) s ago: it is not renewed, or a clock is wrong"
          : "the token had expired \((.zero - lifetime).wholeSeconds) s before it arrived: \(response.origin) caches too long, or a clock is wrong"
      )
    }
    return AccessToken(
      secret: secret, context: context, receivedAt: now.boot, lifetime: lifetime, lifetimeSource: source)
  }

  // MARK: - Words

  private static func notJSONMessage(_ response: Response) -> Sentence {
    if HTTPResponse.isWebPage(response.body) {
      return "\(response.origin) gave a web page instead of JSON: a login page, a captive portal, or the wrong URL"
    }
    if TokenResponseFormat.isBareJWT(response.body) {
      return
        "\(response.origin) gave a token without a JSON object around it: only a token file may contain a bare token"
    }
    let lines = response.body.split(separator: UInt8(ascii: "\n"))
    if let start = lines.dropFirst().first(where: { $0.first == UInt8(ascii: "{") })?.startIndex,
      (try? JSONValue(parsing: Array(response.body[start...])))?.object != nil
    {
      return "\(response.origin) gave other text before its JSON object, and only the object is allowed"
    }
    return "what \(response.origin) gave is not a JSON object, or not a whole one"
  }

  /// Whether the body is nothing but a JWT: the header's JSON begins with `{"`, which is `eyJ` in base64.
  private static func isBareJWT(_ body: [UInt8]) -> Bool {
    body.starts(with: "eyJ".utf8) && body.count { $0 == UInt8(ascii: ".") } == 2
  }

  /// The keys of the response. Limited in number and length: a misconfigured provider may have put a token there.
  static func keys(of response: JSONValue) -> Sentence {
    let members = (response.object ?? [:]).sorted { $0.key < $1.key }.prefix(8)
    let keys = members.map { "`\($0.key.prefix(40))`" + ($0.value == .null ? " = null" : "") }
    return keys.isEmpty ? "" : " (there is \(ExternalText(keys.joined(separator: ", "))))"
  }
}

extension TokenResponseFormat.Response {
  /// - Throws: `TokenFailure` with reason `status` unless the status is 2xx.
  init(_ response: HTTPResponse) throws(TokenFailure) {
    guard (200..<300).contains(response.status) else {
      throw TokenFailure(
        .status(response.status), "the token provider answered HTTP \(response.status)\(Self.detail(of: response))")
    }
    self.init(body: response.body, origin: "the token provider", date: response.date)
  }

  /// What shows that a different server may have answered.
  private static func detail(of response: HTTPResponse) -> Sentence {
    if (300..<400).contains(response.status) { return ", \(response.redirectDescription)" }
    // Only a captive portal sends 511; other 5xx errors are the provider's own, and their web pages say nothing.
    guard response.status < 500 || response.status == 511, HTTPResponse.isWebPage(response.body) else { return "" }
    return " with a web page, as a captive portal or a proxy sends"
  }
}
