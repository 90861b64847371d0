// SPDX-License-Identifier: Apache-2.0
import Timekeeping

/// The time and the state of everything that vehicles share, for one second.
struct FleetConditions: Sendable {
  let scenario: FleetScenario
  let second: Int
  /// The `Date` header of all responses of this second.
  let date: String
  /// The number of seconds until each cell has transmitted its queue.
  let cellDelays: [Double]

  init(_ scenario: FleetScenario, second: Int, cellDelays: [Double]) {
    self.scenario = scenario
    self.second = second
    self.cellDelays = cellDelays
    date = FleetConditions.httpDate(second)
  }

  var fault: FleetScenario.Fault? { scenario.isActive(at: second) ? scenario.fault : nil }

  /// A time in December 2026, in the format of RFC 9110, section 5.6.7. The day of the week is always Tuesday, because
  /// no parser uses it.
  static func httpDate(_ second: Int) -> String {
    let text = (FleetModel.start + .seconds(second)).rfc3339
    return "Tue, \(text.dropFirst(8).prefix(2)) Dec 2026 \(text.dropFirst(11).prefix(8)) GMT"
  }
}
