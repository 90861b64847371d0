// SPDX-License-Identifier: Apache-2.0

/// Signs tokens as a backend does, correct ones or, for a simulated fault, with a flaw.
package struct TokenIssuer {
  /// What is wrong with a token.
  package enum Flaw: String, Sendable, CaseIterable {
    case expired
    case wrongVehicle = "wrong-vehicle"
    /// The claim of the other service.
    case wrongService = "wrong-service"
    case noClaim = "no-claim"
    case algorithmNone = "alg-none"
    case badSignature = "bad-signature"
    case wrongAudience = "wrong-audience"
    /// Valid for two hours; at most one hour is allowed.
    case longLifetime = "long-life"
    case notYetValid = "not-yet-valid"
    case garbage
  }

  /// A token, and its times in the response, in milliseconds since 1970.
  package struct Token: Equatable, Sendable {
    /// The signed JWT.
    package var text: String
    /// Its `iat`.
    package var creation: Int64
    /// Its `exp`.
    package var expiration: Int64
  }

  static let audience = "https://fleetengine.googleapis.com/"
  /// The service account in the emulator's own tokens.
  package static let account = "driver@emulated-fleet.iam.gserviceaccount.com"

  private let key: SigningKey
  private let account: String
  /// Seconds.
  private let lifetime: Int64
  /// The serial number (`jti`) of the last token. `iat` has whole seconds, which is too coarse to order tokens.
  private(set) var lastSerial = 0

  /// - Parameters:
  ///   - account: the e-mail address of the service account that the key belongs to.
  ///   - lifetime: seconds.
  package init(key: SigningKey, account: String = TokenIssuer.account, lifetime: Int64) {
    self.key = key
    self.account = account
    self.lifetime = lifetime
  }

  /// The public key of the tokens, in PEM.
  package var publicKey: String { key.publicKey }

  /// A token without a flaw.
  ///
  /// - Parameter rights: the `authorization` claim.
  /// - Throws: `EmulatorError` when OpenSSL fails.
  package func issue(_ rights: JSON, at now: ServerTime) throws(EmulatorError) -> Token {
    try sign(rights, issued: now.wallSeconds, expires: now.wallSeconds + lifetime, flaw: nil)
  }

  /// - Parameters:
  ///   - claim: the member of the `authorization` claim that contains the ID.
  ///   - id: of the vehicle, trip or parcel.
  /// - Throws: `EmulatorError` when OpenSSL fails.
  mutating func issue(
    _ claim: String, _ id: String, at now: ServerTime, flaw: Flaw? = nil
  ) throws(EmulatorError) -> Token {
    var issued = now.wallSeconds
    var expires = issued + lifetime
    switch flaw {
    case .expired: (issued, expires) = (issued - lifetime - 60, issued - 60)
    case .longLifetime: expires = issued + 7200
    case .notYetValid: (issued, expires) = (issued + 1800, issued + 3600)
    default: break
    }
    let subject = flaw == .wrongVehicle ? "another-\(id)" : id
    let others = VehicleService.all.map(\.claim).filter { $0 != claim }
    let name = flaw == .wrongService ? others.first ?? claim : claim
    lastSerial += 1
    return try sign(
      .object([.init(name, .string(subject))]), issued: issued, expires: expires, serial: lastSerial,
      flaw: flaw)
  }

  private func sign(
    _ rights: JSON, issued: Int64, expires: Int64, serial: Int? = nil, flaw: Flaw?
  ) throws(EmulatorError) -> Token {
    let header: JSON = [
      "alg": flaw == .algorithmNone ? "none" : "RS256", "typ": "JWT", "kid": .string(key.identifier),
    ]
    var claims: JSON = [
      "iss": .string(account), "sub": .string(account),
      "aud": .string(flaw == .wrongAudience ? "https://example.com/" : Self.audience),
      "iat": JSON(issued), "exp": JSON(expires),
    ]
    if let serial { claims["jti"] = .string(String(serial)) }
    if flaw != .noClaim { claims["authorization"] = rights }
    let signingInput = [header, claims].map { Base64.encodeURLSafe(Array($0.text.utf8)) }.joined(separator: ".")
    var signature = flaw == .algorithmNone ? [] : try key.sign(Array(signingInput.utf8))
    if flaw == .badSignature { signature[0] ^= 1 }
    let text = flaw == .garbage ? "this-is-no-token" : "\(signingInput).\(Base64.encodeURLSafe(signature))"
    return Token(text: text, creation: issued * 1000, expiration: expires * 1000)
  }
}
