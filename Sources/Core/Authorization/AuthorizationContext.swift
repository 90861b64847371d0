// SPDX-License-Identifier: Apache-2.0

/// Whom a token is for. A provider is never asked without one, and a token serves no other.
package struct AuthorizationContext: Hashable, Sendable {
  /// What the token's bearer may act for: the contexts of the driver's and of the consumer's protocol.
  package enum Scope: Hashable, Sendable {
    /// A vehicle of scheduled tasks.
    case deliveryVehicle(String)
    /// A vehicle of on-demand trips.
    case vehicle(String)
    case trip(String)
    case task(String)
    /// What the receiver of a parcel follows it by.
    case trackingID(String)
  }

  /// Google Cloud project ID.
  package let providerID: String
  /// The kind of ID that the token has to claim.
  package let scope: Scope

  /// Nil when either ID is empty.
  package init?(providerID: String, scope: Scope) {
    guard !providerID.isEmpty, !scope.id.isEmpty else { return nil }
    self.providerID = providerID
    self.scope = scope
  }

  /// What a provider's URL, body, arguments and environment may be filled with, by placeholder: the project, what the scope
  /// knows, its name, and its ID whatever it is.
  package var variables: [(name: String, value: String)] {
    [("provider_id", providerID), (scope.placeholder, scope.id), ("scope", scope.name), ("id", scope.id)]
  }
}

extension AuthorizationContext.Scope {
  /// The ID itself.
  package var id: String {
    switch self {
    case .deliveryVehicle(let id), .vehicle(let id), .trip(let id), .task(let id), .trackingID(let id): id
    }
  }

  /// As a script would write it.
  package var name: String {
    switch self {
    case .deliveryVehicle: "delivery-vehicle"
    case .vehicle: "vehicle"
    case .trip: "trip"
    case .task: "task"
    case .trackingID: "tracking-id"
    }
  }

  /// For a sentence.
  package var noun: String {
    switch self {
    case .deliveryVehicle, .vehicle: "vehicle"
    case .trip: "trip"
    case .task: "task"
    case .trackingID: "tracking ID"
    }
  }

  /// The private claim that holds the ID, in the token's `authorization`.
  package var claim: String {
    switch self {
    case .deliveryVehicle: "deliveryvehicleid"
    case .vehicle: "vehicleid"
    case .trip: "tripid"
    case .task: "taskid"
    case .trackingID: "trackingid"
    }
  }

  /// The value of the setting `vehicle.service` with which vehicles have this claim; nil where it is no vehicle's.
  package var service: String? {
    switch self {
    case .deliveryVehicle: "deliveries"
    case .vehicle: "trips"
    case .trip, .task, .trackingID: nil
    }
  }

  /// The same ID in the other service; nil where it is no vehicle's.
  var inOtherService: AuthorizationContext.Scope? {
    switch self {
    case .deliveryVehicle(let id): .vehicle(id)
    case .vehicle(let id): .deliveryVehicle(id)
    case .trip, .task, .trackingID: nil
    }
  }

  /// The name of the ID in a template.
  package var placeholder: String {
    switch self {
    case .deliveryVehicle, .vehicle: "vehicle_id"
    case .trip: "trip_id"
    case .task: "task_id"
    case .trackingID: "tracking_id"
    }
  }
}
