// SPDX-License-Identifier: Apache-2.0

/// One of Fleet Engine's services for vehicles, as the server sees it: everything in which services differ.
struct VehicleService: Sendable {
  /// The collection in a resource's name.
  let collection: String
  /// The verb of an update.
  let updateMethod: String
  /// The query parameter that names the vehicle to create.
  let identifierParameter: String
  /// The request's field that the body is, for messages.
  let bodyField: String
  /// What a token's `authorization` must name the vehicle in.
  let claim: String
  /// What `authorization` is to allow access to, for messages.
  let noun: String
  let vehicle: MessageSchema
  let header: MessageSchema
  /// What may be set when a vehicle is created.
  let creatable: [String]

  /// UpdateDeliveryVehicle, GetDeliveryVehicle, CreateDeliveryVehicle. Of a new vehicle only type, lastLocation and
  /// attributes may be set; a name is ignored.
  static let deliveries = VehicleService(
    collection: "deliveryVehicles", updateMethod: "PATCH", identifierParameter: "deliveryVehicleId",
    bodyField: "delivery_vehicle", claim: "deliveryvehicleid", noun: "delivery vehicle",
    vehicle: DeliverySchema.vehicle, header: DeliverySchema.header,
    creatable: ["name", "type", "lastLocation", "attributes"])

  /// All that are emulated.
  static let all = [deliveries]

  /// The name of a vehicle.
  func name(provider: String, vehicle: String) -> String { "providers/\(provider)/\(collection)/\(vehicle)" }
}
