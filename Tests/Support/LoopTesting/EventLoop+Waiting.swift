// SPDX-License-Identifier: Apache-2.0
package import EventLoop
import Timekeeping

extension EventLoop {
  /// Turns until the condition holds.
  ///
  /// - Parameter timeout: the test is lost after that long; a healthy one never waits for it.
  /// - Returns: whether it came to hold.
  package func turns(within timeout: Duration = .seconds(20), until condition: () -> Bool) throws -> Bool {
    let deadline = now.boot + timeout
    while !condition() {
      let left = deadline - now.boot
      guard left > .zero else { return false }
      _ = try turn(waitingAtMost: left)
    }
    return true
  }

  /// Turns as long as there is something to do at once.
  package func turnsUntilIdle() throws {
    while try turn(waitingAtMost: .zero) {}
  }
}
