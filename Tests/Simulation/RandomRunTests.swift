// SPDX-License-Identifier: Apache-2.0
import Expectations
import Glibc
import Synchronization
import Testing

@testable import SimulatedWorld

struct RandomRunTests {
  /// The number of runs in the suite, plus a fifth of it in the second range; `SIMULATION_RUNS` sets another number,
  /// `SIMULATION_SEED` the first seed.
  static let runs = number("SIMULATION_RUNS") ?? 1000
  static let firstSeed = number("SIMULATION_SEED") ?? 1

  /// Continues after a failure, and prints the number of runs: for `scripts/simulate.py`.
  private static let goesOn = number("SIMULATION_GOES_ON") != nil
  /// Whether a failing scenario is reduced to the smallest that still fails, which takes seconds; not for
  /// `scripts/mutants.py`.
  private static let shrinks = number("SIMULATION_SHRINKS") != 0

  private static func number(_ name: String) -> Int? {
    getenv(name).flatMap { Int(String(cString: $0)) }
  }

  private static let parts = 8
  private static let tally = Mutex(CoverageTally())

  @Test("whatever fails, the invariants hold", arguments: 0..<parts)
  func invariants(part: Int) throws {
    try RandomRunTests.run(RandomRunTests.runs, from: RandomRunTests.firstSeed, part: part)
  }

  @Test("whatever fails around the daemon as well, the invariants hold", arguments: 0..<parts)
  func ring(part: Int) throws {
    try RandomRunTests.run(RandomRunTests.runs / 5, from: Int(Scenario.lastOfFirstRange) + 1, part: part)
  }

  /// Runs one part of these scenarios, until one fails, or all of them on request. The last part checks the cases that
  /// all runs have met.
  private static func run(_ runs: Int, from firstSeed: Int, part: Int) throws {
    var count = 0
    defer { if goesOn { print("ran \(count)") } }
    for index in stride(from: part, to: runs, by: parts) {
      let world = try World.observe(Scenario(random: UInt64(firstSeed + index)))
      try world.appendRecord()
      count += 1
      guard world.violations.isEmpty else {
        Issue.record("\(try World.reproduction(of: world, shrinks: shrinks))")
        guard goesOn else { return }
        continue
      }
      tally.withLock { $0.add(world.coverage) }
    }
    let whole = tally.withLock { $0.endPart() == 2 * parts ? $0 : nil }
    if let whole { try check(whole) }
  }

  /// Fails if a case that used to be met no longer is; prints the table for another number of runs.
  private static func check(_ tally: CoverageTally) throws {
    let names = Coverage().list.map(\.name)
    let expectations = try CoverageTally.expectations()
    if number("SIMULATION_RUNS") != nil { print(tally.table(names, expectations)) }
    let isUsual = firstSeed == 1 && runs == 1000
    guard isUsual || runs >= 10_000 else { return }
    expectEqual(tally.problems(names, expectations, isThorough: !isUsual), [])
  }

  /// Each of these seeds once found a bug.
  @Test(
    "seeds that once found a bug pass",
    arguments: [
      // A position was due while a request was in flight, without a fix after it: it waited for the heartbeat.
      103_032,
      // After a restart the stored time was forgotten within a minute, and a dateless fix got the machine's wrong
      // date.
      744,
      // A single wrong response of Fleet Engine replaced the time that was confirmed before a restart.
      9544,
    ] as [UInt64])
  func regressions(seed: UInt64) throws {
    let failure = try World.failure(of: World.run(Scenario(random: seed)))
    expectNil(failure)
  }
}
