// SPDX-License-Identifier: Apache-2.0
import CSystemd
import Glibc
import SystemCalls

/// Tells the service manager how the service does (sd_notify(3)). Without one to tell, every call does nothing.
package struct ServiceNotifier: Sendable {
  /// Whether a manager listens: NOTIFY_SOCKET was set when this was made.
  package let isActive: Bool

  package init() {
    isActive = Environment.value(of: "NOTIFY_SOCKET") != nil
  }

  /// The service does its work; after a reload, too, it does so again.
  @discardableResult
  package func ready() -> Bool { notify(["READY=1"]) }

  /// One line for `systemctl status`, which every local user can read. Line breaks become spaces.
  @discardableResult
  package func status(_ status: String) -> Bool { notify(["STATUS=\(status.onOneLine)"]) }

  /// The service is on its way out.
  @discardableResult
  package func stopping() -> Bool { notify(["STOPPING=1"]) }

  /// The service reads its settings again; `ready` ends that.
  @discardableResult
  package func reloading() -> Bool {
    var time = timespec()
    _ = unsafe clock_gettime(CLOCK_MONOTONIC, &time)
    let microseconds = Int64(time.tv_sec) &* 1_000_000 &+ Int64(time.tv_nsec) / 1000
    return notify(["RELOADING=1", "MONOTONIC_USEC=\(microseconds)"])
  }

  /// The service makes progress.
  @discardableResult
  package func watchdog() -> Bool { notify(["WATCHDOG=1"]) }

  /// How long the manager waits for `watchdog` before it ends the service (WatchdogSec=); call it twice as often. Nil
  /// when it does not wait.
  package var watchdogInterval: Duration? {
    var microseconds: UInt64 = 0
    guard unsafe sd_watchdog_enabled(0, &microseconds) > 0 else { return nil }
    return .microseconds(Int64(clamping: microseconds))
  }

  /// - Returns: whether the manager's socket took it. A manager that does not listen any more is no reason to stop.
  private func notify(_ assignments: [String]) -> Bool {
    guard isActive else { return false }
    return unsafe sd_notify(0, assignments.joined(separator: "\n")) > 0
  }
}

extension String {
  /// Without control characters: each becomes a space.
  var onOneLine: String {
    guard utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }) else { return self }
    return String(
      String.UnicodeScalarView(unicodeScalars.map { $0.value < 0x20 || $0.value == 0x7F ? " " : $0 }))
  }
}
