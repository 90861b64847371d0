// SPDX-License-Identifier: Apache-2.0
import Timekeeping

/// All orders of steps from a state, to a given depth.
struct Exploration {
  /// The violation, and the steps that led to it.
  struct Finding {
    var steps: [Step]
    var violation: String
  }

  /// The number of states that were reached, the first one excluded.
  private(set) var states = 0
  /// The longest time until the vehicle was online again.
  private(set) var longestRecovery = Duration.zero
  private(set) var findings: [Finding] = []
  private var steps: [Step] = []

  /// - Parameter depth: the number of steps. From every state with fewer steps, and from every sixteenth state at this
  ///   depth, the vehicle must come online if there are no further faults.
  mutating func explore(_ world: SmallWorld, depth: Int) {
    guard findings.count < 10 else { return }
    if let violation = world.violation {
      findings.append(Finding(steps: steps, violation: violation))
      return
    }
    if depth > 0 || states % 16 == 0 { recover(world) }
    guard depth > 0 else { return }
    for step in Step.allCases where world.allows(step) {
      var next = world
      steps.append(step)
      next.take(step)
      states += 1
      explore(next, depth: depth - 1)
      steps.removeLast()
    }
  }

  private mutating func recover(_ world: SmallWorld) {
    var world = world
    guard let time = world.recover() else {
      return findings.append(Finding(steps: steps, violation: "afterwards: \(world.violation ?? "")"))
    }
    longestRecovery = max(longestRecovery, time)
  }
}
