// SPDX-License-Identifier: Apache-2.0
import EventLoop
import Expectations
import ServiceManager
import Testing

@testable import LocationDaemon

struct WatchdogTests {
  @Test("the daemon is also checked if the service manager has no watchdog for it")
  func none() throws {
    let notifier = ServiceNotifier()
    try #require(notifier.watchdogInterval == nil)
    var checks = 0
    let watchdog = try Watchdog(loop: try EventLoop(), notifier: notifier) {
      checks += 1
      return true
    }
    withExtendedLifetime(watchdog) { expectEqual(checks, 1) }
  }
}
