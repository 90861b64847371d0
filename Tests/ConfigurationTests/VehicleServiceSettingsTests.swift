// SPDX-License-Identifier: Apache-2.0
import Delivery
import Authorization
import Expectations
import Vehicle
import FleetEngine
import Testing

@testable import Configuration

/// The setting `[vehicle] service`, and settings that belong to only one of the services.
struct VehicleServiceSettingsTests {
  let machine = TestMachine()

  private func vehicle(_ lines: String) -> String { minimal(vehicle: "vehicle_id = \"truck-17\"\n\(lines)") }

  @Test("the default service is deliveries")
  func deliveries() throws {
    let settings = try machine.settings(for: minimal())
    try expectEqual(machine.settings(for: vehicle("service = \"deliveries\"")), settings)
    expectEqual(settings.vehicle.service, .deliveries)
    expect(!settings.agent.delivery.endpoint.followsDuty)
  }

  @Test("the service trips has its own endpoint, token scope and settings for the vehicle's state")
  func trips() throws {
    let settings = try machine.settings(for: vehicle("service = \"trips\""))
    expectEqual(settings.vehicle.service, .trips)
    expectEqual(settings.agent.context?.scope, .vehicle("truck-17"))
    expectEqual(settings.agent.delivery.endpoint.vehicle, settings.vehicle)
    expect(settings.agent.delivery.endpoint.followsDuty)
    expect(!settings.agent.goesOfflineOnStop)
    let silent = try machine.settings(for: vehicle("service = \"trips\"\nreport_state = false"))
    expect(!silent.agent.delivery.endpoint.followsDuty)
    let ending = try machine.settings(for: vehicle("service = \"trips\"\noffline_on_stop = true"))
    expect(ending.agent.goesOfflineOnStop)
  }

  @Test(
    "an unknown service, settings of trips for deliveries, and offline_on_stop without report_state are rejected",
    arguments: [
      ("report_state = false", "vehicle.report_state: belongs to service = \"trips\"; the service is \"deliveries\""),
      ("offline_on_stop = true", "vehicle.offline_on_stop: belongs to service = \"trips\""),
      (
        "service = \"trips\"\nreport_state = false\noffline_on_stop = true",
        "vehicle.offline_on_stop: needs report_state = true"
      ),
      ("service = \"trip\"", "\"trip\" is not allowed; allowed: \"deliveries\", \"trips\"; did you mean \"trips\"?"),
      ("service = true", "is true or false; one of \"deliveries\", \"trips\" is expected"),
    ])
  func refused(_ lines: String, _ part: String) {
    let messages = machine.messages(for: vehicle(lines))
    expectEqual(messages.count, 1)
    expectEqual(messages.first?.contains(part), true, "\(messages)")
  }

  @Test("the scope of a vehicle's token names the vehicle's service", arguments: FleetEngineService.all)
  func names(_ service: FleetEngineService) {
    let vehicle = FleetEngineVehicle(service: service, providerID: "p", vehicleID: "v")
    expectEqual(vehicle.tokenContext?.scope.service, service.name)
  }
}
