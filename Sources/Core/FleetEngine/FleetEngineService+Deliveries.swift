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
      let live = DeliveryVehicleLocation(update.live, in: field, timeSinceUpdate: update.timeSinceUpdate)
      guard !update.past.isEmpty else {
        return Message(mask: ["lastLocation"], body: DeliveryVehicle(lastLocation: live))
      }
      let past = update.past.map { DeliveryVehicleLocation($0, in: field) }
      return Message(
        mask: ["lastLocation", "pastLocations"], body: DeliveryVehicle(lastLocation: live, pastLocations: past))
    })
}

/// The part of `maps.fleetengine.delivery.v1.DeliveryVehicle` that a driver may write, in its JSON form.
struct DeliveryVehicle: Encodable {
  /// Proto field 2.
  var lastLocation: DeliveryVehicleLocation
  /// Proto field 12, oldest first; nil when there is nothing to make up for.
  var pastLocations: [DeliveryVehicleLocation]?
}

/// `maps.fleetengine.delivery.v1.DeliveryVehicleLocation` in its JSON form, without what this program never sends.
/// Wrapper types are bare numbers; what is nil is left out.
struct DeliveryVehicleLocation: Encodable {
  /// `google.type.LatLng`. A zero is written: to leave it out would be as right, and surprise every reader.
  struct LatLng: Encodable {
    var latitude: Double
    var longitude: Double
  }

  /// Proto field 1, 4, 11, 22: for `position_field = "location"`.
  var location: LatLng?
  var updateTime: String?
  var locationSensor: String?
  var latlngAccuracy: Double?
  /// Proto fields 18 to 21: what Google asks of senders that are not its SDK.
  var supplementalLocation: LatLng?
  var supplementalLocationTime: String?
  var supplementalLocationSensor: String?
  var supplementalLocationAccuracy: Double?
  /// Proto field 2: whole degrees in [0,360).
  var heading: Int?
  /// Proto field 5: metres above the ellipsoid.
  var altitude: Double?
  /// Proto field 6: metres per second.
  var speed: Double?
  /// Proto field 7.
  var speedAccuracy: Double?
  /// Proto field 14: whole seconds since this place was first sent; nil the first time.
  var timeSinceUpdate: Int?
  /// Proto field 23.
  var headingAccuracy: Double?
  /// Proto field 24.
  var altitudeAccuracy: Double?

  init(_ location: VehicleLocation, in field: PositionField, timeSinceUpdate: Int? = nil) {
    let place = LatLng(
      latitude: location.coordinate.latitude.rounded(decimals: 7),
      longitude: location.coordinate.longitude.rounded(decimals: 7))
    switch field {
    case .supplemental:
      supplementalLocation = place
      supplementalLocationTime = location.time.canonicalJSON
      supplementalLocationSensor = "CUSTOMER_SUPPLIED_LOCATION"
      supplementalLocationAccuracy = location.horizontalAccuracy?.rounded(decimals: 1)
    case .location:
      self.location = place
      updateTime = location.time.canonicalJSON
      locationSensor = "GPS"
      latlngAccuracy = location.horizontalAccuracy?.rounded(decimals: 1)
    }
    heading = location.heading.flatMap { degrees in
      // 359.7 rounds to 360, which is north.
      Int(exactly: degrees.rounded()).map { (($0 % 360) + 360) % 360 }
    }
    altitude = location.altitude?.rounded(decimals: 1)
    speed = location.speed?.rounded(decimals: 2)
    speedAccuracy = location.speedAccuracy?.rounded(decimals: 2)
    self.timeSinceUpdate = timeSinceUpdate
    headingAccuracy = location.headingAccuracy?.rounded(decimals: 1)
    altitudeAccuracy = location.verticalAccuracy?.rounded(decimals: 1)
  }
}

extension Double {
  /// The nearest number with so many decimals, never a negative zero. JSON cannot tell what is not finite: zero, then.
  fileprivate func rounded(decimals: Int) -> Double {
    let scale: Double =
      switch decimals {
      case 1: 10
      case 2: 100
      default: 10_000_000
      }
    let rounded = (self * scale).rounded() / scale
    guard rounded.isFinite else { return 0 }
    return rounded == 0 ? 0 : rounded
  }
}
