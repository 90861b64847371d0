// SPDX-License-Identifier: Apache-2.0

/// Whom a token is for. A provider is never asked without one, and a token serves no other.
package struct AuthorizationContext: Hashable, Sendable {
  /// Google Cloud project ID.
  package let providerID: String
  package let vehicleID: String

  /// Nil when either is empty.
  package init?(providerID: String, vehicleID: String) {
    guard !providerID.isEmpty, !vehicleID.isEmpty else { return nil }
    self.providerID = providerID
    self.vehicleID = vehicleID
  }
}
