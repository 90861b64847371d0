// SPDX-License-Identifier: Apache-2.0
import FoundationEssentials
package import HTTPMessages

/// One call of `UpdateDeliveryVehicle` over REST: what is sent, and how it becomes a request.
///
/// `PATCH /v1/providers/{provider}/deliveryVehicles/{vehicle}?updateMask=lastLocation[,pastLocations]`, whose body is the
/// vehicle itself.
package struct UpdateDeliveryVehicle: Equatable, Sendable {
  /// The position that becomes `lastLocation`.
  package var live: VehicleLocation
  /// Whole seconds since the place of `live` was first sent; nil the first time.
  package var timeSinceUpdate: Int?
  /// What becomes `pastLocations`: oldest first, none newer than `live`.
  package var past: [VehicleLocation]

  package init(live: VehicleLocation, timeSinceUpdate: Int? = nil, past: [VehicleLocation] = []) {
    self.live = live
    self.timeSinceUpdate = timeSinceUpdate
    self.past = past
  }

  /// The longest answer that is read. With the field mask it is the vehicle's name.
  package static let maximumResponseSize = 65_536

  private static let encoder: JSONEncoder = {
    let encoder = JSONEncoder()
    // The library's order of keys is random in each process otherwise.
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return encoder
  }()

  /// Bytes that a past position adds to the body of a request: a few too many rather than too few.
  package static func size(ofPast location: VehicleLocation) -> Int {
    // Each with its name, a comma, and the longest number that it can be.
    let optional = [
      (location.altitude, 19), (location.speed, 15), (location.heading, 14), (location.horizontalAccuracy, 38),
      (location.verticalAccuracy, 26), (location.speedAccuracy, 22), (location.headingAccuracy, 24),
    ]
    return optional.reduce(187) { $0 + ($1.0 == nil ? 0 : $1.1) }
  }

  /// The request.
  ///
  /// - Returns: nil when a number cannot be told in JSON, which the filter makes impossible.
  package func request(to endpoint: FleetEngineEndpoint, token: Secret) -> HTTPRequest? {
    let vehicle = DeliveryVehicle(
      lastLocation: DeliveryVehicleLocation(live, in: endpoint.positionField, timeSinceUpdate: timeSinceUpdate),
      pastLocations: past.isEmpty ? nil : past.map { DeliveryVehicleLocation($0, in: endpoint.positionField) })
    guard let body = try? UpdateDeliveryVehicle.encoder.encode(vehicle) else { return nil }
    return HTTPRequest(
      method: .patch, url: endpoint.url(updateMask: past.isEmpty ? "lastLocation" : "lastLocation%2CpastLocations"),
      headers: [
        .init("Authorization", .secret(prefix: "Bearer ", token)),
        .init("Content-Type", .plain("application/json")),
        // Without it the answer is the whole vehicle, with every stop and path.
        .init("X-Goog-FieldMask", .plain("name")),
      ], body: [UInt8](body), deadline: endpoint.deadline,
      maximumResponseSize: UpdateDeliveryVehicle.maximumResponseSize)
  }
}
