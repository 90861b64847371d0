// SPDX-License-Identifier: Apache-2.0
import Authorization
import HTTPMessages

/// One of Fleet Engine's services, as the sender of one vehicle's positions uses it: everything in which services differ.
///
/// Adding a service is a value like ``deliveries`` in a file of its own. Two values are the same when their names are.
package struct FleetEngineService: Sendable {
  /// What carries an update.
  struct Message: Sendable {
    /// Field paths in lowerCamelCase, as the value of `updateMask` in a URL: joined by `%2C`.
    var mask: String
    /// The body of the request: JSON.
    var body: [UInt8]
  }

  /// Names the service in settings, files and metrics. The backlog's file holds it, so it never changes.
  package let name: String
  /// The collection in the name of a vehicle: `providers/PROVIDER/COLLECTION/VEHICLE`.
  let collection: String
  /// The verb of an update.
  let method: HTTPRequest.Method
  /// The IAM role that the service account of a vehicle's token must have.
  package let role: String
  /// What a token for a vehicle with this ID is for.
  let scope: @Sendable (_ vehicleID: String) -> AuthorizationContext.Scope
  /// The message of an update whose positions are in these fields, and which sets the vehicle's state if the last argument says
  /// so and vehicles have one.
  let message: @Sendable (PositionUpdate, PositionField, _ reportsState: Bool) -> Message
  /// The message that ends a duty: without a position. Nil where vehicles have no state.
  var offline: Message?

  /// All that a vehicle can be updated in.
  package static let all = [deliveries, trips]
}

extension FleetEngineService: Hashable {
  package static func == (left: FleetEngineService, right: FleetEngineService) -> Bool { left.name == right.name }

  package func hash(into hasher: inout Hasher) { hasher.combine(name) }
}

/// Which fields of a location carry the position.
package enum PositionField: String, Sendable, CaseIterable {
  /// `supplementalLocation` and its siblings: Google's guide for senders that are not its SDK.
  case supplemental
  /// `location`, `updateTime`, `locationSensor: GPS`.
  case location
}
