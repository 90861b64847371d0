// SPDX-License-Identifier: Apache-2.0
import Expectations
import Glibc
import Synchronization
import Testing

@testable import SimulatedWorld

struct RandomRunTests {
  /// The number of runs with seeds of the first range; a fifth as many have seeds of the second range.
  /// `SIMULATION_RUNS` changes the number, and `SIMULATION_SEED` the first seed.
  static let runs = number("SIMULATION_RUNS") ?? 1000
  static let firstSeed = number("SIMULATION_SEED") ?? 1

  /// Whether the tests continue after a failure and print the number of runs, for `scripts/simulate.py`.
  private static let continuesAfterFailure = number("SIMULATION_GOES_ON") != nil
  /// Whether a failing scenario is reduced to the smallest one that still fails, which takes seconds.
  /// `scripts/mutants.py` disables this.
  private static let shrinks = number("SIMULATION_SHRINKS") != 0

  private static func number(_ name: String) -> Int? {
    getenv(name).flatMap { Int(String(cString: $0)) }
  }

  private static let parts = 8
  private static let tally = Mutex(CoverageTally())

  @Test("the invariants hold in random drives with all kinds of faults", arguments: 0..<parts)
  func invariants(part: Int) throws {
    try RandomRunTests.run(RandomRunTests.runs, from: RandomRunTests.firstSeed, part: part)
  }

  @Test(
    "the invariants hold in random drives that also have faults of settings, credentials and directories",
    arguments: 0..<parts)
  func installation(part: Int) throws {
    try RandomRunTests.run(RandomRunTests.runs / 5, from: Int(Scenario.lastOfFirstRange) + 1, part: part)
  }

  /// Runs one part of the scenarios, until one fails, or to the end if `continuesAfterFailure` is set. The last part to
  /// end checks the cases that all runs together cover.
  private static func run(_ runs: Int, from firstSeed: Int, part: Int) throws {
    var count = 0
    defer { if continuesAfterFailure { print("ran \(count)") } }
    for index in stride(from: part, to: runs, by: parts) {
      let world = try World.observe(Scenario(random: UInt64(firstSeed + index)))
      try world.appendRecord()
      count += 1
      guard world.violations.isEmpty else {
        Issue.record("\(try World.reproduction(of: world, shrinks: shrinks))")
        guard continuesAfterFailure else { return }
        continue
      }
      tally.withLock { $0.add(world.coverage) }
    }
    let completeTally = tally.withLock { $0.endPart() == 2 * parts ? $0 : nil }
    if let completeTally { try check(completeTally) }
  }

  /// Fails if a case that used to be covered no longer is. Prints the table if `SIMULATION_RUNS` is set.
  private static func check(_ tally: CoverageTally) throws {
    let names = Coverage().list.map(\.name)
    let expectations = try CoverageTally.expectations()
    if number("SIMULATION_RUNS") != nil { print(tally.table(names, expectations)) }
    let isUsual = firstSeed == 1 && runs == 1000
    guard isUsual || runs >= 10_000 else { return }
    expectEqual(tally.problems(names, expectations, isThorough: !isUsual), [])
  }
}
