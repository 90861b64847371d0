// SPDX-License-Identifier: Apache-2.0
import CSystemd
import Glibc
import SystemCalls
import Timekeeping

/// Notifies the service manager (sd_notify(3)). Has no effect if there is none.
package struct ServiceNotifier: Sendable {
  /// Whether there is a manager: NOTIFY_SOCKET was set at initialization.
  package let isActive: Bool
  private let socket: DatagramConnection?

  package init() {
    let address = Environment.value(of: "NOTIFY_SOCKET")
    isActive = address != nil
    socket = address.flatMap { DatagramConnection($0) }
  }

  /// The service is ready; also sent after a reload.
  @discardableResult
  package func ready() -> Bool { notify(["READY=1"], mayWait: true) }

  /// One line for `systemctl status`, which every local user can read. Line breaks become spaces.
  @discardableResult
  package func status(_ status: String) -> Bool { notify(["STATUS=\(status.onOneLine)"]) }

  /// The service is stopping, which takes up to this time from now. The time may be longer than `TimeoutStopSec=`,
  /// after which systemd would otherwise end the service, even one that stops on its own.
  @discardableResult
  package func stopping(within time: Duration) -> Bool {
    notify(["STOPPING=1", "EXTEND_TIMEOUT_USEC=\(time.nanoseconds / 1000)"])
  }

  /// The service is reloading its settings; `ready` ends the reload.
  @discardableResult
  package func reloading() -> Bool {
    var time = timespec()
    _ = unsafe clock_gettime(CLOCK_MONOTONIC, &time)
    let microseconds = Int64(time.tv_sec) &* 1_000_000 &+ Int64(time.tv_nsec) / 1000
    return notify(["RELOADING=1", "MONOTONIC_USEC=\(microseconds)"], mayWait: true)
  }

  /// The service makes progress.
  @discardableResult
  package func watchdog() -> Bool { notify(["WATCHDOG=1"]) }

  /// The watchdog timeout (WatchdogSec=), within which `watchdog` must be called; half of it is recommended. Nil if the
  /// watchdog is disabled.
  package var watchdogInterval: Duration? {
    var microseconds: UInt64 = 0
    guard unsafe sd_watchdog_enabled(0, &microseconds) > 0 else { return nil }
    return .microseconds(Int64(clamping: microseconds))
  }

  /// - Parameter mayWait: whether to wait for a manager that does not read: without this message it would end the
  ///   service.
  /// - Returns: whether the message was sent. A manager that no longer listens is not a reason to stop.
  private func notify(_ assignments: [String], mayWait: Bool = false) -> Bool {
    guard isActive else { return false }
    let message = assignments.joined(separator: "\n")
    if socket?.send(message) == true { return true }
    // sd_notify(3) waits until there is space in the manager's queue.
    guard mayWait || socket?.canSend != false else { return false }
    return unsafe sd_notify(0, message) > 0
  }
}

extension String {
  /// The text with each control character replaced by a space.
  var onOneLine: String {
    guard utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }) else { return self }
    return String(
      String.UnicodeScalarView(unicodeScalars.map { $0.value < 0x20 || $0.value == 0x7F ? " " : $0 }))
  }
}
