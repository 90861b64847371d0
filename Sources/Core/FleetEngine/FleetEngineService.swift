// SPDX-License-Identifier: Apache-2.0
import Authorization
import HTTPMessages

/// One of Fleet Engine's services for vehicles: everything in which they differ for a sender of positions.
///
/// A further service needs a value like ``deliveries`` in its own file. Values are equal if their names are.
package struct FleetEngineService: Sendable {
  /// The content of an update.
  struct Message: Sendable {
    /// Field paths in lowerCamelCase, as the value of `updateMask` in a URL: joined by `%2C`.
    var mask: String
    /// The body of the request: JSON.
    var body: [UInt8]
  }

  /// The service's name in settings, files and metrics. The backlog's file contains it, so it must never change.
  package let name: String
  /// The collection in the name of a vehicle: `providers/PROVIDER/COLLECTION/VEHICLE`.
  let collection: String
  /// The HTTP method of an update.
  let method: HTTPRequest.Method
  /// The IAM role that the service account of a vehicle's token must have.
  package let role: String
  /// The scope of a token for a vehicle with this ID.
  let scope: @Sendable (_ vehicleID: String) -> AuthorizationContext.Scope
  /// Encodes an update with these location fields, in this form, and with this state if vehicles have one; a nil state
  /// is not set.
  let message: @Sendable (PositionUpdate, PositionField, UpdateForm, VehicleState?) -> Message
  /// The message that sets OFFLINE, without a position. Nil if vehicles have no state.
  var offlineMessage: Message?
  /// Whether vehicles are ONLINE or OFFLINE.
  package var hasState: Bool { offlineMessage != nil }

  /// The method with which the backend creates a vehicle, as in `CreateDeliveryVehicle`: AIP-133.
  var creationMethod: String { "Create\(collection.prefix(1).uppercased())\(collection.dropFirst().dropLast())" }

  /// All services for vehicles.
  package static let all = [deliveries, trips]
}

extension FleetEngineService: Hashable {
  package static func == (left: FleetEngineService, right: FleetEngineService) -> Bool { left.name == right.name }

  package func hash(into hasher: inout Hasher) { hasher.combine(name) }
}

/// The location fields that carry the position.
package enum PositionField: String, Sendable, CaseIterable {
  /// `supplementalLocation` and its siblings: what Google's guide requires of senders other than its SDK.
  case supplemental
  /// `location`, `updateTime`, `locationSensor: GPS`.
  case location
}
