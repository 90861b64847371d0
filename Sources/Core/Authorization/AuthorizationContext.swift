// SPDX-License-Identifier: Apache-2.0

/// What a token is for. Every request to a provider has a context, and its token is used for no other context.
package struct AuthorizationContext: Hashable, Sendable {
  /// What the token authorizes: the scopes of the Driver and the Consumer SDK.
  package enum Scope: Hashable, Sendable {
    /// A vehicle of scheduled tasks.
    case deliveryVehicle(String)
    /// A vehicle of on-demand trips.
    case vehicle(String)
    case trip(String)
    case task(String)
    /// A shipment as its recipient tracks it.
    case trackingID(String)
  }

  /// Google Cloud project ID.
  package let providerID: String
  /// What the token must authorize: the kind of ID, and the ID.
  package let scope: Scope

  /// Nil if either ID is empty.
  package init?(providerID: String, scope: Scope) {
    guard !providerID.isEmpty, !scope.id.isEmpty else { return nil }
    self.providerID = providerID
    self.scope = scope
  }

  /// The placeholders for a provider's URL, body, arguments and environment: the project, the ID under its own name,
  /// the name of the scope, and the ID as `id`.
  package var variables: [(name: String, value: String)] {
    [("provider_id", providerID), (scope.placeholder, scope.id), ("scope", scope.name), ("id", scope.id)]
  }

  /// The names of project and vehicle, trip or task, which messages show.
  package var names: [String] { [providerID, scope.id] }
}

extension AuthorizationContext.Scope {
  /// The ID itself.
  package var id: String {
    switch self {
    case .deliveryVehicle(let id), .vehicle(let id), .trip(let id), .task(let id), .trackingID(let id): id
    }
  }

  /// The value of the placeholder `{scope}`, and of `TOKEN_SCOPE` in the environment of a token command.
  package var name: String {
    switch self {
    case .deliveryVehicle: "delivery-vehicle"
    case .vehicle: "vehicle"
    case .trip: "trip"
    case .task: "task"
    case .trackingID: "tracking-id"
    }
  }

  /// The noun for messages.
  package var noun: String {
    switch self {
    case .deliveryVehicle, .vehicle: "vehicle"
    case .trip: "trip"
    case .task: "task"
    case .trackingID: "tracking ID"
    }
  }

  /// The private claim with the ID, in the token's `authorization`.
  package var claim: String {
    switch self {
    case .deliveryVehicle: "deliveryvehicleid"
    case .vehicle: "vehicleid"
    case .trip: "tripid"
    case .task: "taskid"
    case .trackingID: "trackingid"
    }
  }

  /// The value of the setting `vehicle.service` whose vehicles have this claim; nil if the ID is not a vehicle's.
  package var service: String? {
    switch self {
    case .deliveryVehicle: "deliveries"
    case .vehicle: "trips"
    case .trip, .task, .trackingID: nil
    }
  }

  /// The same ID in the other service; nil if it is not a vehicle.
  var inOtherService: AuthorizationContext.Scope? {
    switch self {
    case .deliveryVehicle(let id): .vehicle(id)
    case .vehicle(let id): .deliveryVehicle(id)
    case .trip, .task, .trackingID: nil
    }
  }

  /// The ID's name in a template.
  package var placeholder: String {
    switch self {
    case .deliveryVehicle, .vehicle: "vehicle_id"
    case .trip: "trip_id"
    case .task: "task_id"
    case .trackingID: "tracking_id"
    }
  }
}
