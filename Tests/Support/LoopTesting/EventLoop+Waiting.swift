// SPDX-License-Identifier: Apache-2.0
package import EventLoop
import Timekeeping

extension EventLoop {
  /// Runs the loop until the condition is true.
  /// - Parameter timeout: after this duration the test has failed; a passing test never waits for it.
  /// - Returns: whether it became true.
  package func runs(within timeout: Duration = .seconds(20), until condition: () -> Bool) throws -> Bool {
    let deadline = now.boot + timeout
    while !condition() {
      let left = deadline - now.boot
      guard left > .zero else { return false }
      _ = try runOnce(timeout: left)
    }
    return true
  }

  /// Runs the loop as long as it has something to do without waiting.
  package func runUntilIdle() throws {
    while try runOnce(timeout: .zero) {}
  }
}
