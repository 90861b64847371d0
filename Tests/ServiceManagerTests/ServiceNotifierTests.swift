// SPDX-License-Identifier: Apache-2.0
import Glibc
import ServiceManager
import Testing

/// The environment belongs to the whole process, so each case runs in its own process.
struct ServiceNotifierTests {
  @Test("Without a service manager, nothing is sent")
  func inactive() async {
    await #expect(processExitsWith: .success) {
      unsetenv("NOTIFY_SOCKET")
      unsetenv("WATCHDOG_USEC")
      let notifier = ServiceNotifier()
      try #require(!notifier.isActive)
      try #require(!notifier.ready() && !notifier.watchdog())
      try #require(notifier.watchdogInterval == nil)
    }
  }

  @Test("The service manager gets each message as one datagram, with the status on one line")
  func messages() async {
    await #expect(processExitsWith: .success) {
      let manager = try DatagramReceiver.manager()
      let notifier = ServiceNotifier()
      try #require(notifier.isActive)
      try #require(notifier.ready())
      try #require(manager.receive() == "READY=1")
      notifier.status("one\ntwo\r\u{1B}[1m")
      try #require(manager.receive() == "STATUS=one two  [1m")
      notifier.watchdog()
      try #require(manager.receive() == "WATCHDOG=1")
      notifier.stopping(within: .milliseconds(8500))
      try #require(manager.receive() == "STOPPING=1\nEXTEND_TIMEOUT_USEC=8500000")
      notifier.reloading()
      let lines = manager.receive().split(separator: "\n")
      try #require(lines.first == "RELOADING=1")
      try #require(lines.last?.hasPrefix("MONOTONIC_USEC=") == true)
      try #require(lines.last.flatMap { Int64($0.dropFirst("MONOTONIC_USEC=".count)) } ?? 0 > 0)
    }
  }

  @Test("All messages use one socket, which is replaced when the service manager has bound its socket again")
  func socket() async {
    await #expect(processExitsWith: .success) {
      let manager = try DatagramReceiver.manager()
      let notifier = ServiceNotifier()
      let address = try #require(getenv("NOTIFY_SOCKET").map { String(cString: $0) })
      // sd_notify(3) would not find the service manager's socket now.
      unsetenv("NOTIFY_SOCKET")
      try #require(notifier.status("1") && notifier.watchdog())
      try #require(manager.receive() == "STATUS=1" && manager.receive() == "WATCHDOG=1")
      setenv("NOTIFY_SOCKET", address, 1)
      try manager.bindAnew()
      try #require(notifier.status("2"))
      try #require(manager.receive() == "STATUS=2")
    }
  }

  @Test("A service manager that does not read its messages does not block the daemon")
  func stuck() async {
    await #expect(processExitsWith: .success) {
      let manager = try DatagramReceiver.manager()
      let notifier = ServiceNotifier()
      var sent = 0
      while notifier.watchdog(), sent < 100_000 { sent += 1 }
      try #require(sent > 0 && sent < 100_000)
      try #require(manager.receive() == "WATCHDOG=1")
      try #require(notifier.status("It reads again."))
    }
  }

  @Test("The watchdog interval is nil if it is invalid or set for another process")
  func watchdogInterval() async {
    await #expect(processExitsWith: .success) {
      setenv("WATCHDOG_USEC", "30000000", 1)
      setenv("WATCHDOG_PID", "\(getpid())", 1)
      try #require(ServiceNotifier().watchdogInterval == .seconds(30))
      setenv("WATCHDOG_PID", "1", 1)
      try #require(ServiceNotifier().watchdogInterval == nil)
      setenv("WATCHDOG_USEC", "nonsense", 1)
      setenv("WATCHDOG_PID", "\(getpid())", 1)
      try #require(ServiceNotifier().watchdogInterval == nil)
    }
  }
}

extension DatagramReceiver {
  /// The socket of a service manager of this process.
  fileprivate static func manager() throws -> DatagramReceiver {
    let receiver = try DatagramReceiver()
    setenv("NOTIFY_SOCKET", receiver.path, 1)
    return receiver
  }
}
