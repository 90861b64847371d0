// SPDX-License-Identifier: Apache-2.0

/// One of Fleet Engine's services for vehicles, as the server sees it: everything in which services differ.
struct VehicleService: Sendable {
  /// What stands before a vehicle's ID where vehicles of all services are listed.
  let keyPrefix: String
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
  /// Without these a vehicle is not created.
  let requiredToCreate: [String]
  /// What a new vehicle may not have; the rest may be set.
  let refusedToCreate: Set<String>
  /// What of a new vehicle is dropped, as if it were not there.
  let ignoredToCreate: Set<String>

  /// UpdateDeliveryVehicle, GetDeliveryVehicle, CreateDeliveryVehicle. Of a new vehicle only type, lastLocation and
  /// attributes may be set; a name is ignored.
  static let deliveries = VehicleService(
    keyPrefix: "", collection: "deliveryVehicles", updateMethod: "PATCH", identifierParameter: "deliveryVehicleId",
    bodyField: "delivery_vehicle", claim: "deliveryvehicleid", noun: "delivery vehicle",
    vehicle: DeliverySchema.vehicle, requiredToCreate: [],
    refusedToCreate: Set(DeliverySchema.vehicle.fields.keys).subtracting(["name", "type", "lastLocation", "attributes"]
    ),
    ignoredToCreate: ["name"])

  /// On-demand trips: UpdateVehicle, GetVehicle, CreateVehicle.
  static let trips = VehicleService(
    keyPrefix: "trips/", collection: "vehicles", updateMethod: "PUT", identifierParameter: "vehicleId",
    bodyField: "vehicle", claim: "vehicleid", noun: "vehicle", vehicle: TripsSchema.vehicle,
    requiredToCreate: ["vehicleState", "supportedTripTypes", "maximumCapacity", "vehicleType"], refusedToCreate: [],
    ignoredToCreate: [
      "name", "currentTrips", "availableCapacity", "currentRouteSegment", "currentRouteSegmentEndPoint",
      "currentRouteSegmentVersion", "currentRouteSegmentTraffic", "route", "waypoints", "waypointsVersion",
      "remainingDistanceMeters", "remainingTimeSeconds", "etaToFirstWaypoint", "navigationStatus",
    ])

  /// All that are emulated.
  static let all = [deliveries, trips]

  /// The name of a vehicle.
  func name(provider: String, vehicle: String) -> String { "providers/\(provider)/\(collection)/\(vehicle)" }

  /// What names a vehicle among those of all services: its ID, after `trips/` when it is one of on-demand trips. An ID
  /// has no slash, so a vehicle whose ID exists in both services has two keys.
  func key(_ vehicle: String) -> String { keyPrefix + vehicle }

  /// The ID of the vehicle with this key.
  static func identifier(ofKey key: String) -> String {
    let prefix = all.map(\.keyPrefix).first { !$0.isEmpty && key.hasPrefix($0) } ?? ""
    return String(key.dropFirst(prefix.count))
  }
}
