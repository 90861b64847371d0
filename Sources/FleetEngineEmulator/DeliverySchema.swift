// SPDX-License-Identifier: Apache-2.0

/// `maps.fleetengine.delivery.v1`, as in its public protocol buffers.
enum DeliverySchema {
  private static let location = CommonSchema.location("DeliveryVehicleLocation")

  private static let taskInfo = MessageSchema(
    "VehicleStop.TaskInfo",
    ["taskId": .string(), "taskDuration": .duration, "targetTimeWindow": .message(MessageSchema("TimeWindow", [:]))],
    outputOnly: ["taskDuration", "targetTimeWindow"])

  private static let stop = MessageSchema(
    "VehicleStop",
    [
      "plannedLocation": .message(MessageSchema("LocationInfo", ["point": .message(CommonSchema.latLng)])),
      "tasks": .repeated(.message(taskInfo)),
      "state": .enumeration(EnumSchema(names: ["STATE_UNSPECIFIED": 0, "NEW": 1, "ENROUTE": 2, "ARRIVED": 3])),
    ])

  private static let segment = MessageSchema(
    "VehicleJourneySegment",
    [
      "stop": .message(stop), "drivingDistanceMeters": .int32(), "drivingDuration": .duration,
      "path": .repeated(.message(CommonSchema.latLng)),
    ], outputOnly: ["drivingDistanceMeters", "drivingDuration", "path"])

  static let vehicle = MessageSchema(
    "DeliveryVehicle",
    [
      "name": .string(), "lastLocation": .message(location), "navigationStatus": CommonSchema.navigationStatus,
      "currentRouteSegment": .bytes, "currentRouteSegmentEndPoint": .message(CommonSchema.latLng),
      "remainingDistanceMeters": .int32(), "remainingDuration": .duration,
      "remainingVehicleJourneySegments": .repeated(.message(segment)),
      "attributes": CommonSchema.attributes("DeliveryVehicleAttribute"),
      "type": .enumeration(
        EnumSchema(names: [
          "DELIVERY_VEHICLE_TYPE_UNSPECIFIED": 0, "AUTO": 1, "TWO_WHEELER": 2, "BICYCLE": 3, "PEDESTRIAN": 4,
        ])),
      "pastLocations": .repeated(.message(location)),
    ], inputOnly: ["pastLocations"])
}
