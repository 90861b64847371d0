// SPDX-License-Identifier: Apache-2.0
import ExternalInput
import JSON
import Timekeeping

extension TokenResponseFormat {
  private enum StatedExpiration {
    case after(Duration)
    case at(Timestamp)
  }

  /// The remaining lifetime of a token, and what it was derived from.
  ///
  /// - Parameter json: the response that contains the token; nil for a bare token.
  func lifetime(
    of json: JSONValue?, claims: TokenClaims, _ response: Response, at now: Moment, buildDate: Timestamp
  ) throws(TokenFailure) -> (Duration, AccessToken.LifetimeSource) {
    let signedLifetime = claims.issuedAt.flatMap { issued in claims.expiresAt.map { $0 - issued } }
    let end = try statedExpiration(of: json, claims: claims, response)
    let created = json.flatMap(createdAt)
    let isClockPlausible = now.wall >= buildDate
    let stated =
      response.isStored
      ? storedLifetime(end, created, signedLifetime, response.age, wall: isClockPlausible ? now.wall : nil)
      // An implausible date is ignored: the server's clock is wrong, but its tokens may be valid.
      : freshLifetime(
        end, created, response.date.flatMap { $0.isPlausible(after: buildDate) ? $0 : nil },
        wall: isClockPlausible ? now.wall : nil)
    switch (stated, signedLifetime) {
    case (let (lifetime, source)?, let signedLifetime?) where signedLifetime > .zero:
      // No provider can extend a signed lifetime.
      return (min(lifetime, signedLifetime), source)
    case (let stated?, _):
      return stated
    case (nil, let signedLifetime?):
      return (signedLifetime, .claims)
    case (nil, nil):
      throw TokenFailure(
        .unknownLifetime,
        "the token's lifetime is unknown: no \(expirationKey.map { "`\($0)`" } ?? "`exp`") that can be evaluated without a clock, and no `iat`"
      )
    }
  }

  /// The remaining lifetime for a response that was made for this request.
  private func freshLifetime(
    _ end: StatedExpiration?, _ created: Timestamp?, _ date: Timestamp?, wall: Timestamp?
  ) -> (Duration, AccessToken.LifetimeSource)? {
    switch end {
    case nil: return nil
    case .after(let duration): return (duration, .relative)
    case .at(let stamp):
      if let date { return (stamp - date, .responseDate) }
      if let created { return (stamp - created, .creation) }
      return wall.map { (stamp - $0, .wallClock) }
    }
  }

  /// The remaining lifetime of a token that was stored in a file: by its age or by the clock, whichever is longer.
  /// After a step of the clock, either may be wrong; using an expired token costs one request, discarding a valid one
  /// costs the position.
  private func storedLifetime(
    _ end: StatedExpiration?, _ created: Timestamp?, _ signedLifetime: Duration?, _ age: Duration, wall: Timestamp?
  ) -> (Duration, AccessToken.LifetimeSource)? {
    var byAge: (Duration, AccessToken.LifetimeSource)?
    var byClock: (Duration, AccessToken.LifetimeSource)?
    switch end {
    case nil: break
    case .after(let duration): byAge = (duration - age, .relative)
    case .at(let stamp):
      if let created { byAge = (stamp - created - age, .creation) }
      byClock = wall.map { (stamp - $0, .wallClock) }
    }
    if byAge == nil, let signedLifetime { byAge = (signedLifetime - age, .claims) }
    guard let byAge, let byClock else { return byAge ?? byClock }
    return byClock.0 >= byAge.0 ? byClock : byAge
  }

  /// Whether the value was read as milliseconds, but is plausible only as seconds.
  func looksLikeSeconds(_ json: JSONValue, _ response: Response, wall: Timestamp) -> Bool {
    guard expiration == .epochMilliseconds, let stamp = statedExpiration(json, response, wall: wall) else {
      return false
    }
    let start = Timestamp(seconds: 0)
    // 1e9 to 1e10 seconds are the years 2001 to 2286.
    return stamp - start >= .seconds(1_000_000) && stamp - start < .seconds(10_000_000)
  }

  /// The expiration that the response states, by the provider's clock; nil if there is none, or it cannot be parsed.
  ///
  /// - Parameter wall: this machine's clock, for a response without a date.
  func statedExpiration(_ json: JSONValue, _ response: Response, wall: Timestamp) -> Timestamp? {
    guard expiration != .jwt, let value = expirationKey.flatMap({ json.value(at: $0) }) else { return nil }
    return switch TokenResponseFormat.statedExpiration(value, as: expiration) {
    case .at(let stamp)?: stamp
    case .after(let duration)?: (response.date ?? wall) - response.age + duration
    case nil: nil
    }
  }

  private func createdAt(_ json: JSONValue) -> Timestamp? {
    guard let key = creationKey, let value = json.value(at: key),
      case .at(let created)? = TokenResponseFormat.statedExpiration(value, as: expiration)
    else { return nil }
    return created
  }

  private func statedExpiration(
    of json: JSONValue?, claims: TokenClaims, _ response: Response
  ) throws(TokenFailure) -> StatedExpiration? {
    guard expiration != .jwt, let key = expirationKey, let json else { return claims.expiresAt.map { .at($0) } }
    guard let value = json.value(at: key) else {
      throw TokenFailure(
        .missingField,
        "\(response.origin) gave nothing at `\(key)`\(TokenResponseFormat.keys(of: json))"
      )
    }
    guard let end = TokenResponseFormat.statedExpiration(value, as: expiration) else {
      throw TokenFailure(
        .unknownLifetime,
        "what \(response.origin) gave at `\(key)` is not in the format of token.expiration_format (\(expiration.rawValue))"
      )
    }
    return end
  }

  private static func statedExpiration(_ value: JSONValue, as format: Expiration) -> StatedExpiration? {
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
      // 10^8 seconds are three years as a duration, and the year 1973 as a time; 10^11 seconds are the year 5138.
      if number < 100_000_000 { return .after(.seconds(number)) }
      return .at(number < 100_000_000_000 ? Timestamp(seconds: number) : Timestamp(milliseconds: number))
    }
  }
}
