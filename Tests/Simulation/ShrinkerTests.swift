// SPDX-License-Identifier: Apache-2.0
import Expectations
import Testing
import Timekeeping

@testable import SimulatedWorld

struct ShrinkerTests {
  @Test("shrinking keeps only the fault that causes the failure, and makes it as short as possible")
  func smallest() throws {
    let whole = Scenario(random: 7)
    var scenario = whole
    scenario.duration = 600
    scenario.faults += [Fault(.silent, 100..<400), Fault(.latency(900), 0..<600)]
    scenario.acts += [(200, .powerCut(afterEffects: 5, seconds: 60))]
    var shrinker = Shrinker { candidate in
      candidate.faults.contains { fault in
        if case .silent = fault.kind {
          fault.from <= 150 && fault.until > 170 && candidate.duration >= 200
        } else {
          false
        }
      }
    }
    let small = shrinker.shrink(scenario)
    expectEqual(small.faults.count, 1)
    expect(small.acts.isEmpty && small.settings.isEmpty)
    expect((200..<240).contains(small.duration))
    expect((small.faults.first.map { $0.until - $0.from } ?? 0) < 40)
    expect(small.source.hasPrefix("Scenario(seed: 7, duration: 2"))
  }

  @Test("a scenario is printed as the Swift code that creates it")
  func source() {
    let scenario = Scenario(
      seed: 3, duration: 60, drive: .city, faults: [Fault(.loss(0.5), 1..<9)],
      acts: [(5, .powerCut(afterEffects: 2, seconds: 6))], wallError: nil, settings: [.batch(3)])
    expectEqual(
      scenario.source,
      "Scenario(seed: 3, duration: 60, drive: .city, faults: [Fault(.loss(0.5), 1..<9)], "
        + "acts: [(5, .powerCut(afterEffects: 2, seconds: 6))], wallError: nil, settings: [.batch(3)])")
  }
}
