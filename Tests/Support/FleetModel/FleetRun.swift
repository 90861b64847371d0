// SPDX-License-Identifier: Apache-2.0

/// The measurements of a run, second by second, and whether it meets the limits.
package struct FleetRun: Sendable {
  /// The scenario and its parameters.
  package let scenario: FleetScenario
  /// The number of vehicles.
  package let vehicles: Int
  /// The measurements of each second, from the first second on.
  package private(set) var seconds: [FleetSecond] = []
  /// Positions that were due and can no longer arrive, or were dropped.
  package private(set) var lost = 0
  /// Good fixes that were rejected.
  package private(set) var rejectedFixes = 0
  /// Token requests less than a minute after the vehicle's previous one, after five minutes of failed requests in an
  /// outage of the provider.
  package private(set) var hastyTokenRequests = 0

  init(_ scenario: FleetScenario, vehicles: Int) {
    self.scenario = scenario
    self.vehicles = vehicles
  }

  mutating func add(_ tally: FleetTally) {
    seconds.append(FleetSecond(tally))
    lost += tally.lost
    rejectedFixes += tally.rejectedFixes
    hastyTokenRequests += tally.hastyTokenRequests
  }

  /// The mean number of updates per second, without the first five minutes.
  package var mean: Double {
    let settled = seconds.dropFirst(300)
    return Double(settled.reduce(0) { $0 + $1.updates }) / Double(max(settled.count, 1))
  }

  /// The largest mean per second of any ten seconds to which the limits apply.
  private func peak(_ value: (FleetSecond) -> Int) -> Double {
    var (sum, peak) = (0, 0)
    let values = seconds.dropFirst(scenario.exempt).map(value)
    for (index, value) in values.enumerated() {
      sum += value - (index >= 10 ? values[index - 10] : 0)
      peak = max(peak, sum)
    }
    return Double(peak) / 10
  }

  /// Updates per second, in the busiest ten seconds.
  package var peakUpdates: Double { peak(\.updates) }

  /// Token requests per second for every 1,000 vehicles, in the busiest ten seconds.
  package var peakTokens: Double { peak(\.tokenRequests) * 1000 / Double(vehicles) }

  /// New connections to Fleet Engine per second for every 1,000 vehicles, in the busiest ten seconds.
  package var peakConnections: Double { peak(\.connections) * 1000 / Double(vehicles) }

  /// Updates in the busiest second.
  package var busiestSecond: Int { seconds.dropFirst(scenario.exempt).map(\.updates).max() ?? 0 }

  /// The largest 99th percentile of the age of the newest position in seconds, from two minutes after the end of the
  /// fault on.
  package var settledAge: Int { seconds.dropFirst(scenario.causeEnd + 120).map { $0.ages[2] }.max() ?? 0 }

  /// Seconds from the end of the fault until at most one vehicle in a thousand has more than one position pending; nil
  /// if that does not happen before the end of the run.
  package var backlogSeconds: Int? {
    seconds.dropFirst(scenario.causeEnd).firstIndex { $0.behind * 1000 <= vehicles }.map { $0 - scenario.causeEnd }
  }

  /// The limits that are exceeded, each as a sentence.
  /// - Parameter normal: updates per second in a normal hour.
  package func violations(normal: Double) -> [String] {
    var sentences: [String] = []
    func limit(_ value: Double, _ most: Double, _ what: String) {
      if value > most { sentences.append("\(what): \(rounded(value)), more than \(rounded(most))") }
    }
    limit(peakUpdates, 1.5 * normal, "updates a second in the busiest ten seconds")
    limit(peakTokens, 25, "token requests a second for 1,000 vehicles in the busiest ten seconds")
    limit(peakConnections, 50, "connections a second for 1,000 vehicles in the busiest ten seconds")
    limit(Double(settledAge), 60, "p99 of the age in seconds, two minutes after the cause's end")
    limit(Double(hastyTokenRequests), 0, "token requests within a minute of the last in an outage")
    limit(Double(lost), 0, "positions lost")
    limit(Double(rejectedFixes), 0, "good fixes rejected")
    if backlogSeconds == nil { sentences.append("the backlog is not delivered at the end") }
    return sentences
  }

  private func rounded(_ value: Double) -> String { "\((value * 10).rounded() / 10)" }
}
