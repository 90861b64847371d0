// SPDX-License-Identifier: Apache-2.0
import Positioning

/// Raises an alarm once if simulated positions are sent where dispatchers would see a vehicle that does not exist: from
/// a simulated route, or from a receiver that is a simulator (NMEA quality 8).
struct SimulationAlarm {
  private let endpoint: String?
  private var isOver = false

  /// Only for a Fleet Engine on another machine; a local one is for tests.
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
