// SPDX-License-Identifier: Apache-2.0
import Expectations
import Glibc
import Testing

@Suite struct RandomRunTests {
  /// Runs in the suite; `SIMULATION_RUNS` sets another number, `SIMULATION_SEED` the first seed.
  static let runs = number("SIMULATION_RUNS") ?? 1000
  static let firstSeed = number("SIMULATION_SEED") ?? 1

  private static func number(_ name: String) -> Int? {
    getenv(name).flatMap { Int(String(cString: $0)) }
  }

  @Test("whatever goes wrong, the invariants hold", arguments: 0..<8)
  func invariants(part: Int) throws {
    try RandomRunTests.run(RandomRunTests.runs, from: RandomRunTests.firstSeed, part: part)
  }

  @Test("whatever goes wrong around the vehicle as well, the invariants hold", arguments: 0..<8)
  func ring(part: Int) throws {
    try RandomRunTests.run(200, from: Int(Scenario.lastOfFirstRange) + 1, part: part)
  }

  /// Runs every eighth of these scenarios until one fails.
  private static func run(_ runs: Int, from firstSeed: Int, part: Int) throws {
    for index in stride(from: part, to: runs, by: 8) {
      let world = try World.observe(Scenario(random: UInt64(firstSeed + index)))
      try world.appendRecord()
      guard !world.violations.isEmpty else { continue }
      Issue.record("\(try World.reproduction(of: world))")
      return
    }
  }

  /// Each of these found a fault once.
  @Test(
    "seeds that once found a bug pass",
    arguments: [
      // A position was due while a request was in flight, without a fix after it: it waited for the heartbeat.
      103_032,
      // After a restart the kept time was forgotten within a minute, and a dateless fix got the machine's wrong date.
      744,
      // A single wrong response of Fleet Engine displaced the time that was confirmed before a restart.
      9544,
    ] as [UInt64])
  func regressions(seed: UInt64) throws {
    let failure = try World.failure(of: World.run(Scenario(random: seed)))
    expectNil(failure)
  }
}
