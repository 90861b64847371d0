// SPDX-License-Identifier: Apache-2.0
import Positioning

/// Says once, and loudly, that positions are simulated where dispatchers would see a vehicle that is not there: a route that
/// is driven here, or a receiver that is itself a simulator (NMEA quality 8).
struct SimulationAlarm {
  private let endpoint: String?
  private var isOver = false

  /// The alarm is for a Fleet Engine on another machine; one on this machine is a trial.
  init(_ configuration: VehicleAgent.Configuration) {
    endpoint = configuration.remoteEndpoint
  }

  /// - Returns: the alarm, for the first simulated fix.
  mutating func event(for fix: Fix) -> Event? {
    guard let endpoint, !isOver, fix.quality == .simulated else { return nil }
    isOver = true
    return .simulatedSource(endpoint: endpoint)
  }
}
