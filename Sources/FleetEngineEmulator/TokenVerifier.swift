// SPDX-License-Identifier: Apache-2.0

/// Checks the `Authorization` header as Fleet Engine does: signer, audience, expiration, vehicle.
package struct TokenVerifier {
  /// Maximum seconds that `iat` may be in the future.
  private static let allowedSkew: Int64 = 600
  /// Maximum lifetime of a token in seconds.
  private static let maximumLifetime: Int64 = 3600

  /// The reason that is given for rejecting a revoked token: `expired` simulates its expiration.
  package enum RevocationReason: Sendable {
    case revoked
    case expired
  }

  /// The accepted keys, each with the e-mail address of its service account.
  private let signers: [(key: SigningKey, account: String)]
  /// Revocations by vehicle ID, with an empty ID for all: the last revoked serial number, and, for tokens without one,
  /// the second since 1970 before which they are revoked.
  private var revocations: [String: (reason: RevocationReason, serial: Int, second: Int64)] = [:]

  /// - Parameters:
  ///   - key: of the emulator's own token endpoints.
  ///   - account: a service account whose tokens are also accepted, for example those of `token-server`.
  package init(key: SigningKey, account: ServiceAccount? = nil) {
    signers = [(key, TokenIssuer.account)] + [account].compactMap { $0 }.map { ($0.key, $0.email) }
  }

  /// Rejects, from now on, the tokens that have been issued so far.
  ///
  /// - Parameters:
  ///   - serial: the serial number of the last of the emulator's own tokens that is rejected. Tokens of the service
  ///     account have none: they are rejected if they were issued in an earlier second than `now`.
  ///   - vehicle: nil means every vehicle.
  package mutating func revoke(_ reason: RevocationReason, until serial: Int, vehicle: String?, at now: ServerTime) {
    if vehicle == nil { revocations = [:] }
    revocations[vehicle ?? ""] = (reason, serial, now.wallSeconds)
  }

  /// Checks that the token permits requests for the vehicle.
  ///
  /// - Throws: `APIError`: UNAUTHENTICATED if the token is invalid, PERMISSION_DENIED if it is for something else.
  func check(
    _ authorization: String?, vehicle: String, of service: VehicleService, at now: ServerTime
  ) throws(APIError) {
    let claims = try signedClaims(authorization)
    try checkTimes(claims, at: now)
    try checkRevocation(claims, vehicle: vehicle)
    guard claims["aud"]?.string == TokenIssuer.audience else {
      throw permissionDenied("The token is not for the audience \(TokenIssuer.audience).", "AUDIENCE_MISMATCH")
    }
    guard let rights = claims["authorization"], case .object = rights else {
      throw permissionDenied("JWT does not contain any scopes.", "ACCESS_TOKEN_SCOPE_INSUFFICIENT")
    }
    guard let allowed = rights[service.claim]?.string, allowed == "*" || allowed.utf8.elementsEqual(vehicle.utf8) else {
      throw permissionDenied("The token does not allow access to this \(service.noun).", "VEHICLE_MISMATCH")
    }
  }

  /// The claims of a token that is signed with one of the accepted keys.
  private func signedClaims(_ authorization: String?) throws(APIError) -> JSON {
    guard let authorization, !authorization.isEmpty else {
      throw APIError(
        .unauthenticated,
        "Request is missing required authentication credential. Expected OAuth 2 access token or a JWT.",
        reason: "CREDENTIALS_MISSING")
    }
    // A token is long, and splitting by characters is slow.
    let words = authorization.utf8.split(separator: UInt8(ascii: " ")).map { Substring($0) }
    guard words.count == 2, words[0].lowercased() == "bearer" else { throw unreadable("not `Bearer` and one token") }
    let parts = words[1].utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false).map {
      Substring($0)
    }
    guard parts.count == 3 else { throw unreadable("a JWT has three parts") }
    guard let header = decode(parts[0]), let claims = decode(parts[1]),
      let signature = Base64.decode(parts[2], alphabet: .url)
    else { throw unreadable("a part of the JWT cannot be decoded") }
    guard header["alg"]?.string == "RS256" else {
      throw permissionDenied("The token must be signed with RS256.", "ALGORITHM_NOT_ALLOWED")
    }
    guard let signer = signers.first(where: { $0.key.identifier == header["kid"]?.string }),
      signer.key.isSignature(signature, of: Array("\(parts[0]).\(parts[1])".utf8))
    else { throw unauthenticated("The token is not signed by a key of this project.", "SIGNATURE_INVALID") }
    guard let issuer = claims["iss"]?.string, issuer == signer.account, claims["sub"]?.string == issuer else {
      throw unauthenticated("The token must name one service account as iss and sub.", "ACCOUNT_INVALID")
    }
    return claims
  }

  private func checkTimes(_ claims: JSON, at now: ServerTime) throws(APIError) {
    guard let issued = claims["iat"]?.integer, let expires = claims["exp"]?.integer,
      (0...1 << 53).contains(issued), (0...1 << 53).contains(expires)
    else { throw unauthenticated("The token must say iat and exp in seconds.", "ACCESS_TOKEN_INVALID") }
    if expires <= now.wallSeconds {
      throw unauthenticated("The token expired \(now.wallSeconds - expires) s ago.", "ACCESS_TOKEN_EXPIRED")
    }
    if issued > now.wallSeconds + Self.allowedSkew {
      throw unauthenticated(
        "The token is issued \(issued - now.wallSeconds) s in the future.", "ACCESS_TOKEN_NOT_YET_VALID")
    }
    if expires - issued > Self.maximumLifetime || expires > now.wallSeconds + Self.maximumLifetime {
      throw unauthenticated("The token lives longer than an hour.", "ACCESS_TOKEN_LIFETIME_TOO_LONG")
    }
  }

  private func checkRevocation(_ claims: JSON, vehicle: String) throws(APIError) {
    let serial = claims["jti"]?.string.flatMap { Int($0) }
    let issued = claims["iat"]?.integer ?? 0
    for name in [vehicle, ""] {
      guard let (reason, last, second) = revocations[name], serial.map({ $0 <= last }) ?? (issued < second) else {
        continue
      }
      switch reason {
      case .revoked: throw unauthenticated("The token has been revoked.", "ACCESS_TOKEN_REVOKED")
      case .expired: throw unauthenticated("The token has expired.", "ACCESS_TOKEN_EXPIRED")
      }
    }
  }

  private func decode(_ part: Substring) -> JSON? {
    guard let bytes = Base64.decode(part, alphabet: .url), let json = try? JSONParser.parse(bytes),
      case .object = json
    else { return nil }
    return json
  }

  private func unreadable(_ why: String) -> APIError {
    unauthenticated("Request had invalid authentication credentials: \(why).", "ACCESS_TOKEN_INVALID")
  }

  private func unauthenticated(_ message: String, _ reason: String) -> APIError {
    APIError(.unauthenticated, message, reason: reason)
  }

  private func permissionDenied(_ message: String, _ reason: String) -> APIError {
    APIError(.permissionDenied, message, reason: reason)
  }
}
