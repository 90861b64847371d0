// SPDX-License-Identifier: Apache-2.0

/// `maps.fleetengine.v1`, on-demand trips, as in its public protocol buffers.
enum TripsSchema {
  private static let location = CommonSchema.location("VehicleLocation")

  private static let waypointType = FieldType.enumeration(
    EnumSchema(names: [
      "UNKNOWN_WAYPOINT_TYPE": 0, "PICKUP_WAYPOINT_TYPE": 1, "DROP_OFF_WAYPOINT_TYPE": 2,
      "INTERMEDIATE_DESTINATION_WAYPOINT_TYPE": 3,
    ]))

  private static let terminal = MessageSchema(
    "TerminalLocation",
    [
      "point": .message(CommonSchema.latLng),
      "terminalPointId": .message(
        MessageSchema("TerminalPointId", ["placeId": .string(), "generatedId": .string(), "value": .string()])),
      "accessPointId": .string(), "tripId": .string(), "terminalLocationType": waypointType,
    ])

  private static let traffic = MessageSchema(
    "ConsumableTrafficPolyline",
    [
      "speedReadingInterval": .repeated(
        .message(
          MessageSchema(
            "SpeedReadingInterval",
            [
              "startPolylinePointIndex": .int32(), "endPolylinePointIndex": .int32(),
              "speed": .enumeration(
                EnumSchema(names: ["SPEED_UNSPECIFIED": 0, "NORMAL": 1, "SLOW": 2, "TRAFFIC_JAM": 3])),
            ]))),
      "encodedPathToWaypoint": .string(),
    ])

  private static let waypoint = MessageSchema(
    "TripWaypoint",
    [
      "location": .message(terminal), "tripId": .string(), "waypointType": waypointType,
      "pathToWaypoint": .repeated(.message(CommonSchema.latLng)), "encodedPathToWaypoint": .string(),
      "trafficToWaypoint": .message(traffic), "distanceMeters": .int32(), "eta": .timestamp, "duration": .duration,
    ])

  private static let routeTraffic = MessageSchema(
    "TrafficPolylineData",
    [
      "trafficRendering": .message(
        MessageSchema(
          "VisualTrafficReportPolylineRendering",
          [
            "roadStretch": .repeated(
              .message(
                MessageSchema(
                  "RoadStretch",
                  [
                    "style": .enumeration(
                      EnumSchema(names: ["STYLE_UNSPECIFIED": 0, "SLOWER_TRAFFIC": 1, "TRAFFIC_JAM": 2])),
                    "offsetMeters": .int32(), "lengthMeters": .int32(),
                  ])))
          ]))
    ])

  private static let device = MessageSchema(
    "DeviceSettings",
    [
      "locationPowerSaveMode": .enumeration(
        EnumSchema(names: [
          "UNKNOWN_LOCATION_POWER_SAVE_MODE": 0, "LOCATION_MODE_NO_CHANGE": 1,
          "LOCATION_MODE_GPS_DISABLED_WHEN_SCREEN_OFF": 2, "LOCATION_MODE_ALL_DISABLED_WHEN_SCREEN_OFF": 3,
          "LOCATION_MODE_FOREGROUND_ONLY": 4, "LOCATION_MODE_THROTTLE_REQUESTS_WHEN_SCREEN_OFF": 5,
        ])),
      "isPowerSaveMode": .bool, "isInteractive": .bool,
      "batteryInfo": .message(
        MessageSchema(
          "BatteryInfo",
          [
            "batteryStatus": .enumeration(
              EnumSchema(names: [
                "UNKNOWN_BATTERY_STATUS": 0, "BATTERY_STATUS_CHARGING": 1, "BATTERY_STATUS_DISCHARGING": 2,
                "BATTERY_STATUS_FULL": 3, "BATTERY_STATUS_NOT_CHARGING": 4, "BATTERY_STATUS_POWER_LOW": 5,
              ])),
            "powerSource": .enumeration(
              EnumSchema(names: [
                "UNKNOWN_POWER_SOURCE": 0, "POWER_SOURCE_AC": 1, "POWER_SOURCE_USB": 2, "POWER_SOURCE_WIRELESS": 3,
                "POWER_SOURCE_UNPLUGGED": 4,
              ])),
            "batteryPercentage": .double(0...100),
          ])),
    ])

  static let vehicle = MessageSchema(
    "Vehicle",
    [
      "name": .string(),
      "vehicleState": .enumeration(EnumSchema(names: ["UNKNOWN_VEHICLE_STATE": 0, "OFFLINE": 1, "ONLINE": 2])),
      "supportedTripTypes": .repeated(
        .enumeration(EnumSchema(names: ["UNKNOWN_TRIP_TYPE": 0, "SHARED": 1, "EXCLUSIVE": 2]))),
      "currentTrips": .repeated(.string()), "lastLocation": .message(location),
      "maximumCapacity": .int32(1...Int64(Int32.max)), "attributes": CommonSchema.attributes("VehicleAttribute"),
      "vehicleType": .message(
        MessageSchema(
          "Vehicle.VehicleType",
          [
            "category": .enumeration(
              EnumSchema(names: [
                "UNKNOWN": 0, "AUTO": 1, "TAXI": 2, "TRUCK": 3, "TWO_WHEELER": 4, "BICYCLE": 5, "PEDESTRIAN": 6,
              ]))
          ])),
      "licensePlate": .message(MessageSchema("LicensePlate", ["countryCode": .string(), "lastCharacter": .string()])),
      "route": .repeated(.message(terminal)), "currentRouteSegment": .string(),
      "currentRouteSegmentTraffic": .message(routeTraffic), "currentRouteSegmentVersion": .timestamp,
      "currentRouteSegmentEndPoint": .message(waypoint), "remainingDistanceMeters": .int32(),
      "etaToFirstWaypoint": .timestamp, "remainingTimeSeconds": .int32(), "waypoints": .repeated(.message(waypoint)),
      "waypointsVersion": .timestamp, "backToBackEnabled": .bool, "navigationStatus": CommonSchema.navigationStatus,
      "deviceSettings": .message(device), "pastLocations": .repeated(.message(location)),
    ], outputOnly: ["currentTrips", "currentRouteSegmentVersion", "waypointsVersion"],
    inputOnly: ["currentRouteSegmentTraffic", "remainingTimeSeconds", "deviceSettings", "pastLocations"])
}
