// SPDX-License-Identifier: Apache-2.0
import CSystemd
import Glibc
package import Timekeeping
import SystemCalls

/// Calls its handler once at an instant of the elapsed clock, and again whenever it is armed again.
package final class LoopTimer {
  private let source: EventSource<Void>

  fileprivate init(_ source: EventSource<Void>) {
    self.source = source
  }

  /// Sets the timer, in place of what it was set to. An instant that has passed fires in the next turn.
  package func arm(at instant: BootInstant) {
    // Rounded up, so that the handler never finds itself before its time.
    let nanoseconds = UInt64(max(instant.nanoseconds, 0))
    source.setTime(nanoseconds / 1000 + (nanoseconds % 1000 == 0 ? 0 : 1))
    source.enableOnce()
  }

  /// The handler is not called until the timer is armed again.
  package func disarm() {
    source.disable()
  }

  /// Ends the timer for good and lets go of its handler.
  package func close() {
    source.close()
  }
}

extension EventLoop {
  /// A timer on CLOCK_BOOTTIME, not armed yet.
  ///
  /// - Parameter slack: how much later than its instant it may fire, so that it shares a wake-up of this or another process. One
  ///   that is moved further again and again costs a system call each time without, and with a quarter of a second four each
  ///   second at most.
  /// - Throws: code `source`: no descriptors left for a timerfd.
  package func makeTimer(
    slack: Duration = .zero, _ handler: @escaping () -> Void
  ) throws(EventLoopError) -> LoopTimer {
    // In microseconds, and 0 would mean libsystemd's default: a quarter of a second late.
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
