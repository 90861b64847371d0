// SPDX-License-Identifier: Apache-2.0
import Delivery
import Vehicle
import FleetEngine

extension Settings {
  static let vehicleKeys: [Setting<Settings>] = [
    Setting(
      "provider_id", \.vehicle.providerID, .identifier, isRequired: true,
      "The Google Cloud project ID that Fleet Engine is enabled in."),
    Setting(
      "vehicle_id", \.vehicle.vehicleID, .vehicleID, isRequired: true,
      "The vehicle's ID, as the backend created it; or where to find it on this machine."),
    Setting(
      "service", \.vehicle.service, .choice(of: FleetEngineService.all, \.name),
      "The service of Fleet Engine that the vehicle belongs to: `deliveries` for scheduled tasks (delivery vehicles), `trips` for on-demand trips (vehicles that are ONLINE or OFFLINE); see [services.md](services.md)."
    ),
    Setting(
      "report_state", \.agent.delivery.endpoint.reportsState, .boolean, for: FleetEngineService.trips.name,
      "Whether the daemon sets the vehicle's state: ONLINE with each position on duty, OFFLINE off duty and in a pause. `false`: the backend or another program sets it, and updates contain only positions."
    ),
    Setting(
      "offline_on_stop", \.agent.goesOfflineOnStop, .boolean, for: FleetEngineService.trips.name,
      isDestinationNeutral: true,
      "Whether the daemon sets the vehicle to OFFLINE when it stops, after the last position and within `stop_timeout`, unless it is OFFLINE already. `false`: the state does not change, not even across a restart."
    ),
  ]

  /// Reports keys that are allowed only with another service, and keys that contradict each other.
  func checkVehicle(_ reader: inout SettingsReader) {
    if reader.written(.vehicle)["vehicle_id"]?.value.members["hostname"] != nil,
      Identifier.defaultHostNames.contains(vehicle.vehicleID)
    {
      reader.warning(
        about: \Settings.vehicle.vehicleID,
        "is this machine's host name, \"\(vehicle.vehicleID)\", which looks like the default of its image; "
          + "set the vehicle's: hostnamectl hostname ID")
    }
    if let mistake = Identifier.mistake(inProject: vehicle.providerID) ?? Identifier.mistake(in: vehicle.providerID) {
      reader.warning(about: \Settings.vehicle.providerID, mistake)
    }
    if let mistake = Identifier.mistake(in: vehicle.vehicleID) {
      reader.warning(about: \Settings.vehicle.vehicleID, mistake)
    }
    guard reader.isValid(\Settings.vehicle.service) else { return }
    reader.reportKeysOfOtherChoices(in: .vehicle, of: vehicle.service.name)
    if agent.goesOfflineOnStop, !agent.delivery.endpoint.reportsState {
      reader.problem(with: \Settings.agent.goesOfflineOnStop, "needs report_state = true: it sets the vehicle's state")
    }
  }
}
