// SPDX-License-Identifier: Apache-2.0
import Expectations
import FleetEngine
import Testing
import Timekeeping

@testable import Delivery

struct UpdateFloorTests {
  /// Settings that name this vehicle.
  private static func settings(_ vehicle: String, floor seconds: Int64 = 5) -> DeliveryAgent.Configuration {
    let vehicle = FleetEngineVehicle(service: .deliveries, providerID: "p", vehicleID: vehicle)
    return DeliveryAgent.Configuration(
      endpoint: FleetEngineEndpoint(origin: "https://e.test", vehicle: vehicle), floor: .seconds(seconds))
  }

  @Test("before the first update there is no minimum interval; after it, the next update waits")
  func update() {
    var floor = UpdateFloor()
    expectEqual(floor.earliestUpdate(minimumInterval: .seconds(5)), .boot)
    floor.begin(at: .boot + .seconds(10))
    expectEqual(floor.earliestUpdate(minimumInterval: .seconds(5)), .boot + .seconds(15))
    expectEqual(floor.earliestUpdate(minimumInterval: .seconds(20)), .boot + .seconds(30))
  }

  @Test("a vehicle that is configured again keeps its minimum interval, and other vehicles have their own")
  func switched() {
    var floor = UpdateFloor()
    floor.begin(at: .boot + .seconds(10))
    floor.switchVehicle(from: Self.settings("a"), to: Self.settings("b"), at: .boot + .seconds(11))
    expectNil(floor.start)
    floor.begin(at: .boot + .seconds(11))
    floor.switchVehicle(from: Self.settings("b"), to: Self.settings("c"), at: .boot + .seconds(12))
    expectNil(floor.start)
    floor.switchVehicle(from: Self.settings("c"), to: Self.settings("a"), at: .boot + .seconds(13))
    expectEqual(floor.start, .boot + .seconds(10))
    floor.switchVehicle(from: Self.settings("a"), to: Self.settings("b"), at: .boot + .seconds(14))
    expectEqual(floor.start, .boot + .seconds(11))
  }

  @Test("a vehicle's minimum interval is kept until it has elapsed under both the old and the new settings")
  func past() {
    var floor = UpdateFloor()
    floor.begin(at: .boot + .seconds(10))
    floor.switchVehicle(from: Self.settings("a"), to: Self.settings("b", floor: 20), at: .boot + .seconds(16))
    floor.switchVehicle(from: Self.settings("b", floor: 20), to: Self.settings("a"), at: .boot + .seconds(17))
    expectEqual(floor.start, .boot + .seconds(10))
    floor.switchVehicle(from: Self.settings("a"), to: Self.settings("b"), at: .boot + .seconds(18))
    floor.switchVehicle(from: Self.settings("b"), to: Self.settings("c"), at: .boot + .seconds(19))
    floor.switchVehicle(from: Self.settings("c"), to: Self.settings("a"), at: .boot + .seconds(19))
    expectNil(floor.start)
  }
}
