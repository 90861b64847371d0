// SPDX-License-Identifier: Apache-2.0
import AgentTesting
import Expectations
import Foundation
import Testing

/// Every order of events from important states: no order violates an invariant of `SmallWorld`.
struct ExplorationTests {
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
      ("a denied update", false, online + many(10, .fix) + [.denied]),
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

  private static func number(_ name: String, _ usual: Int) -> Int { environment[name].flatMap { Int($0) } ?? usual }

  @Test("no order of events violates an invariant or keeps the vehicle from coming online", arguments: starts)
  func everyOrder(name: String, isOfTrips: Bool, steps: [Step]) throws {
    let depth = Self.number("EXPLORATION_DEPTH", 4)
    var exploration = Exploration()
    exploration.explore(try world(isOfTrips, .seeded, steps), depth: depth)
    report(exploration.findings, name)
    show("\(name): \(exploration.states) states to depth \(depth); online again within \(exploration.longestRecovery)")
  }

  @Test(
    "no order of events violates an invariant with any jitter; states that are treated as equivalent behave alike",
    arguments: starts)
  func everyDifferentOrder(name: String, isOfTrips: Bool, steps: [Step]) throws {
    for jitter in Jitter.allCases {
      let name = "\(name), jitter \(jitter)"
      var exploration = MergedExploration(
        from: try world(isOfTrips, jitter, steps), comparing: Self.number("EXPLORATION_COMPARED", 5))
      let depth = Self.number("EXPLORATION_MERGED_DEPTH", 2)
      exploration.explore(depth: depth) { depth, states in
        show("\(name): \(states) states at depth \(depth)")
      }
      report(exploration.findings, name)
      expect(depth == 0 || exploration.compared > 0, "\(name): none compared")
      show(
        "\(name): \(exploration.states) states, \(exploration.equal) equal to one, \(exploration.compared) compared; "
          + "online again within \(exploration.longestRecovery)")
    }
  }

  private func world(_ isOfTrips: Bool, _ jitter: Jitter, _ steps: [Step]) throws -> SmallWorld {
    var world = SmallWorld(try isOfTrips ? AgentFixture.tripsConfiguration() : AgentFixture.configuration(), jitter)
    for (index, step) in steps.enumerated() {
      try #require(world.allows(step), "step \(index), \(step), is not possible")
      world.take(step)
    }
    expectNil(world.violation)
    return world
  }

  private func report(_ findings: [Exploration.Finding], _ name: String) {
    for finding in findings {
      let path = finding.steps.map(\.rawValue).joined(separator: " ")
      Issue.record("\(name), \(path): \(finding.violation)")
    }
  }

  /// Prints a line and flushes it at once: hours may pass until the next line.
  private func show(_ line: String) {
    print(line)
    fflush(nil)
  }
}
