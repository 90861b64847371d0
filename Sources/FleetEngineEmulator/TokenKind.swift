// SPDX-License-Identifier: Apache-2.0

/// What a token is for, by the path that gives it at Google's two sample backends.
struct TokenKind: Sendable {
  /// The keys of the answer.
  enum Dialect: Sendable {
    /// Of the sample for last mile fleets.
    case lastMile
    /// Of the sample for rides.
    case rides
  }

  /// `/token/PATH/{id}`.
  let path: String
  /// What the token's `authorization` names the ID in.
  let claim: String
  let dialect: Dialect
  /// Whose vehicle drives with it; nil for a watching client's token.
  let service: VehicleService?

  /// All but the one that sees everything.
  static let all = [
    TokenKind(
      path: "delivery_driver", claim: VehicleService.deliveries.claim, dialect: .lastMile, service: .deliveries),
    TokenKind(path: "delivery_consumer", claim: "trackingid", dialect: .lastMile, service: nil),
    TokenKind(path: "driver", claim: VehicleService.trips.claim, dialect: .rides, service: .trips),
    TokenKind(path: "consumer", claim: "tripid", dialect: .rides, service: nil),
  ]
}

extension TokenKind.Dialect {
  /// The answer of a token endpoint.
  func answer(_ token: TokenIssuer.Token) -> JSON {
    switch self {
    case .lastMile:
      [
        "token": .string(token.text), "creation_timestamp_ms": JSON(token.creation),
        "expiration_timestamp_ms": JSON(token.expiration),
      ]
    case .rides:
      [
        "jwt": .string(token.text), "creationTimestamp": JSON(token.creation),
        "expirationTimestamp": JSON(token.expiration),
      ]
    }
  }
}
