// SPDX-License-Identifier: Apache-2.0
package import HTTPMessages

/// Where one vehicle's updates go.
package struct FleetEngineEndpoint: Equatable, Sendable {
  private let vehicleURL: String
  package var positionField: PositionField
  /// The time one update may take.
  package var deadline: Duration

  /// - Parameters:
  ///   - origin: scheme, host and port, without a path.
  ///   - providerID: Google Cloud project ID; percent-encoded here, as is the vehicle's.
  package init(
    origin: String, providerID: String, vehicleID: String, positionField: PositionField = .supplemental,
    deadline: Duration = .seconds(15)
  ) {
    let trimmed = origin.hasSuffix("/") ? String(origin.dropLast()) : origin
    vehicleURL =
      "\(trimmed)/v1/providers/\(providerID.percentEncoded)/deliveryVehicles/\(vehicleID.percentEncoded)"
    self.positionField = positionField
    self.deadline = deadline
  }

  /// Whether updates to both are updates of one vehicle.
  package func isSameVehicle(as other: FleetEngineEndpoint) -> Bool { vehicleURL == other.vehicleURL }

  /// Asks for the vehicle without a token: Fleet Engine refuses it in its own words, and that shows who answers.
  package var greeting: HTTPRequest {
    HTTPRequest(
      method: .get, url: vehicleURL, headers: [.init("Accept", .plain("application/json"))], deadline: deadline)
  }

  /// An update of nothing, for its mask is empty: it changes nothing whoever answers. Fleet Engine refuses it with
  /// INVALID_ARGUMENT ("update_mask cannot be empty"); that it looks at the token first is what is known of Google's APIs,
  /// not of this one.
  package func dryRun(token: Secret) -> HTTPRequest {
    HTTPRequest(
      method: .patch, url: vehicleURL,
      headers: [
        .init("Authorization", .secret(prefix: "Bearer ", token)), .init("Content-Type", .plain("application/json")),
        .init("X-Goog-FieldMask", .plain("name")),
      ], body: Array("{}".utf8), deadline: deadline, maximumResponseSize: UpdateDeliveryVehicle.maximumResponseSize)
  }

  /// - Parameter updateMask: percent-encoded field paths in camelCase.
  func url(updateMask: String) -> String {
    "\(vehicleURL)?updateMask=\(updateMask)"
  }
}
