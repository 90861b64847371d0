// SPDX-License-Identifier: Apache-2.0
import Delivery
import Timekeeping

extension VehicleAgent {
  /// Handles an input, and returns its effects, the next deadline, and whether updates are accepted. It is one method,
  /// because each further query of an agent that is stored in an object would first copy the agent.
  mutating func step(
    _ input: Input, at now: Moment
  ) -> (effects: [Effect], deadline: BootInstant?, isOnline: Bool) {
    let effects = handle(input, at: now)
    return (effects, nextDeadline(at: now.boot), isReachingFleetEngine)
  }
}
