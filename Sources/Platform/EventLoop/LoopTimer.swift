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
  /// - Throws: code `source`: no descriptors left for a timerfd.
  package func makeTimer(_ handler: @escaping () -> Void) throws(EventLoopError) -> LoopTimer {
    let source = try unsafe makeSource("make a timer", handler) { event, slot, context in
      // The accuracy is in microseconds, and 0 would mean the default: a quarter of a second late.
      unsafe sd_event_add_time(
        event, slot, CLOCK_BOOTTIME, UInt64.max, 1,
        { _, _, context in
          unsafe EventSource<Void>.dispatch((), to: context)
          return 0
        }, context)
    }
    source.disable()
    return LoopTimer(source)
  }
}
