// SPDX-License-Identifier: Apache-2.0
import Expectations
import Vehicle
import Testing

@testable import SimulatedWorld

/// Scenarios that violate an invariant: each was found by a random run and reduced. If one of them passes, its
/// test fails, so that it can be moved to the other scenarios.
@Suite struct KnownIssueScenarios {
  /// A scenario, the invariant that it violates, and why.
  struct Known: Sendable, CustomTestStringConvertible {
    var testDescription: String
    var reason: Comment
    var scenario: @Sendable () -> Scenario
  }

  static let known = [
    Known(
      testDescription: "an epoch without a time comes after its successor: its fix has sentences of both",
      reason: "without a time, sentences in the wrong order cannot be assigned to their epochs"
    ) {
      Scenario(
        seed: 126_239, duration: 218, drive: .steady(14.0),
        faults: [Fault(.swapped, 202..<203), Fault(.noTime, 202..<204)], noise: 0.0, dialect: .usual,
        hasCertificates: true)
    }
  ]

  @Test("known issues still violate the invariant that they name", arguments: known)
  func fails(known: Known) throws {
    let world = try World.run(known.scenario())
    withKnownIssue(known.reason) {
      expectEqual(world.violations, [])
    }
  }
}
