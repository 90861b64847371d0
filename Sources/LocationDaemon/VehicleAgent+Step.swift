// SPDX-License-Identifier: Apache-2.0
import Delivery
import Timekeeping

extension VehicleAgent {
  /// Handles an input, and answers what is asked after each. In one access: a question to an agent that an object holds
  /// copies all of the agent first.
  mutating func step(
    _ input: Input, at now: Moment
  ) -> (effects: [Effect], deadline: BootInstant?, isOnline: Bool) {
    let effects = handle(input, at: now)
    return (effects, nextDeadline(at: now.boot), isReachingFleetEngine)
  }
}
