// SPDX-License-Identifier: Apache-2.0
package import HTTPMessages

/// Where one vehicle's updates go, and how they become requests.
package struct FleetEngineEndpoint: Equatable, Sendable {
  /// Whose position the requests update.
  package let vehicle: FleetEngineVehicle
  /// The time one update may take.
  package var deadline: Duration
  /// Which fields of a location carry the position.
  package var positionField: PositionField {
    didSet { pastSizes = FleetEngineEndpoint.pastSizes(of: vehicle, positionField) }
  }
  /// Whether updates set the vehicle's state, where its service has one.
  package var reportsState: Bool
  /// Of each update, without its query.
  package let url: String
  private var pastSizes: PastPositionSizes

  /// The longest answer that is read. With the field mask it is the vehicle's name.
  private static let maximumResponseSize = 65_536

  /// - Parameters:
  ///   - origin: scheme, host and port, without a path.
  ///   - positionField: which fields of a location carry the position.
  ///   - reportsState: whether updates set the vehicle's state, where its service has one.
  ///   - deadline: the time one update may take.
  package init(
    origin: String, vehicle: FleetEngineVehicle, positionField: PositionField = .supplemental,
    reportsState: Bool = true,
    deadline: Duration = .seconds(15)
  ) {
    self.vehicle = vehicle
    self.deadline = deadline
    self.positionField = positionField
    self.reportsState = reportsState
    url = (origin.hasSuffix("/") ? String(origin.dropLast()) : origin) + vehicle.path
    pastSizes = FleetEngineEndpoint.pastSizes(of: vehicle, positionField)
  }

  private static func pastSizes(of vehicle: FleetEngineVehicle, _ positionField: PositionField) -> PastPositionSizes {
    PastPositionSizes { update in vehicle.service.message(update, positionField, false).body.count }
  }

  /// Whether updates to both are updates of one vehicle.
  package func isSameVehicle(as other: FleetEngineEndpoint) -> Bool { url == other.url }

  /// The request that carries an update.
  package func request(_ update: PositionUpdate, token: Secret) -> HTTPRequest {
    let message = vehicle.service.message(update, positionField, reportsState)
    return request("?updateMask=" + message.mask, message.body, token: token)
  }

  /// Whether the vehicle's state is to follow the driver's duty: its service has one, and no other sets it.
  package var followsDuty: Bool { reportsState && vehicle.service.offline != nil }

  /// The request that ends a duty: it sets the vehicle's state to OFFLINE and has no position. Nil where the state does not
  /// follow the duty.
  package func offlineRequest(token: Secret) -> HTTPRequest? {
    guard followsDuty, let message = vehicle.service.offline else { return nil }
    return request("?updateMask=" + message.mask, message.body, token: token)
  }

  /// An update of nothing, for its mask is empty: it changes nothing, whoever answers. Fleet Engine rejects it with
  /// INVALID_ARGUMENT ("update_mask cannot be empty"); that it checks the token first is known of Google's APIs in general,
  /// not of this one.
  package func dryRun(token: Secret) -> HTTPRequest { request("", Array("{}".utf8), token: token) }

  /// Asks for the vehicle without a token: Fleet Engine refuses it in its own words, and that shows who answers.
  package var greeting: HTTPRequest {
    HTTPRequest(method: .get, url: url, headers: [.init("Accept", .plain("application/json"))], deadline: deadline)
  }

  /// Bytes that a past position adds to the body of a request: a few too many rather than too few.
  package func size(ofPast location: VehicleLocation) -> Int { pastSizes.size(of: location) }

  private func request(_ query: String, _ body: [UInt8], token: Secret) -> HTTPRequest {
    HTTPRequest(
      method: vehicle.service.method, url: url + query,
      headers: [
        .init("Authorization", .secret(prefix: "Bearer ", token)), .init("Content-Type", .plain("application/json")),
        // Without it the answer is the whole vehicle, with every stop and path.
        .init("X-Goog-FieldMask", .plain("name")),
      ], body: body, deadline: deadline, maximumResponseSize: FleetEngineEndpoint.maximumResponseSize)
  }
}
