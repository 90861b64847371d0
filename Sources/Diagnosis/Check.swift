// SPDX-License-Identifier: Apache-2.0
import EventLoop
import Timekeeping
import SystemCalls

/// One part of the machine that the doctor looks at. It changes nothing.
@MainActor package protocol Check {
  /// What is looked at, as a heading.
  var title: String { get }

  /// Looks, and tells each finding as soon as it is made. It may take as long as it says it does, on the loop of its own.
  func run(_ report: (Finding) -> Void)
}

@MainActor extension EventLoop {
  /// Turns until it is done, or the time has come.
  ///
  /// - Parameter isDone: asked after each turn.
  func turn(until deadline: BootInstant, or isDone: () -> Bool) throws(EventLoopError) {
    while !isDone() {
      let left = deadline - now.boot
      guard left > .zero else { return }
      _ = try turn(waitingAtMost: left)
    }
  }
}
