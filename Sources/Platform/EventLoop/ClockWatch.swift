// SPDX-License-Identifier: Apache-2.0
import CLinux
import Glibc
import SystemCalls

/// Tells at once when somebody sets the wall clock, or the machine wakes from suspend: the kernel cancels a timer then that
/// was armed with TFD_TIMER_CANCEL_ON_SET. Which of the two it was, the clocks tell.
package final class ClockWatch {
  private let timer: Descriptor
  private let onChange: () -> Void
  private var source: EventSource<IOEvents>?

  /// - Throws: code `source`: no descriptor left, or a kernel without it.
  package init(loop: EventLoop, onChange: @escaping () -> Void) throws(EventLoopError) {
    do throws(Errno) {
      timer = Descriptor(owning: try Errno.retrying { fleet_clock_watch_open() })
      let timer = timer.rawValue
      _ = try Errno.retrying { fleet_clock_watch_arm(timer) }
    } catch {
      throw EventLoopError(.source, what: "watch the wall clock", cause: error)
    }
    self.onChange = onChange
    source = try loop.addIO(timer.rawValue, .readable) { [unowned self] _ in take() }
  }

  isolated deinit { source?.close() }

  private func take() {
    // It fails with ECANCELED, which is the news; armed again, it is ready for the next.
    var expirations = [UInt8](repeating: 0, count: 8)
    _ = try? timer.read(into: &expirations)
    let timer = timer.rawValue
    do throws(Errno) {
      _ = try Errno.retrying { fleet_clock_watch_arm(timer) }
    } catch {
      // It would be readable for ever. Without it, the next fix finds out.
      source?.close()
    }
    onChange()
  }
}
