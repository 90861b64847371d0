// SPDX-License-Identifier: Apache-2.0
import Authorization
import HTTPMessages

extension FleetEngineService {
  /// On-demand trips: `maps.fleetengine.v1.VehicleService`.
  ///
  /// An update is `PUT
  /// /v1/providers/{provider}/vehicles/{vehicle}?updateMask=vehicleState,lastLocation[,pastLocations]` (UpdateVehicle),
  /// whose body is the vehicle itself. As in Google's Driver SDK, each mask begins with the state, unless the daemon
  /// does not set it; OFFLINE is also sent without a location.
  package static let trips = FleetEngineService(
    name: "trips", collection: "vehicles", method: .put, role: "roles/fleetengine.driverSdkUser",
    scope: { .vehicle($0) },
    message: { Message($0, in: $1, $2, state: $3) },
    offlineMessage: Message(nil, in: .supplemental, .plain, state: .offline))
}
