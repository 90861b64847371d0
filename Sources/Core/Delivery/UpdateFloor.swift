// SPDX-License-Identifier: Apache-2.0
import FleetEngine
import Timekeeping

/// When the minimum time between accepted updates (`DeliveryAgent.Configuration.floor`) last began, for each vehicle.
///
/// The last update of each vehicle is remembered for this time when the settings name another one, so that switching
/// back does not allow an earlier update.
struct UpdateFloor: Sendable {
  /// The last update of this vehicle that was accepted, or may have been; nil if there was none.
  private(set) var start: BootInstant?
  /// The starts of vehicles that the settings named in the last few seconds, and may name again.
  private var others: [(endpoint: FleetEngineEndpoint, start: BootInstant)] = []

  /// The earliest time of the next update.
  func earliestUpdate(minimumInterval: Duration) -> BootInstant { start.map { $0 + minimumInterval } ?? .boot }

  /// An update was accepted, or may have been.
  mutating func begin(at now: BootInstant) { start = now }

  /// The settings name another vehicle.
  mutating func switchVehicle(
    from old: DeliveryAgent.Configuration, to new: DeliveryAgent.Configuration, at now: BootInstant
  ) {
    others.removeAll { now - $0.start > max(old.floor, new.floor) }
    if let start { others.append((old.endpoint, start)) }
    start = others.last { $0.endpoint.isSameVehicle(as: new.endpoint) }?.start
  }
}
