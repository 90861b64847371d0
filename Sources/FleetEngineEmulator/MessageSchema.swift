// SPDX-License-Identifier: Apache-2.0

/// What a protobuf field may hold, as JSON.
indirect enum FieldType: Sendable {
  case string(maximumLength: Int? = nil)
  case bool
  /// A finite number.
  case double(ClosedRange<Double>? = nil)
  /// A whole number of 32 bits.
  case int32(ClosedRange<Int64>? = nil)
  case timestamp
  case duration
  /// Standard base64.
  case bytes
  case enumeration(EnumSchema)
  case message(MessageSchema)
  case repeated(FieldType, maximumCount: Int? = nil)
}

/// The values of a protobuf enum; JSON carries a name or a number.
struct EnumSchema: Sendable {
  let names: [String: Int64]
  /// What the server alone may set.
  var outputOnly: Set<String> = []
}

/// The fields of a protobuf message under their JSON names.
struct MessageSchema: Sendable {
  struct Field: Sendable {
    enum Behaviour: Sendable {
      case plain
      /// Refused in a request.
      case outputOnly
      /// Never in an answer.
      case inputOnly
    }

    let type: FieldType
    var behaviour = Behaviour.plain
  }

  let name: String
  let fields: [String: Field]

  init(_ name: String, _ fields: [String: FieldType], outputOnly: Set<String> = [], inputOnly: Set<String> = []) {
    self.name = name
    self.fields = .init(
      uniqueKeysWithValues: fields.map { key, type in
        (
          key,
          Field(
            type: type,
            behaviour: outputOnly.contains(key) ? .outputOnly : inputOnly.contains(key) ? .inputOnly : .plain)
        )
      })
  }
}

/// `maps.fleetengine.delivery.v1`, written down from its public protocol buffers.
enum DeliverySchema {
  static let latLng = MessageSchema(
    "google.type.LatLng", ["latitude": .double(-90...90), "longitude": .double(-180...180)])

  static let sensor = EnumSchema(
    names: [
      "UNKNOWN_SENSOR": 0, "GPS": 1, "NETWORK": 2, "PASSIVE": 3, "ROAD_SNAPPED_LOCATION_PROVIDER": 4,
      "CUSTOMER_SUPPLIED_LOCATION": 5, "FLEET_ENGINE_LOCATION": 6, "FUSED_LOCATION_PROVIDER": 100, "CORE_LOCATION": 200,
    ], outputOnly: ["FLEET_ENGINE_LOCATION"])

  static let location = MessageSchema(
    "DeliveryVehicleLocation",
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

  private static let accuracy = FieldType.double(0...Double.greatestFiniteMagnitude)

  static let taskInfo = MessageSchema(
    "VehicleStop.TaskInfo",
    ["taskId": .string(), "taskDuration": .duration, "targetTimeWindow": .message(MessageSchema("TimeWindow", [:]))],
    outputOnly: ["taskDuration", "targetTimeWindow"])

  static let stop = MessageSchema(
    "VehicleStop",
    [
      "plannedLocation": .message(MessageSchema("LocationInfo", ["point": .message(latLng)])),
      "tasks": .repeated(.message(taskInfo)),
      "state": .enumeration(EnumSchema(names: ["STATE_UNSPECIFIED": 0, "NEW": 1, "ENROUTE": 2, "ARRIVED": 3])),
    ])

  static let segment = MessageSchema(
    "VehicleJourneySegment",
    [
      "stop": .message(stop), "drivingDistanceMeters": .int32(), "drivingDuration": .duration,
      "path": .repeated(.message(latLng)),
    ], outputOnly: ["drivingDistanceMeters", "drivingDuration", "path"])

  static let attribute = MessageSchema(
    "DeliveryVehicleAttribute",
    [
      "key": .string(maximumLength: 256), "value": .string(maximumLength: 256),
      "stringValue": .string(maximumLength: 256), "boolValue": .bool, "numberValue": .double(),
    ])

  static let vehicle = MessageSchema(
    "DeliveryVehicle",
    [
      "name": .string(), "lastLocation": .message(location),
      "navigationStatus": .enumeration(
        EnumSchema(names: [
          "UNKNOWN_NAVIGATION_STATUS": 0, "NO_GUIDANCE": 1, "ENROUTE_TO_DESTINATION": 2, "OFF_ROUTE": 3,
          "ARRIVED_AT_DESTINATION": 4,
        ])),
      "currentRouteSegment": .bytes, "currentRouteSegmentEndPoint": .message(latLng),
      "remainingDistanceMeters": .int32(), "remainingDuration": .duration,
      "remainingVehicleJourneySegments": .repeated(.message(segment)),
      "attributes": .repeated(.message(attribute), maximumCount: 100),
      "type": .enumeration(
        EnumSchema(names: [
          "DELIVERY_VEHICLE_TYPE_UNSPECIFIED": 0, "AUTO": 1, "TWO_WHEELER": 2, "BICYCLE": 3, "PEDESTRIAN": 4,
        ])),
      "pastLocations": .repeated(.message(location)),
    ], inputOnly: ["pastLocations"])

  /// `DeliveryRequestHeader`, which REST spreads over the query as `header.regionCode` and so on.
  static let header = MessageSchema(
    "DeliveryRequestHeader",
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
