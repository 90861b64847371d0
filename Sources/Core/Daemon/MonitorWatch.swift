// SPDX-License-Identifier: Apache-2.0
import Observability
import Timekeeping
import Vehicle

/// What was last sent to the programs that monitor the daemon; exists while there are any.
struct MonitorWatch: Sendable {
  /// Number of requests that have ended.
  private var endedCount: Int
  /// Nil: no state was sent.
  private var state: MonitorItem.State?

  /// Watches for changes from now on.
  ///
  /// - Parameter state: what a new monitor was sent; nil: the next state is sent in any case.
  init(_ vehicle: VehicleAgent, state: MonitorItem.State?) {
    endedCount = MonitorWatch.endedCount(vehicle)
    self.state = state
  }

  private static func endedCount(_ vehicle: VehicleAgent) -> Int {
    vehicle.statistics.failed.values.reduce(vehicle.statistics.accepted, +)
  }

  /// What has changed since the last call.
  mutating func items(_ vehicle: VehicleAgent, at now: Moment) -> [MonitorItem] {
    let snapshot = vehicle.snapshot(at: now)
    var items: [MonitorItem] = []
    let endedCount = MonitorWatch.endedCount(vehicle)
    if endedCount != self.endedCount, let update = MonitorItem.Update(snapshot) { items.append(.update(update)) }
    self.endedCount = endedCount
    let state = MonitorItem.State(snapshot)
    if self.state?.isSimilar(to: state) != true {
      self.state = state
      items.append(.state(state))
    }
    return items
  }
}
