// SPDX-License-Identifier: Apache-2.0
import ExternalInput

/// Why Fleet Engine rejected a token, as far as its response says: the status 401 or 403 alone does not distinguish a
/// wrong clock from a wrong role or a wrong vehicle.
package enum RejectionCause: String, Sendable, CaseIterable {
  /// By Google's clock the token has expired.
  case expired
  /// By Google's clock the token has not been issued yet.
  case notYetValid
  /// `exp` is more than an hour after `iat`, or either is far from Google's clock.
  case lifetime
  /// There is no `authorization` claim.
  case noAuthorization
  /// The token is for another vehicle.
  case otherVehicle
  /// Google rejects the signature: another key, an unknown `kid`, or an unknown service account.
  case signature
  /// The service account does not have the role.
  case role
  /// The service account, or its key, is deleted or disabled.
  case account
  /// The API is not enabled in the project.
  case apiDisabled

  /// Whether a clock is wrong: that of the signing machine, which wrote `iat` and `exp`.
  package var isClockError: Bool {
    switch self {
    case .expired, .notYetValid, .lifetime: true
    default: false
    }
  }

  /// What to do, without a capital letter at the beginning or a full stop.
  package func advice(for service: FleetEngineService, _ vehicle: FleetEngineVehicle? = nil) -> String {
    switch self {
    case .expired:
      "by Google's clock the token has expired: the provider returns old tokens, or the clock of the machine that signs them is behind"
    case .notYetValid:
      "by Google's clock the token is from the future: the clock of the machine that signs tokens is ahead"
    case .lifetime:
      "`iat` and `exp` of the token are not what Google accepts: at most an hour apart, and near the current time"
    case .noAuthorization: "the backend must sign tokens with an `authorization` claim"
    case .otherVehicle:
      "the token is for another vehicle: check vehicle.vehicle_id\(vehicle.parenthesized(\.vehicleID)) and which ID the provider is asked for"
    case .signature:
      "Google does not accept the token's signature: the backend must sign with a key of a service account of the project vehicle.provider_id, and name it in `kid`"
    case .role:
      "the token's service account has no permission for this: check vehicle.provider_id\(vehicle.parenthesized(\.providerID)), and give the account the role \(service.role) in that project"
    case .account:
      "the service account or its key is deleted or disabled: the backend must sign with an active key"
    case .apiDisabled:
      "the API is not enabled in the project: check vehicle.provider_id\(vehicle.parenthesized(\.providerID)), and enable Fleet Engine there"
    }
  }

  /// Determines the cause from google.rpc.ErrorInfo if there is one, otherwise from the text of the response; nil if
  /// neither is conclusive.
  ///
  /// The reasons in upper case are those of Google's `error_reason.proto` and of its service proxy (whose texts about
  /// signatures are Envoy's, in jwt_verify_lib's `status.cc`); a front end that only answers "invalid authentication
  /// credentials" is not conclusive.
  init?(reason: String?, message: String?) {
    switch reason {
    case "ACCESS_TOKEN_EXPIRED": self = .expired
    case "ACCESS_TOKEN_NOT_YET_VALID": self = .notYetValid
    case "ACCESS_TOKEN_LIFETIME_TOO_LONG": self = .lifetime
    case "IAM_PERMISSION_DENIED": self = .role
    case "ACCOUNT_STATE_INVALID": self = .account
    case "SIGNATURE_INVALID": self = .signature
    case "SERVICE_DISABLED": self = .apiDisabled
    default:
      guard let cause = message.flatMap(RejectionCause.init(message:)) else { return nil }
      self = cause
    }
  }

  private init?(message: String) {
    let text = message.lowercased()
    func says(_ parts: String...) -> Bool { parts.contains { text.contains(text: $0) } }
    if says("short-lived token", "reasonable timeframe", "time_constraint_failure", "lives longer", "iat and exp") {
      self = .lifetime
    } else if says("not yet valid", "in the future", "used too early", "before issued") {
      self = .notYetValid
    } else if says("token expired", "token has expired", "jwt is expired", "token is expired", "expired token") {
      self = .expired
    } else if says(
      "signature", "not signed by a key", "jwt verification fails", "jwks doesn't have key", "issuer is not configured",
      "key_retrieval_error")
    {
      self = .signature
    } else if says("does not contain any scopes") {
      self = .noAuthorization
    } else if says("has not been used in project", "is disabled. enable it", "api is not enabled") {
      self = .apiDisabled
    } else if says("vehicle"), says("not allow access to", "does not match", "mismatch", "another vehicle") {
      self = .otherVehicle
    } else if says("permission '", "permission \"", "fleetengine.deliveryvehicles.", "fleetengine.vehicles.") {
      self = .role
    } else {
      return nil
    }
  }
}
