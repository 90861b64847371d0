// SPDX-License-Identifier: Apache-2.0
import EventLoop
import Timekeeping

/// One check of `doctor`. It changes nothing on the machine.
@MainActor package protocol Check {
  /// What is checked, in one word for programs.
  var subject: Doctor.Subject { get }

  /// What is checked, as a heading.
  var title: String { get }

  /// Runs the check, and reports each finding as soon as it is known. It runs the event loop while it waits.
  func run(_ report: (Finding) -> Void)
}

@MainActor extension EventLoop {
  /// Runs the loop until the condition holds or the deadline has passed.
  ///
  /// - Parameter isDone: evaluated after each event.
  func run(until deadline: BootInstant, or isDone: () -> Bool) throws(EventLoopError) {
    while !isDone() {
      let left = deadline - now.boot
      guard left > .zero else { return }
      _ = try runOnce(timeout: left)
    }
  }
}
