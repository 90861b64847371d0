// SPDX-License-Identifier: Apache-2.0
import Expectations
import Testing

@testable import FleetEngineEmulator

struct UpdateMaskTests {
  @Test(
    "an update mask may contain the lowerCamelCase paths of fields",
    arguments: [
      "lastLocation", "lastLocation,pastLocations", "lastLocation.supplementalLocation.latitude", "type,attributes",
    ])
  func accepted(_ text: String) throws {
    try expectEqual(UpdateMask(text, of: DeliverySchema.vehicle).paths, text.split(separator: ",").map(String.init))
  }

  @Test(
    "any other path in an update mask is rejected",
    arguments: [
      "last_location", "colour", "lastLocation,", ",lastLocation", "lastLocation pastLocations", "pastLocations.speed",
      "lastLocation.colour", "lastLocation.", "name", "*",
    ])
  func refused(_ text: String) {
    let error = #expect(throws: APIError.self) { try UpdateMask(text, of: DeliverySchema.vehicle) }
    expectEqual(error?.code, .invalidArgument)
  }

  @Test("an empty mask is rejected with Google's message")
  func empty() {
    let error = #expect(throws: APIError.self) { try UpdateMask("", of: DeliverySchema.vehicle) }
    expectEqual(error?.message, "update_mask cannot be empty")
  }

  @Test("a field in the mask is replaced as a whole, or removed, and other fields remain unchanged")
  func apply() throws {
    let stored: JSON = ["type": "AUTO", "lastLocation": ["speed": 1, "heading": 2], "attributes": []]
    let update: JSON = ["type": "BICYCLE", "lastLocation": ["speed": 3]]
    try expectEqual(
      UpdateMask("lastLocation,attributes", of: DeliverySchema.vehicle).apply(update, to: stored).text,
      #"{"type":"AUTO","lastLocation":{"speed":3}}"#)
    try expectEqual(
      UpdateMask("lastLocation.speed", of: DeliverySchema.vehicle).apply(update, to: stored)["lastLocation"]?.text,
      #"{"speed":3,"heading":2}"#)
  }

  @Test("a response mask limits the response to its fields")
  func response() throws {
    let answer: JSON = ["name": "n", "lastLocation": ["speed": 1, "heading": 2]]
    try expectEqual(ResponseMask.trim(answer, to: "name", of: DeliverySchema.vehicle).text, #"{"name":"n"}"#)
    try expectEqual(
      ResponseMask.trim(answer, to: "last_location.speed,name", of: DeliverySchema.vehicle).text,
      #"{"lastLocation":{"speed":1},"name":"n"}"#)
    try expectEqual(ResponseMask.trim(answer, to: "*", of: DeliverySchema.vehicle), answer)
    #expect(throws: APIError.self) { try ResponseMask.trim(answer, to: "names", of: DeliverySchema.vehicle) }
  }
}
