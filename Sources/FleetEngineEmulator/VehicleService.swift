// SPDX-License-Identifier: Apache-2.0

/// One of Fleet Engine's two services: everything in which they differ on the server's side.
struct VehicleService: Sendable {
  /// Prefix of a vehicle's ID in lists of vehicles of both services.
  let keyPrefix: String
  /// The collection in a resource's name.
  let collection: String
  /// The verb of an update.
  let updateMethod: String
  /// The query parameter that names the vehicle to create.
  let identifierParameter: String
  /// The name of the request's field that is the body, for messages.
  let bodyField: String
  /// The member of a token's `authorization` claim that must contain the vehicle's ID.
  let claim: String
  /// What the `authorization` claim gives access to, for messages.
  let noun: String
  let vehicleSchema: MessageSchema
  /// Fields that a new vehicle must have.
  let requiredOnCreate: [String]
  /// Fields that a new vehicle must not have.
  let refusedOnCreate: Set<String>
  /// Fields of a new vehicle that are ignored.
  let ignoredOnCreate: Set<String>

  /// UpdateDeliveryVehicle, GetDeliveryVehicle, CreateDeliveryVehicle. Of a new vehicle only type, lastLocation and
  /// attributes may be set; a name is ignored.
  static let deliveries = VehicleService(
    keyPrefix: "", collection: "deliveryVehicles", updateMethod: "PATCH", identifierParameter: "deliveryVehicleId",
    bodyField: "delivery_vehicle", claim: "deliveryvehicleid", noun: "delivery vehicle",
    vehicleSchema: DeliverySchema.vehicle, requiredOnCreate: [],
    refusedOnCreate: Set(DeliverySchema.vehicle.fields.keys).subtracting(["name", "type", "lastLocation", "attributes"]
    ),
    ignoredOnCreate: ["name"])

  /// On-demand trips: UpdateVehicle, GetVehicle, CreateVehicle.
  static let trips = VehicleService(
    keyPrefix: "trips/", collection: "vehicles", updateMethod: "PUT", identifierParameter: "vehicleId",
    bodyField: "vehicle", claim: "vehicleid", noun: "vehicle", vehicleSchema: TripsSchema.vehicle,
    requiredOnCreate: ["vehicleState", "supportedTripTypes", "maximumCapacity", "vehicleType"], refusedOnCreate: [],
    ignoredOnCreate: [
      "name", "currentTrips", "availableCapacity", "currentRouteSegment", "currentRouteSegmentEndPoint",
      "currentRouteSegmentVersion", "currentRouteSegmentTraffic", "route", "waypoints", "waypointsVersion",
      "remainingDistanceMeters", "remainingTimeSeconds", "etaToFirstWaypoint", "navigationStatus",
    ])

  /// Both services.
  static let all = [deliveries, trips]

  /// The name of a vehicle.
  func name(provider: String, vehicle: String) -> String { "providers/\(provider)/\(collection)/\(vehicle)" }

  /// The key of a vehicle among those of both services: its ID, with the prefix `trips/` for on-demand trips. An ID
  /// has no slash, so two vehicles with the same ID in different services have different keys.
  func key(_ vehicle: String) -> String { keyPrefix + vehicle }

  /// The ID of the vehicle with this key.
  static func identifier(ofKey key: String) -> String {
    let prefix = all.map(\.keyPrefix).first { !$0.isEmpty && key.hasPrefix($0) } ?? ""
    return String(key.dropFirst(prefix.count))
  }
}
