// SPDX-License-Identifier: Apache-2.0

/// The messages that both services have, with the same fields under two names, as in the public protocol buffers of
/// `maps.fleetengine.v1` and `maps.fleetengine.delivery.v1`.
enum CommonSchema {
  static let latLng = MessageSchema(
    "google.type.LatLng", ["latitude": .double(-90...90), "longitude": .double(-180...180)])

  private static let sensor = EnumSchema(
    names: [
      "UNKNOWN_SENSOR": 0, "GPS": 1, "NETWORK": 2, "PASSIVE": 3, "ROAD_SNAPPED_LOCATION_PROVIDER": 4,
      "CUSTOMER_SUPPLIED_LOCATION": 5, "FLEET_ENGINE_LOCATION": 6, "FUSED_LOCATION_PROVIDER": 100, "CORE_LOCATION": 200,
    ], outputOnly: ["FLEET_ENGINE_LOCATION"])

  private static let accuracy = FieldType.double(0...Double.greatestFiniteMagnitude)

  /// `VehicleLocation`, `DeliveryVehicleLocation`.
  static func location(_ name: String) -> MessageSchema {
    MessageSchema(
      name,
      [
        "location": .message(latLng), "heading": .int32(0...359), "speedKmph": .int32(), "updateTime": .timestamp,
        "altitude": .double(), "speed": .double(), "speedAccuracy": .double(), "horizontalAccuracy": .double(),
        "verticalAccuracy": .double(), "bearingAccuracy": .double(), "locationSensor": .enumeration(sensor),
        "isGpsSensorEnabled": .bool, "serverTime": .timestamp, "timeSinceUpdate": .int32(0...Int64(Int32.max)),
        "numStaleUpdates": .int32(), "rawLocation": .message(latLng), "rawLocationTime": .timestamp,
        "supplementalLocation": .message(latLng), "supplementalLocationTime": .timestamp,
        "supplementalLocationSensor": .enumeration(sensor), "supplementalLocationAccuracy": accuracy,
        "latlngAccuracy": accuracy, "headingAccuracy": accuracy, "altitudeAccuracy": accuracy,
        "rawLocationAccuracy": accuracy, "roadSnapped": .bool, "isRoadSnapped": .bool,
        "rawLocationSensor": .enumeration(sensor), "flpLocation": .message(latLng), "flpUpdateTime": .timestamp,
        "flpLatlngAccuracyMeters": accuracy, "flpHeadingDegrees": .int32(0...359),
      ],
      outputOnly: ["serverTime"], inputOnly: ["isGpsSensorEnabled", "timeSinceUpdate", "numStaleUpdates"])
  }

  /// `VehicleAttribute`, `DeliveryVehicleAttribute`; a vehicle has at most 100.
  static func attributes(_ name: String) -> FieldType {
    .repeated(
      .message(
        MessageSchema(
          name,
          [
            "key": .string(maximumLength: 256), "value": .string(maximumLength: 256),
            "stringValue": .string(maximumLength: 256), "boolValue": .bool, "numberValue": .double(),
          ])), maximumCount: 100)
  }

  /// `NavigationStatus`, `DeliveryVehicleNavigationStatus`.
  static let navigationStatus = FieldType.enumeration(
    EnumSchema(names: [
      "UNKNOWN_NAVIGATION_STATUS": 0, "NO_GUIDANCE": 1, "ENROUTE_TO_DESTINATION": 2, "OFF_ROUTE": 3,
      "ARRIVED_AT_DESTINATION": 4,
    ]))

  /// `RequestHeader`, `DeliveryRequestHeader`, whose fields are query parameters in REST: `header.regionCode` and so
  /// on.
  static let header = MessageSchema(
    "RequestHeader",
    [
      "languageCode": .string(), "regionCode": .string(), "sdkVersion": .string(), "osVersion": .string(),
      "deviceModel": .string(),
      "sdkType": .enumeration(
        EnumSchema(names: ["SDK_TYPE_UNSPECIFIED": 0, "CONSUMER": 1, "DRIVER": 2, "JAVASCRIPT": 3])),
      "mapsSdkVersion": .string(), "navSdkVersion": .string(),
      "platform": .enumeration(EnumSchema(names: ["PLATFORM_UNSPECIFIED": 0, "ANDROID": 1, "IOS": 2, "WEB": 3])),
      "manufacturer": .string(), "androidApiLevel": .int32(), "traceId": .string(),
    ])
}
