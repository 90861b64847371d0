// SPDX-License-Identifier: Apache-2.0
import Expectations
import Vehicle
import Testing

@testable import SimulatedWorld

/// Scenarios that violate an invariant: each was found by a random run and reduced. In most a receiver's clock is wrong
/// in two ways at once. If one of them passes, its test fails, so that it can be moved to the other scenarios.
@Suite struct KnownIssueScenarios {
  /// A scenario, the invariant that it violates, and why.
  struct Known: Sendable, CustomTestStringConvertible {
    var testDescription: String
    var reason: Comment
    var scenario: @Sendable () -> Scenario
  }

  static let known = [
    Known(
      testDescription:
        "a receiver without a date is 36 s ahead, and then 18 s: its stamps are 19 s late for five fixes",
      reason: "a correction that is too large by less than ten minutes looks like a late report until five fixes agree"
    ) {
      Scenario(
        seed: 119_589, duration: 445, drive: .steady(14.0),
        faults: [Fault(.ahead(18), 438..<443), Fault(.ahead(18), 429..<446)], noise: 0.0, isDateless: true,
        hasCertificates: true)
    },
    Known(
      testDescription: "a receiver is a day behind, 18 s of it less for a moment, and then right",
      reason: "the receiver has two errors, one of which changes while it is corrected"
    ) {
      Scenario(
        seed: 123_264, duration: 178, drive: .steady(14.0),
        faults: [Fault(.behind(86_400), 163..<177), Fault(.ahead(18), 168..<173)],
        acts: [(136, .reload(vehicle: "truck-2"))], noise: 0.0, hasCertificates: true)
    },
    Known(
      testDescription: "an epoch without a time comes after its successor: its fix has sentences of both",
      reason: "without a time, sentences in the wrong order cannot be assigned to their epochs"
    ) {
      Scenario(
        seed: 126_239, duration: 218, drive: .steady(14.0),
        faults: [Fault(.swapped, 202..<203), Fault(.noTime, 202..<204)], noise: 0.0, dialect: .usual,
        hasCertificates: true)
    },
  ]

  @Test("known issues still violate the invariant that they name", arguments: known)
  func fails(known: Known) throws {
    let world = try World.run(known.scenario())
    withKnownIssue(known.reason) {
      expectEqual(world.violations, [])
    }
  }
}
