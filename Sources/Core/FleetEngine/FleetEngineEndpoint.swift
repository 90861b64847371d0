// SPDX-License-Identifier: Apache-2.0
package import HTTPMessages

/// The Fleet Engine endpoint of one vehicle, which encodes its updates as requests.
package struct FleetEngineEndpoint: Equatable, Sendable {
  /// The vehicle that the requests update.
  package let vehicle: FleetEngineVehicle
  /// The timeout of one update.
  package var deadline: Duration
  /// The location fields that carry the position.
  package var positionField: PositionField
  /// Whether updates set the vehicle's state, if its service has one.
  package var reportsState: Bool
  /// Scheme, host and port of the server.
  package let origin: String
  /// The URL of updates, without the query.
  package let url: String

  /// The maximum size of a response. With the field mask, it contains at most the vehicle's name.
  private static let maximumResponseSize = 65_536

  /// - Parameters:
  ///   - origin: scheme, host and port, without a path.
  ///   - positionField: the location fields that carry the position.
  ///   - reportsState: whether updates set the vehicle's state, if its service has one.
  ///   - deadline: the timeout of one update.
  package init(
    origin: String, vehicle: FleetEngineVehicle, positionField: PositionField = .supplemental,
    reportsState: Bool = true,
    deadline: Duration = .seconds(15)
  ) {
    self.vehicle = vehicle
    self.deadline = deadline
    self.positionField = positionField
    self.reportsState = reportsState
    self.origin = origin.hasSuffix("/") ? String(origin.dropLast()) : origin
    url = self.origin + vehicle.path
  }

  /// Whether both endpoints update the same vehicle.
  package func isSameVehicle(as other: FleetEngineEndpoint) -> Bool { url == other.url }

  /// The request for an update.
  ///
  /// - Parameter state: the vehicle's state, which is sent if it follows the driver's duty.
  package func request(
    _ update: PositionUpdate, _ form: UpdateForm, state: VehicleState = .online, token: Secret
  ) -> HTTPRequest {
    let message = vehicle.service.message(update, positionField, form, followsDuty ? state : nil)
    return request("?updateMask=" + message.mask, message.body, form, token: token)
  }

  /// Whether the vehicle's state follows the driver's duty: its service has states, and no other program sets them.
  package var followsDuty: Bool { reportsState && vehicle.service.hasState }

  /// The request that sets the vehicle's state to OFFLINE, without a position. Nil if the state does not follow the
  /// duty.
  package func offlineRequest(token: Secret) -> HTTPRequest? {
    guard followsDuty, let message = vehicle.service.offlineMessage else { return nil }
    return request("?updateMask=" + message.mask, message.body, .plain, token: token)
  }

  /// An update with an empty mask, which changes nothing. Fleet Engine rejects it with INVALID_ARGUMENT ("update_mask
  /// cannot be empty"); that it validates the token first is known of Google's APIs in general, but not of this one.
  package func dryRun(token: Secret) -> HTTPRequest { request("", Array("{}".utf8), .plain, token: token) }

  /// Requests the vehicle without a token: the form of the rejection shows whether Fleet Engine answers.
  package var probe: HTTPRequest {
    HTTPRequest(method: .get, url: url, headers: [.init("Accept", .plain("application/json"))], deadline: deadline)
  }

  /// Measures what past positions add to the body of a request, by encoding some.
  package func pastPositionSizes() -> PastPositionSizes {
    PastPositionSizes { update in vehicle.service.message(update, positionField, .plain, nil).body.count }
  }

  private func request(_ query: String, _ body: [UInt8], _ form: UpdateForm, token: Secret) -> HTTPRequest {
    var request = HTTPRequest(
      method: vehicle.service.method, url: url + query + form.query,
      headers: [
        .init("Authorization", .secret(prefix: "Bearer ", token)), .init("Content-Type", .plain("application/json")),
        .init("X-Goog-FieldMask", .plain(form.responseMask)),
      ], body: body, deadline: deadline, maximumResponseSize: FleetEngineEndpoint.maximumResponseSize)
    if form == .compact { request.contentCoding = .gzip }
    return request
  }
}
