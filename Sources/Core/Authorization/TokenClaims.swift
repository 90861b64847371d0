// SPDX-License-Identifier: Apache-2.0
import FoundationEssentials
package import HTTPMessages
package import Timekeeping

/// What a JWT says of itself. The signature is not checked here: Fleet Engine does that, with a key we do not have.
package struct TokenClaims: Equatable, Sendable {
  /// `iat`: when it was issued.
  package var issuedAt: Timestamp?
  /// `exp`: when it ends.
  package var expiresAt: Timestamp?
  /// `authorization.deliveryvehicleid`; `*` is any vehicle.
  package var deliveryVehicleID: String?
  /// Whether there is an `authorization` object at all; without it Fleet Engine answers PERMISSION_DENIED.
  package var hasAuthorization: Bool

  /// Reads the claims of a JWT in its compact form (RFC 7519, RFC 7515 section 7.1).
  ///
  /// - Throws: `TokenFailure` with reason `notJWT` when it does not have three parts, or its payload is not a JSON object.
  package init(of token: Secret) throws(TokenFailure) {
    let parts = token.reveal().split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count == 3, let payload = TokenClaims.base64URL(parts[1]),
      let claims = try? JSONValue(parsing: payload),
      claims.object != nil
    else {
      throw TokenFailure(
        .notJWT, "the token is not a JWT (three base64url parts joined by dots, a JSON object in the second)")
    }
    issuedAt = claims.value(at: "iat")?.integer.map { Timestamp(seconds: $0) }
    expiresAt = claims.value(at: "exp")?.integer.map { Timestamp(seconds: $0) }
    deliveryVehicleID = claims.value(at: "authorization")?.value(at: "deliveryvehicleid")?.string
    hasAuthorization = claims.value(at: "authorization")?.object != nil
  }

  /// Checks that the token is for this vehicle.
  ///
  /// - Throws: `TokenFailure` with reason `missingClaim` or `wrongVehicle`.
  package func check(for context: AuthorizationContext) throws(TokenFailure) {
    guard hasAuthorization else {
      throw TokenFailure(
        .missingClaim,
        "the token has no `authorization` claim; the provider must sign one with "
          + "`\"authorization\": {\"deliveryvehicleid\": \"\(context.vehicleID)\"}`")
    }
    guard let vehicle = deliveryVehicleID else {
      throw TokenFailure(
        .missingClaim,
        "the token's `authorization` claim has no `deliveryvehicleid`; it must be \"\(context.vehicleID)\"")
    }
    guard vehicle == context.vehicleID || vehicle == "*" else {
      throw TokenFailure(
        .wrongVehicle,
        "the token is for vehicle \"\(vehicle)\", this is \"\(context.vehicleID)\": check vehicle_id and the token URL")
    }
  }

  private static func base64URL(_ text: Substring) -> [UInt8]? {
    var standard = text.utf8.map { byte -> UInt8 in
      switch byte {
      case UInt8(ascii: "-"): UInt8(ascii: "+")
      case UInt8(ascii: "_"): UInt8(ascii: "/")
      default: byte
      }
    }
    while standard.count % 4 != 0 { standard.append(UInt8(ascii: "=")) }
    return Data(base64Encoded: Data(standard)).map { [UInt8]($0) }
  }
}
