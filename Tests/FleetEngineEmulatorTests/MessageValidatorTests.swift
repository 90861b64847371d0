// SPDX-License-Identifier: Apache-2.0
import Expectations
import Testing

@testable import FleetEngineEmulator

struct MessageValidatorTests {
  private func check(_ text: String) throws -> JSON {
    try MessageValidator.check(
      try JSONParser.parse(Array(text.utf8)), as: DeliverySchema.vehicle, at: "delivery_vehicle")
  }

  private func checkLocation(_ text: String) throws -> JSON {
    try check("{\"lastLocation\":{\(text)}}")
  }

  @Test(
    "messages that Google's documentation allows are accepted unchanged",
    arguments: [
      #""supplementalLocation":{"latitude":48.1,"longitude":11.5}"#,
      #""supplementalLocation":{"latitude":-90,"longitude":180}"#,
      #""supplementalLocation":{}"#, #""heading":0"#, #""heading":359"#, #""speed":0.0"#, #""altitude":-12.5"#,
      #""supplementalLocationTime":"2026-11-21T09:00:00.250Z""#,
      #""supplementalLocationSensor":"CUSTOMER_SUPPLIED_LOCATION""#,
      #""timeSinceUpdate":0"#, #""isRoadSnapped":false"#, #""isGpsSensorEnabled":true"#, #""flpHeadingDegrees":12"#,
    ])
  func accepted(_ fields: String) throws {
    try expectEqual(checkLocation(fields).text, "{\"lastLocation\":{\(fields)}}")
  }

  @Test(
    "unknown names, wrong types, values out of range and the server's own fields are rejected as INVALID_ARGUMENT",
    arguments: [
      #""colour":"red""#, #""supplemental_location":{"latitude":1,"longitude":1}"#, #""heading":360"#, #""heading":-1"#,
      #""heading":87.5"#, #""heading":"87""#, #""heading":true"#, #""speed":"12""#, #""speed":"NaN""#,
      #""speed":1e999"#,
      #""speed":[1]"#, #""speed":{"value":1}"#, #""supplementalLocation":{"latitude":90.1,"longitude":0}"#,
      #""supplementalLocation":{"latitude":0,"longitude":-180.5}"#, #""supplementalLocation":{"lat":1,"lon":2}"#,
      #""supplementalLocation":[48,11]"#, #""supplementalLocationTime":"2026-11-21T09:00:00""#,
      #""supplementalLocationTime":1795251600"#, #""supplementalLocationSensor":"SEXTANT""#,
      #""supplementalLocationSensor":7"#, #""locationSensor":"FLEET_ENGINE_LOCATION""#, #""locationSensor":6"#,
      #""serverTime":"2026-11-21T09:00:00Z""#, #""supplementalLocationAccuracy":-1"#, #""timeSinceUpdate":-1"#,
      #""timeSinceUpdate":2147483648"#, #""isRoadSnapped":"true""#,
    ])
  func refused(_ fields: String) {
    let error = #expect(throws: APIError.self) { try checkLocation(fields) }
    expectEqual(error?.code, .invalidArgument)
    expectEqual(error?.field?.hasPrefix("delivery_vehicle.lastLocation"), true)
  }

  @Test(
    "invalid fields other than lastLocation, and bodies that are not an object, are rejected",
    arguments: [
      #"{"navigationStatus":"LOST"}"#, #"{"currentRouteSegment":"not base64!"}"#, #"{"remainingDuration":"3.5"}"#,
      #"{"remainingVehicleJourneySegments":[{"drivingDistanceMeters":1}]}"#, #"{"pastLocations":{}}"#,
      #"{"pastLocations":[{"speed":1},{"speed":"x"}]}"#, #"{"type":9}"#, "[]", "1", "null",
    ])
  func refusedVehicle(_ text: String) {
    #expect(throws: APIError.self) { try check(text) }
  }

  @Test("at most 100 attributes are allowed")
  func attributes() throws {
    func vehicle(_ count: Int) -> String {
      let attributes = Array(repeating: #"{"key":"a","stringValue":"b"}"#, count: count).joined(separator: ",")
      return "{\"attributes\":[\(attributes)]}"
    }
    _ = try check(vehicle(100))
    #expect(throws: APIError.self) { try check(vehicle(101)) }
  }

  @Test("enums given as numbers are stored as names, nulls are removed, and a response can have enums as numbers")
  func normalised() throws {
    let checked = try checkLocation(#""supplementalLocationSensor":5,"speed":null"#)
    expectEqual(checked.text, #"{"lastLocation":{"supplementalLocationSensor":"CUSTOMER_SUPPLIED_LOCATION"}}"#)
    let numeric = MessageValidator.withNumericEnums(checked, as: .message(DeliverySchema.vehicle))
    expectEqual(numeric.text, #"{"lastLocation":{"supplementalLocationSensor":5}}"#)
  }

  @Test("input-only fields are not in a response")
  func answer() throws {
    let vehicle = try check(#"{"lastLocation":{"speed":1,"timeSinceUpdate":4},"pastLocations":[{"speed":2}]}"#)
    expectEqual(MessageValidator.response(vehicle, as: DeliverySchema.vehicle).text, #"{"lastLocation":{"speed":1}}"#)
  }

  @Test(
    "durations are validated",
    arguments: [
      ("3s", true), ("-3.500s", true), ("0.000000001s", true), ("3", false), ("s", false), ("3.s", false),
      ("--3s", false), ("3.0000000001s", false), ("315576000001s", false), ("1e3s", false),
    ])
  func duration(_ text: String, _ valid: Bool) {
    expectEqual(MessageValidator.isDuration(text), valid)
  }
}
