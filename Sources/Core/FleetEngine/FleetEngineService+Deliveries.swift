// SPDX-License-Identifier: Apache-2.0
import Authorization
import HTTPMessages

extension FleetEngineService {
  /// Scheduled tasks: `maps.fleetengine.delivery.v1.DeliveryService`.
  ///
  /// An update is `PATCH /v1/providers/{provider}/deliveryVehicles/{vehicle}?updateMask=lastLocation[,pastLocations]`
  /// (UpdateDeliveryVehicle), whose body is the vehicle itself.
  package static let deliveries = FleetEngineService(
    name: "deliveries", collection: "deliveryVehicles", method: .patch,
    role: "roles/fleetengine.deliveryUntrustedDriver", scope: { .deliveryVehicle($0) },
    message: { update, field, form, _ in Message(update, in: field, form) })
}
