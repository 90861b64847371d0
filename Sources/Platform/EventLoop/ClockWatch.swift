// SPDX-License-Identifier: Apache-2.0
import CLinux
import Glibc
import SystemCalls

/// Notifies of steps of the wall clock and of resume from suspend: the kernel cancels a timer that was armed with
/// TFD_TIMER_CANCEL_ON_SET. Which of the two happened must be determined from the clocks.
package final class ClockWatch {
  private let timer: Descriptor
  private let onChange: () -> Void
  private var source: EventSource<IOEvents>?

  /// - Throws: code `source`: no descriptor is left, or the kernel does not support this.
  package init(loop: EventLoop, onChange: @escaping () -> Void) throws(EventLoopError) {
    do throws(Errno) {
      timer = Descriptor(owning: try Errno.retrying { fleet_clock_watch_open() })
      let timer = timer.rawValue
      _ = try Errno.retrying { fleet_clock_watch_arm(timer) }
    } catch {
      throw EventLoopError(.source, what: "watch the wall clock", cause: error)
    }
    self.onChange = onChange
    source = try loop.addIO(timer.rawValue, .readable) { [unowned self] _ in timerCancelled() }
  }

  isolated deinit { source?.close() }

  private func timerCancelled() {
    // The read fails with ECANCELED, which is the notification; once rearmed, the timer is ready for the next one.
    var expirations = [UInt8](repeating: 0, count: 8)
    _ = try? timer.read(into: &expirations)
    let timer = timer.rawValue
    do throws(Errno) {
      _ = try Errno.retrying { fleet_clock_watch_arm(timer) }
    } catch {
      // Otherwise the timer would stay readable. Without it, the change is detected with the next fix.
      source?.close()
    }
    onChange()
  }
}
