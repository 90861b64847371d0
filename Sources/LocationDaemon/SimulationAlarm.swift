// SPDX-License-Identifier: Apache-2.0
import Configuration
import Positioning
import Delivery

/// A route that is driven here, or a receiver that is itself a simulator (NMEA quality 8): loud, once, where dispatchers
/// would see a vehicle that is not there.
struct SimulationAlarm {
  private let endpoint: String?

  private var isOver = false

  init(_ settings: Settings.FleetEngine) {
    endpoint = settings.isLoopback ? nil : settings.endpoint
  }

  /// - Returns: the alarm, for the first fix that deserves it.
  mutating func event(for fix: Fix) -> Event? {
    guard let endpoint, !isOver, fix.quality == .simulated else { return nil }
    isOver = true
    return .simulatedSource(endpoint: endpoint)
  }
}
