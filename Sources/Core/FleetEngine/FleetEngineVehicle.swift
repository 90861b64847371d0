// SPDX-License-Identifier: Apache-2.0
package import Authorization
import HTTPMessages

/// A vehicle of Fleet Engine. The same IDs in two services are two vehicles.
package struct FleetEngineVehicle: Hashable, Sendable {
  /// The service of the vehicle.
  package var service: FleetEngineService
  /// Google Cloud project ID.
  package var providerID: String
  /// The ID that the vehicle was created with.
  package var vehicleID: String

  package init(service: FleetEngineService, providerID: String, vehicleID: String) {
    self.service = service
    self.providerID = providerID
    self.vehicleID = vehicleID
  }

  /// The names of project and vehicle, which messages show.
  package var names: [String] { [providerID, vehicleID] }

  /// The token context for updates of this vehicle. Nil if either ID is empty.
  package var tokenContext: AuthorizationContext? {
    AuthorizationContext(providerID: providerID, scope: service.scope(vehicleID))
  }

  /// Its resource name in a URL's path, percent-encoded.
  var path: String {
    "/v1/providers/\(providerID.percentEncoded)/\(service.collection)/\(vehicleID.percentEncoded)"
  }
}
