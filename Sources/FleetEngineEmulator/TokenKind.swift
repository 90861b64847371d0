// SPDX-License-Identifier: Apache-2.0

/// The kind of a token, by its path in Google's two sample backends.
struct TokenKind: Sendable {
  /// The format of the response.
  enum Dialect: Sendable {
    /// The format of the sample for last mile fleets.
    case lastMile
    /// The format of the sample for rides.
    case rides
  }

  /// PATH in `/token/PATH/{id}`.
  let path: String
  /// The member of the token's `authorization` claim that contains the ID.
  let claim: String
  let dialect: Dialect
  /// The service of the vehicle that the token is for; nil for a consumer's token.
  let service: VehicleService?

  /// All kinds, except the token that can read the whole fleet.
  static let all = [
    TokenKind(
      path: "delivery_driver", claim: VehicleService.deliveries.claim, dialect: .lastMile, service: .deliveries),
    TokenKind(path: "delivery_consumer", claim: "trackingid", dialect: .lastMile, service: nil),
    TokenKind(path: "driver", claim: VehicleService.trips.claim, dialect: .rides, service: .trips),
    TokenKind(path: "consumer", claim: "tripid", dialect: .rides, service: nil),
  ]
}

extension TokenKind.Dialect {
  /// The response of a token endpoint.
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
