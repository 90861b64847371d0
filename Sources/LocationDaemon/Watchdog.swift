// SPDX-License-Identifier: Apache-2.0
import EventLoop
import ServiceManager
import Timekeeping

/// Notifies systemd's watchdog twice in its interval, but only if no deadline of the agent or of a source has been
/// missed: these may hang even while the event loop runs. A notification that was withheld, or that the manager's full
/// queue refused, is tried again soon: half an interval later it would come too late.
final class Watchdog {
  private let loop: EventLoop
  private let notifier: ServiceNotifier
  private let isProgressing: () -> Bool
  private var period = Duration.zero
  private var timer: LoopTimer?

  /// Nil if the unit has no watchdog.
  init?(
    loop: EventLoop, notifier: ServiceNotifier, isProgressing: @escaping () -> Bool
  ) throws(EventLoopError) {
    guard let interval = notifier.watchdogInterval else { return nil }
    self.loop = loop
    self.notifier = notifier
    self.isProgressing = isProgressing
    period = interval / 2
    timer = try loop.makeTimer { [unowned self] in ping() }
    ping()
  }

  private func ping() {
    let isSent = isProgressing() && notifier.watchdog()
    timer?.arm(at: loop.now.boot + (isSent ? period : period / 10))
  }
}
