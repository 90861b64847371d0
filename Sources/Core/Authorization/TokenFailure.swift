// SPDX-License-Identifier: Apache-2.0
package import HTTPMessages

/// Why there is no token.
package struct TokenFailure: Error, Equatable, Sendable {
  package enum Reason: Equatable, Sendable {
    /// There is no vehicle to ask a token for.
    case missingAuthorizationContext
    /// The provider's answer is empty.
    case missingData
    /// The provider could not be reached, or its answer did not arrive whole.
    case transport(TransportFailure.Kind)
    /// The provider answered with an HTTP status other than 2xx.
    case status(Int)
    /// The answer is not JSON.
    case notJSON
    /// The answer lacks a key that the settings name, or holds another type there.
    case missingField
    /// The expiration cannot be read in the format that the settings name, nor any other way.
    case unknownLifetime
    /// The token is not a JWT.
    case notJWT
    /// The token has no `authorization` claim, or no vehicle in it: Fleet Engine would refuse it.
    case missingClaim
    /// The token is for another vehicle.
    case wrongVehicle
    /// The token has expired, or does on arrival.
    case expired

    /// A short name for metrics and fields, as in `wrongVehicle`.
    package var name: String {
      switch self {
      case .missingAuthorizationContext: "missingAuthorizationContext"
      case .missingData: "missingData"
      case .transport(let kind): kind.rawValue
      case .status(let status): "http\(status)"
      case .notJSON: "notJSON"
      case .missingField: "missingField"
      case .unknownLifetime: "unknownLifetime"
      case .notJWT: "notJWT"
      case .missingClaim: "missingClaim"
      case .wrongVehicle: "wrongVehicle"
      case .expired: "expired"
      }
    }
  }

  package var reason: Reason
  /// One sentence for a person: what came, what was expected, what to do. Never the token.
  package var message: String

  package init(_ reason: Reason, _ message: String) {
    self.reason = reason
    self.message = message
  }
}
