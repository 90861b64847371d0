// SPDX-License-Identifier: Apache-2.0
import FleetEngine

extension Settings {
  static let vehicleKeys: [Setting<Settings>] = [
    Setting(
      "provider_id", \.vehicle.providerID, .identifier, isRequired: true,
      "The Google Cloud project ID that Fleet Engine is enabled in."),
    Setting(
      "vehicle_id", \.vehicle.vehicleID, .vehicleID, isRequired: true,
      "The ID of the delivery vehicle, as the backend created it; or where on the machine it stands."),
  ]
}
