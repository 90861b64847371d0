// SPDX-License-Identifier: Apache-2.0

/// Whether new trips are offered to a vehicle of on-demand trips: `maps.fleetengine.v1.VehicleState`.
package enum VehicleState: String, Sendable {
  case online = "ONLINE"
  case offline = "OFFLINE"
}
