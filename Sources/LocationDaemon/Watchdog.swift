// SPDX-License-Identifier: Apache-2.0
import EventLoop
import ServiceManager
import Timekeeping

/// Checks the daemon twice in the watchdog's interval, and notifies systemd's watchdog only if no deadline of the agent
/// or of a source has been missed: these may hang even while the event loop runs. A notification that was withheld, or
/// that the manager's full queue refused, is tried again soon: half an interval later it would come too late.
final class Watchdog {
  private let loop: EventLoop
  private let notifier: ServiceNotifier
  private let isProgressing: () -> Bool
  /// Whether the manager has a watchdog for this process.
  private let hasWatchdog: Bool
  private let period: Duration
  private var timer: LoopTimer?

  /// The interval without a watchdog, as that of the unit.
  private static let interval = Duration.seconds(60)

  init(
    loop: EventLoop, notifier: ServiceNotifier, isProgressing: @escaping () -> Bool
  ) throws(EventLoopError) {
    self.loop = loop
    self.notifier = notifier
    self.isProgressing = isProgressing
    let interval = notifier.watchdogInterval
    hasWatchdog = interval != nil
    period = (interval ?? Watchdog.interval) / 2
    timer = try loop.makeTimer { [unowned self] in ping() }
    ping()
  }

  private func ping() {
    let isProgressing = isProgressing()
    let isDone = !hasWatchdog || (isProgressing && notifier.watchdog())
    timer?.arm(at: loop.now.boot + (isDone ? period : period / 10))
  }
}
