// SPDX-License-Identifier: Apache-2.0
import FleetEngine
import Testing
import Timekeeping

@testable import Delivery

@Suite struct UpdateFloorTests {
  private static func endpoint(_ vehicle: String) -> FleetEngineEndpoint {
    FleetEngineEndpoint(
      origin: "https://e.test",
      vehicle: FleetEngineVehicle(service: .deliveries, providerID: "p", vehicleID: vehicle))
  }

  private static func use(
    _ vehicle: String, floor duration: Int64 = 5, at second: Int64, _ floor: inout UpdateFloor
  ) {
    floor.configure(.seconds(duration), of: endpoint(vehicle), isOtherVehicle: true, at: .boot + .seconds(second))
  }

  @Test("before the first update there is none; after it, the next waits")
  func update() {
    var floor = UpdateFloor(.seconds(5), of: Self.endpoint("a"))
    #expect(floor.end == .boot)
    floor.begin(at: .boot + .seconds(10))
    #expect(floor.end == .boot + .seconds(15))
  }

  @Test("a vehicle that the settings name again has its floor, other vehicles have their own")
  func switched() {
    var floor = UpdateFloor(.seconds(5), of: Self.endpoint("a"))
    floor.begin(at: .boot + .seconds(10))
    Self.use("b", at: 11, &floor)
    #expect(floor.end == .boot)
    floor.begin(at: .boot + .seconds(11))
    Self.use("c", at: 12, &floor)
    #expect(floor.end == .boot)
    Self.use("a", at: 13, &floor)
    #expect(floor.end == .boot + .seconds(15))
    Self.use("b", at: 14, &floor)
    #expect(floor.end == .boot + .seconds(16))
  }

  @Test("what is past is forgotten, by the longer of both floors")
  func past() {
    var floor = UpdateFloor(.seconds(5), of: Self.endpoint("a"))
    floor.begin(at: .boot + .seconds(10))
    Self.use("b", floor: 20, at: 16, &floor)
    Self.use("a", at: 17, &floor)
    #expect(floor.start == .boot + .seconds(10))
    Self.use("b", at: 18, &floor)
    Self.use("c", at: 19, &floor)
    Self.use("a", at: 19, &floor)
    #expect(floor.start == nil)
  }

  @Test("another duration applies to the last update, too")
  func duration() {
    var floor = UpdateFloor(.seconds(5), of: Self.endpoint("a"))
    floor.begin(at: .boot + .seconds(10))
    floor.configure(.seconds(20), of: Self.endpoint("a"), isOtherVehicle: false, at: .boot + .seconds(11))
    #expect(floor.end == .boot + .seconds(30))
  }
}
