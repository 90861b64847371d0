// SPDX-License-Identifier: Apache-2.0
import ExternalInput
package import HTTPMessages
package import JSON
package import Timekeeping

/// The claims of a JWT.
package struct TokenClaims: Equatable, Sendable {
  /// `iat`: the time of issue.
  package var issuedAt: Timestamp?
  /// `exp`: the expiry.
  package var expiresAt: Timestamp?
  /// `authorization`, whose members are the private claims; nil if there is no such object: Fleet Engine then answers
  /// PERMISSION_DENIED.
  package var authorization: [String: JSONValue]?

  /// Reads the claims of a JWT in its compact form.
  ///
  /// - Throws: `TokenFailure` with reason `notJWT` if it does not have three parts, or its payload is not a JSON
  ///   object.
  package init(of token: Secret) throws(TokenFailure) {
    self.init(try JSONWebToken(token).claims)
  }

  init(_ claims: JSONValue) {
    issuedAt = claims.value(at: "iat")?.integer.map { Timestamp(seconds: $0) }
    expiresAt = claims.value(at: "exp")?.integer.map { Timestamp(seconds: $0) }
    authorization = claims.value(at: "authorization")?.object
  }

  /// The IDs that the claims of this kind of scope allow; `*` stands for any ID. Empty if there is no such claim.
  package func ids(for scope: AuthorizationContext.Scope) -> [String] {
    var ids: [String] = []
    if let id = authorization?[scope.claim]?.string { ids.append(id) }
    if case .task = scope, let tasks = authorization?["taskids"]?.array { ids += tasks.compactMap(\.string) }
    return ids
  }

  /// What the claims allow for a scope.
  enum Permission {
    case granted
    /// For every ID of this kind.
    case grantedForAll
    /// There is no claim of this kind.
    case missing
    /// The token is for a vehicle of the other service. The text says so, as the end of a sentence.
    case otherService(String)
    /// The token is for other IDs; this is the first.
    case otherID(String)
  }

  func permission(for scope: AuthorizationContext.Scope) -> Permission {
    let ids = ids(for: scope)
    if ids.contains(scope.id) { return .granted }
    if ids.contains("*") { return .grantedForAll }
    if let first = ids.first { return .otherID(first) }
    guard let other = scope.inOtherService, let service = scope.service, !self.ids(for: other).isEmpty else {
      return .missing
    }
    return .otherService(
      "is for `\(other.claim)`, and the settings say \(service), which needs `\(scope.claim)`: \"\(scope.id)\"")
  }

  /// Checks that the token is for this context.
  ///
  /// - Throws: `TokenFailure` with reason `missingClaim`, `wrongVehicle` or `wrongContext`.
  package func check(for context: AuthorizationContext) throws(TokenFailure) {
    let scope = context.scope
    guard let authorization else {
      throw TokenFailure(
        .missingClaim,
        "the token has no `authorization` claim; the provider must sign one with "
          + "`\"authorization\": {\"\(scope.claim)\": \"\(scope.id)\"}`")
    }
    switch permission(for: scope) {
    case .granted, .grantedForAll: return
    case .otherService(let mistake): throw TokenFailure(.missingClaim, "the token \(mistake)")
    case .missing:
      let others = authorization.keys.filter { TokenClaims.knownClaims.contains($0) }.sorted()
      let has = others.isEmpty ? "" : " (it has \(others.map { "`\($0)`" }.joined(separator: ", ")))"
      throw TokenFailure(
        .missingClaim,
        "the token's `authorization` claim has no `\(scope.claim)`\(has); it must be \"\(scope.id)\"")
    case .otherID(let id):
      let claimed = ExternalText(id, limit: 64)
      guard scope.service == nil else {
        throw TokenFailure(.wrongVehicle, "the token is for vehicle \"\(claimed)\", and this is \"\(scope.id)\"")
      }
      throw TokenFailure(
        .wrongContext, "the token is for \(scope.noun) \"\(claimed)\", and one for \"\(scope.id)\" was asked for")
    }
  }

  /// All private claims that Fleet Engine reads.
  private static let knownClaims: Set<String> = [
    "deliveryvehicleid", "vehicleid", "tripid", "taskid", "taskids", "trackingid",
  ]
}
