// SPDX-License-Identifier: Apache-2.0
import CSystemd
import Glibc
package import Timekeeping

/// A timer on the clock of elapsed time that fires once each time it is armed.
package final class LoopTimer {
  private let source: EventSource<Void>

  fileprivate init(_ source: EventSource<Void>) {
    self.source = source
  }

  /// Arms the timer, replacing the previous instant. An instant in the past fires in the next iteration of the loop.
  package func arm(at instant: BootInstant) {
    // Rounded up, so that the timer never fires early.
    let nanoseconds = UInt64(max(instant.nanoseconds, 0))
    source.setTime(nanoseconds / 1000 + (nanoseconds % 1000 == 0 ? 0 : 1))
    source.enableOnce()
  }

  /// Disarms the timer.
  package func disarm() {
    source.disable()
  }

  /// Closes the timer and releases its handler.
  package func close() {
    source.close()
  }
}

extension EventLoop {
  /// Makes a timer on CLOCK_BOOTTIME that is not armed yet.
  ///
  /// - Parameter slack: the allowed delay, so that it can share a wake-up with other timers or processes. Rearming a
  ///   timer for a later time costs a system call each time without slack, and at most four per second with a slack of
  ///   a quarter of a second.
  /// - Throws: code `source`: no descriptors are left for a timerfd.
  package func makeTimer(
    slack: Duration = .zero, _ handler: @escaping () -> Void
  ) throws(EventLoopError) -> LoopTimer {
    // Microseconds; 0 would mean libsystemd's default, a quarter of a second.
    let accuracy = UInt64(max(slack.nanoseconds / 1000, 1))
    let source = try unsafe makeSource("make a timer", handler) { event, slot, context in
      unsafe sd_event_add_time(
        event, slot, CLOCK_BOOTTIME, UInt64.max, accuracy,
        { _, _, context in
          unsafe EventSource<Void>.dispatch((), to: context)
          return 0
        }, context)
    }
    source.disable()
    return LoopTimer(source)
  }
}
