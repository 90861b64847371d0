// SPDX-License-Identifier: Apache-2.0
import FleetEngine
import Timekeeping

/// The minimum time between accepted updates of one vehicle. Fleet Engine ignores more frequent ones.
///
/// The last update of each vehicle is remembered for this time when the settings name another one, so that switching back
/// does not allow an earlier update.
struct UpdateFloor: Sendable {
  /// The last update of this vehicle that was accepted, or may have been; nil if there was none.
  private(set) var start: BootInstant?
  private var duration: Duration
  private var endpoint: FleetEngineEndpoint
  /// The starts of vehicles that the settings named in the last seconds, and may name again.
  private var others: [(endpoint: FleetEngineEndpoint, start: BootInstant)] = []

  /// - Parameter duration: zero or more.
  init(_ duration: Duration, of endpoint: FleetEngineEndpoint) {
    self.duration = duration
    self.endpoint = endpoint
  }

  /// The earliest time of the next update.
  var end: BootInstant { start.map { $0 + duration } ?? .boot }

  /// An update was accepted, or may have been.
  mutating func begin(at now: BootInstant) { start = now }

  /// The settings changed.
  mutating func configure(
    _ duration: Duration, of next: FleetEngineEndpoint, isOtherVehicle: Bool, at now: BootInstant
  ) {
    if isOtherVehicle {
      others.removeAll { now - $0.start > max(self.duration, duration) }
      if let start { others.append((endpoint, start)) }
      start = others.last { $0.endpoint.isSameVehicle(as: next) }?.start
    }
    self.duration = duration
    endpoint = next
  }
}
