// SPDX-License-Identifier: Apache-2.0
import Expectations
import Testing

@testable import SimulatedWorld

struct CoverageTallyTests {
  /// A tally of this many runs, each of which covers the case `ending stopped`.
  private func tally(_ runs: Int) -> CoverageTally {
    var coverage = Coverage()
    coverage.endings.cover(.stopped)
    var tally = CoverageTally()
    for _ in 0..<runs { tally.add(coverage) }
    return tally
  }

  private func problems(
    _ runs: Int, of names: [String] = ["ending stopped"], _ text: String, isThorough: Bool = false
  ) throws -> [String] {
    try tally(runs).problems(names, CoverageTally.expectations(text), isThorough: isThorough)
  }

  @Test("an `often` case must be covered by at least one of a few runs, and by at least ten of many")
  func often() throws {
    let text = "# what follows\nending stopped  often"
    try expectEqual(problems(1, text), [])
    try expectEqual(problems(0, text), ["ending stopped: no run covers it any more"])
    try expectEqual(problems(10, text, isThorough: true), [])
    try expectEqual(problems(9, text, isThorough: true), ["ending stopped: only 9 runs cover it any more"])
  }

  @Test("a `seldom` case must be covered by at least ten of many runs")
  func seldom() throws {
    let text = "ending stopped  seldom"
    try expectEqual(problems(0, text), [])
    try expectEqual(problems(9, text, isThorough: true), ["ending stopped: only 9 runs cover it any more"])
  }

  @Test("a `never` case that a run covers is a problem")
  func never() throws {
    let text = "ending stopped  never: it does not stop"
    try expectEqual(problems(0, text, isThorough: true), [])
    try expectEqual(problems(1, text), ["ending stopped: covered by 1 runs, although it does not stop"])
  }

  @Test("a `rare` case is never a problem, however many runs cover it")
  func rare() throws {
    let text = "ending stopped  rare: it takes long"
    for runs in [0, 1, 10] { try expectEqual(problems(runs, text, isThorough: true), []) }
  }

  @Test("a case that is missing in coverage.txt is a problem, and so is a line for a case that does not exist")
  func catalogue() throws {
    try expectEqual(problems(1, ""), ["ending stopped: covered by 1 runs, and not in coverage.txt"])
    try expectEqual(problems(1, of: [], "ending stopped  often"), ["ending stopped: there is no such case"])
  }

  @Test(
    "an invalid line is an error, and so is a repeated one",
    arguments: ["ending stopped", "ending stopped  sometimes", "ending stopped  never:", "ending stopped often often"])
  func malformed(line: String) throws {
    #expect(throws: CoverageError.self) { try CoverageTally.expectations(line) }
    #expect(throws: CoverageError.self) { try CoverageTally.expectations("cause held often\ncause held often") }
  }

  @Test("the table lists each case with its number of runs, and uncovered cases with their reason")
  func table() throws {
    let expectations = try CoverageTally.expectations("ending failed  never: it cannot")
    expectEqual(
      tally(1234).table(["ending failed", "ending stopped", "ending rejected"], expectations),
      """
          runs  that cover it
          1234  ending stopped
         never  ending failed: it cannot
         never  ending rejected
      """)
  }
}
