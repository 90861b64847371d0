// SPDX-License-Identifier: Apache-2.0
import JSON
import Positioning

extension FleetEngineService.Message {
  /// `maps.fleetengine.delivery.v1.DeliveryVehicle` (fields 2 and 12) or `maps.fleetengine.v1.Vehicle` (2, 5 and 30),
  /// whose fields have the same names; only the fields that this program sends.
  ///
  /// - Parameters:
  ///   - update: the positions; nil for a message without a position.
  ///   - form: whether fields with their default value are written.
  ///   - state: the new state of a vehicle of on-demand trips; nil leaves it unchanged.
  init(_ update: PositionUpdate?, in field: PositionField, _ form: UpdateForm, state: VehicleState? = nil) {
    var fields: [String] = []
    var writer = JSONWriter(capacity: 320 + 300 * (update?.past.count ?? 0))
    writer.openObject()
    if let state {
      fields.append("vehicleState")
      writer.key("vehicleState")
      writer.string(state.rawValue)
    }
    if let update {
      fields.append("lastLocation")
      writer.key("lastLocation")
      writer.write(update.live, in: field, form, timeSinceUpdate: update.timeSinceUpdate)
      if !update.past.isEmpty {
        fields.append("pastLocations")
        writer.key("pastLocations")
        writer.openArray()
        for location in update.past { writer.write(location, in: field, form) }
        writer.closeArray()
      }
    }
    writer.closeObject()
    mask = fields.joined(separator: "%2C")
    body = writer.bytes
  }
}

/// `maps.fleetengine.delivery.v1.DeliveryVehicleLocation` in its JSON form, and `maps.fleetengine.v1.VehicleLocation`,
/// which has the same fields; only the fields that this program sends. Wrapper types are bare numbers; nil is omitted.
extension JSONWriter {
  /// - Parameters:
  ///   - field: the fields for the position: `location` and its siblings (1, 4, 11, 22), or the supplemental ones (18
  ///     to 21), which Google requires of senders other than its SDK.
  ///   - form: whether fields with their default value are written.
  ///   - timeSinceUpdate: proto field 14: whole seconds since this position was first sent; nil the first time.
  fileprivate mutating func write(
    _ location: VehicleLocation, in field: PositionField, _ form: UpdateForm, timeSinceUpdate: Int? = nil
  ) {
    // The fields are in the order in which the compressed text is the smallest (`PositionCode`).
    openObject()
    // Proto field 2: whole degrees; 359.7 rounds to 360, which is north.
    if let heading = location.heading.flatMap({ Int(exactly: $0.rounded()) }) {
      key("heading")
      number((heading % 360 + 360) % 360)
    }
    // Proto field 23.
    member("headingAccuracy", location.headingAccuracy, decimals: 1)
    // Proto field 6: metres per second.
    member("speed", location.speed, decimals: 2)
    // Proto field 7.
    member("speedAccuracy", location.speedAccuracy, decimals: 2)
    switch field {
    case .location:
      latLng("location", location.coordinate)
      key("locationSensor")
      string("GPS")
      key("updateTime")
      time(location.time)
      member("latlngAccuracy", location.horizontalAccuracy, decimals: 1)
    case .supplemental:
      latLng("supplementalLocation", location.coordinate)
      if form.writesDefaults {
        // Proto field 20, with its default.
        key("supplementalLocationSensor")
        string("CUSTOMER_SUPPLIED_LOCATION")
      }
      key("supplementalLocationTime")
      time(location.time)
      member("supplementalLocationAccuracy", location.horizontalAccuracy, decimals: 1)
    }
    // Proto field 5: metres above the ellipsoid.
    member("altitude", location.altitude, decimals: 1)
    // Proto field 24.
    member("altitudeAccuracy", location.verticalAccuracy, decimals: 1)
    if let timeSinceUpdate {
      key("timeSinceUpdate")
      number(timeSinceUpdate)
    }
    closeObject()
  }

  private mutating func member(_ name: String, _ value: Double?, decimals: Int) {
    guard let value else { return }
    key(name)
    number(value, decimals: decimals)
  }

  /// `google.type.LatLng`: six decimals of a degree are 0.1 m. Zeros are written, although protobuf's JSON allows
  /// omitting them.
  private mutating func latLng(_ name: String, _ coordinate: Coordinate) {
    key(name)
    openObject()
    key("latitude")
    number(coordinate.latitude, decimals: 6)
    key("longitude")
    number(coordinate.longitude, decimals: 6)
    closeObject()
  }
}
