// SPDX-License-Identifier: Apache-2.0
import Authorization
import HTTPMessages
import Positioning
import Timekeeping

extension FleetEngineService {
  /// Scheduled tasks: `maps.fleetengine.delivery.v1.DeliveryService`.
  ///
  /// An update is `PATCH /v1/providers/{provider}/deliveryVehicles/{vehicle}?updateMask=lastLocation[,pastLocations]`
  /// (UpdateDeliveryVehicle), whose body is the vehicle itself.
  package static let deliveries = FleetEngineService(
    name: "deliveries", collection: "deliveryVehicles", method: .patch,
    role: "roles/fleetengine.deliveryUntrustedDriver", scope: { .deliveryVehicle($0) },
    message: { update, field in
      var writer = JSONWriter(capacity: 320 + 300 * update.past.count)
      writer.openObject()
      writer.key("lastLocation")
      writer.write(update.live, in: field, timeSinceUpdate: update.timeSinceUpdate)
      if !update.past.isEmpty {
        writer.key("pastLocations")
        writer.openArray()
        for location in update.past { writer.write(location, in: field) }
        writer.closeArray()
      }
      writer.closeObject()
      return Message(
        mask: update.past.isEmpty ? "lastLocation" : "lastLocation%2CpastLocations", body: writer.bytes)
    })
}

/// `maps.fleetengine.delivery.v1.DeliveryVehicle` (fields 2 and 12) and `DeliveryVehicleLocation` in their JSON form, without
/// what this program never sends. Wrapper types are bare numbers; what is nil is left out.
extension JSONWriter {
  /// - Parameters:
  ///   - field: which fields carry the position: `location` and its siblings (1, 4, 11, 22), or the supplemental ones (18 to
  ///     21), which Google asks for of senders that are not its SDK.
  ///   - timeSinceUpdate: proto field 14: whole seconds since this place was first sent; nil the first time.
  fileprivate mutating func write(_ location: VehicleLocation, in field: PositionField, timeSinceUpdate: Int? = nil) {
    openObject()
    // Proto field 6: metres above the ellipsoid.
    member("altitude", location.altitude, decimals: 1)
    // Proto field 24.
    member("altitudeAccuracy", location.verticalAccuracy, decimals: 1)
    // Proto field 2: whole degrees; 359.7 rounds to 360, which is north.
    if let heading = location.heading.flatMap({ Int(exactly: $0.rounded()) }) {
      key("heading")
      number((heading % 360 + 360) % 360)
    }
    // Proto field 23.
    member("headingAccuracy", location.headingAccuracy, decimals: 1)
    if field == .location {
      member("latlngAccuracy", location.horizontalAccuracy, decimals: 1)
      place("location", location.coordinate)
      key("locationSensor")
      string("GPS")
    }
    // Proto field 5: metres per second.
    member("speed", location.speed, decimals: 2)
    // Proto field 7.
    member("speedAccuracy", location.speedAccuracy, decimals: 2)
    if field == .supplemental {
      place("supplementalLocation", location.coordinate)
      member("supplementalLocationAccuracy", location.horizontalAccuracy, decimals: 1)
      key("supplementalLocationSensor")
      string("CUSTOMER_SUPPLIED_LOCATION")
      key("supplementalLocationTime")
      time(location.time)
    }
    if let timeSinceUpdate {
      key("timeSinceUpdate")
      number(timeSinceUpdate)
    }
    if field == .location {
      key("updateTime")
      time(location.time)
    }
    closeObject()
  }

  private mutating func member(_ name: String, _ value: Double?, decimals: Int) {
    guard let value else { return }
    key(name)
    number(value, decimals: decimals)
  }

  /// `google.type.LatLng`: six decimals of a degree are 0.1 m. A zero is written: to leave it out would be as right, and
  /// surprise every reader.
  private mutating func place(_ name: String, _ coordinate: Coordinate) {
    key(name)
    openObject()
    key("latitude")
    number(coordinate.latitude, decimals: 6)
    key("longitude")
    number(coordinate.longitude, decimals: 6)
    closeObject()
  }
}
