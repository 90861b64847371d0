// SPDX-License-Identifier: Apache-2.0
import AgentTesting
import Expectations
import Foundation
import Testing

/// Every order of events, from important states: none violates an invariant of `SmallWorld`.
@Suite struct ExplorationTests {
  /// The steps to each initial state.
  static let starts: [(name: String, isOfTrips: Bool, steps: [Step])] = {
    let online: [Step] = [.fix, .token, .accepted]
    func many(_ count: Int, _ steps: Step...) -> [Step] { (0..<count).flatMap { _ in steps } }
    return [
      ("the start", false, []),
      ("waiting for a token", false, [.fix]),
      ("the first update", false, [.fix, .token]),
      ("online", false, online),
      ("an update in flight", false, online + many(10, .fix)),
      ("a tunnel", false, online + many(40, .silence)),
      ("no network", false, online + [.networkDown] + many(40, .fix)),
      ("the end of an outage", false, online + [.networkDown] + many(60, .fix) + [.networkUp]),
      ("a lost update", false, online + many(10, .fix) + [.lost]),
      ("a fault of Fleet Engine", false, online + many(10, .fix) + [.unavailable]),
      ("a token that is not enough", false, online + many(10, .fix) + [.denied]),
      ("a rejected position", false, online + many(10, .fix) + [.invalid]),
      ("paused", false, online + [.pause] + many(5, .fix)),
      ("after a pause", false, online + [.pause] + many(5, .fix) + [.resume]),
      ("no token provider", false, [.fix, .noToken]),
      ("new settings", false, online + [.reload]),
      ("a reboot in an outage", false, online + [.networkDown] + many(30, .fix) + [.powerCut]),
      ("online, for trips", true, online),
      ("OFFLINE pending", true, online + many(10, .fix) + [.pause]),
      ("a pause of trips", true, online + many(6, .fix) + [.pause, .accepted]),
    ]
  }()

  private static let environment = ProcessInfo.processInfo.environment

  @Test("no order of events violates an invariant, and after each the vehicle comes online", arguments: starts)
  func everyOrder(name: String, isOfTrips: Bool, steps: [Step]) throws {
    let depth = Self.environment["EXPLORATION_DEPTH"].flatMap { Int($0) } ?? 4
    var world = SmallWorld(try isOfTrips ? AgentFixture.tripsConfiguration() : AgentFixture.configuration())
    for (index, step) in steps.enumerated() {
      try #require(world.allows(step), "\(name): step \(index), \(step), is not possible")
      world.take(step)
    }
    expectNil(world.violation)
    var exploration = Exploration()
    exploration.explore(world, depth: depth)
    for finding in exploration.findings {
      let path = finding.steps.map(\.rawValue).joined(separator: " ")
      Issue.record("\(name), \(path): \(finding.violation)")
    }
    print("\(name): \(exploration.states) states to depth \(depth); online again within \(exploration.longestRecovery)")
  }
}
