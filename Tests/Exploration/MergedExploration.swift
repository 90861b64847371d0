// SPDX-License-Identifier: Apache-2.0
import Timekeeping

/// All orders of steps from a state, to a given depth; of the states that are equivalent by ``Projection``, only the
/// first is continued. Each state is reached with as few steps as possible.
struct MergedExploration {
  private let start: SmallWorld
  /// Of the states that are equivalent to an earlier one, the first and then one in this many is compared with it.
  private let comparedShare: Int
  /// The number of different states, the first one included.
  var states: Int { known.count }
  /// The number of states that were equivalent to an earlier one, and the number of those that were compared with it.
  private(set) var equal = 0
  private(set) var compared = 0
  /// The longest time until the vehicle was online again.
  private(set) var longestRecovery = Duration.zero
  private(set) var findings: [Exploration.Finding] = []
  /// The steps to each state, by its projection's number. A state is recomputed from them when it is needed: the states
  /// themselves would not fit into memory.
  private var known: [Int: [Step]] = [:]

  /// - Parameter share: of the states that are equivalent to an earlier one, one in this many is compared with it.
  init(from start: SmallWorld, comparing share: Int) {
    self.start = start
    comparedShare = share
  }

  /// - Parameters:
  ///   - depth: the maximum number of steps.
  ///   - whenDone: called after each depth, with the number of states first reached at that depth.
  mutating func explore(depth: Int, whenDone: (_ depth: Int, _ states: Int) -> Void) {
    var level: [[Step]] = visit(start, []) ? [[]] : []
    for depth in stride(from: 1, through: depth, by: 1) {
      var next: [[Step]] = []
      for steps in level {
        let world = start.after(steps)
        for step in Step.allCases where world.allows(step) {
          guard findings.count < 10 else { return }
          if visit(world.after([step]), steps + [step]) { next.append(steps + [step]) }
        }
      }
      level = next
      whenDone(depth, level.count)
    }
  }

  /// - Returns: whether the state is new, so that it is continued.
  private mutating func visit(_ world: SmallWorld, _ steps: [Step]) -> Bool {
    if let violation = world.violation {
      findings.append(Exploration.Finding(steps: steps, violation: violation))
      return false
    }
    let number = world.projection().number
    if let other = known[number] {
      equal += 1
      if (equal - 1) % comparedShare == 0 { compare(world, steps, with: other) }
      return false
    }
    known[number] = steps
    var recovering = world
    if let time = recovering.recover() {
      longestRecovery = max(longestRecovery, time)
    } else {
      findings.append(Exploration.Finding(steps: steps, violation: "afterwards: \(recovering.violation ?? "")"))
    }
    return true
  }

  /// Checks that two equivalent states behave identically: in every possible next step, and until the vehicle is
  /// online.
  private mutating func compare(_ world: SmallWorld, _ steps: [Step], with otherSteps: [Step]) {
    compared += 1
    func report(_ difference: String) {
      let other = otherSteps.map(\.rawValue).joined(separator: " ")
      findings.append(
        Exploration.Finding(steps: steps, violation: "is called equal to the state after: \(other); but \(difference)"))
    }
    let other = start.after(otherSteps)
    for step in Step.allCases {
      guard world.allows(step) == other.allows(step) else { return report("\(step) is possible in one only") }
      guard world.allows(step) else { continue }
      let (next, otherNext) = (world.after([step]), other.after([step]))
      guard next.violation == otherNext.violation, next.projection().number == otherNext.projection().number else {
        let difference = next.projection(isListed: true).difference(from: otherNext.projection(isListed: true))
        return report("\(step) leads to another: \(difference)")
      }
    }
    var (recovering, otherRecovering) = (world, other)
    let (time, otherTime) = (recovering.recover() ?? .zero, otherRecovering.recover() ?? .zero)
    if time != otherTime { report("the vehicle is online after \(time), there after \(otherTime)") }
  }
}
