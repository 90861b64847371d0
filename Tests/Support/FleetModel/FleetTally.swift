// SPDX-License-Identifier: Apache-2.0

/// Counters of some vehicles in one second. Sums do not depend on the order.
struct FleetTally: Sendable {
  /// Updates that reached Fleet Engine.
  var updates = 0
  /// Those of them that were accepted.
  var accepted = 0
  /// Bytes of the bodies of all updates, accepted or not.
  var bytes = 0
  /// Requests that reached the token provider, or its machine's closed port.
  var tokenRequests = 0
  /// Those of them that came less than a minute after the vehicle's previous one, after five minutes of failed requests
  /// in an outage of the provider.
  var hastyTokenRequests = 0
  /// New connections to Fleet Engine.
  var connections = 0
  /// Bytes sent through each cell.
  var cellBytes = [Int](repeating: 0, count: FleetModel.cells)
  /// Positions that were due and can no longer arrive, or were removed for a reason other than `delivered`.
  var lost = 0
  /// Fixes that the filter rejected: the model's fixes are good.
  var rejectedFixes = 0
  /// Vehicles with more than one position pending.
  var behind = 0
  /// Positions pending.
  var pending = 0
  /// The number of vehicles, by the age of their newest position at Fleet Engine in whole seconds.
  var ages = [UInt32](repeating: 0, count: FleetTally.longestAge + 1)

  /// In seconds; greater ages are counted as this one.
  static let longestAge = 10_799

  static func += (left: inout FleetTally, right: FleetTally) {
    left.updates += right.updates
    left.accepted += right.accepted
    left.bytes += right.bytes
    left.tokenRequests += right.tokenRequests
    left.hastyTokenRequests += right.hastyTokenRequests
    left.connections += right.connections
    for cell in left.cellBytes.indices { left.cellBytes[cell] += right.cellBytes[cell] }
    left.lost += right.lost
    left.rejectedFixes += right.rejectedFixes
    left.behind += right.behind
    left.pending += right.pending
    for age in left.ages.indices { left.ages[age] &+= right.ages[age] }
  }

  mutating func count(age: Int) { ages[min(max(age, 0), FleetTally.longestAge)] += 1 }

  /// The age that this share of the vehicles does not exceed, in seconds.
  func age(_ share: Double) -> Int {
    let total = ages.reduce(0) { $0 + Int($1) }
    var left = Int((Double(total) * share).rounded(.up))
    for (age, count) in ages.enumerated() where count > 0 {
      left -= Int(count)
      if left <= 0 { return age }
    }
    return 0
  }
}

/// One second of a run, of all vehicles.
package struct FleetSecond: Equatable, Sendable {
  package var updates: Int
  package var accepted: Int
  package var bytes: Int
  package var tokenRequests: Int
  package var connections: Int
  package var behind: Int
  package var pending: Int
  /// Ages of the newest position at Fleet Engine in seconds: the median, the 95th and 99th percentiles, and the
  /// maximum.
  package var ages: [Int]

  init(_ tally: FleetTally) {
    updates = tally.updates
    accepted = tally.accepted
    bytes = tally.bytes
    tokenRequests = tally.tokenRequests
    connections = tally.connections
    behind = tally.behind
    pending = tally.pending
    ages = [0.5, 0.95, 0.99, 1].map(tally.age)
  }
}
