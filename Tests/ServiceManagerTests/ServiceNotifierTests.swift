// SPDX-License-Identifier: Apache-2.0
import FileTesting
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
      let manager = try Manager()
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
      let manager = try Manager()
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

/// The socket of a service manager.
private final class Manager {
  private let directory: TemporaryDirectory
  private var descriptor: Int32 = -1

  init() throws {
    directory = try TemporaryDirectory()
    try bindAnew()
    setenv("NOTIFY_SOCKET", directory("notify"), 1)
  }

  /// Closes the previous socket, and binds a new one at the same path.
  func bindAnew() throws {
    let path = directory("notify")
    close(descriptor)
    unlink(path)
    descriptor = Glibc.socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0)
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    let bytes = Array(path.utf8)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
    let isBound = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0
      }
    }
    try #require(isBound)
  }

  deinit { close(descriptor) }

  /// The next datagram, which has already arrived: sending is synchronous.
  func receive() -> String {
    var buffer = [UInt8](repeating: 0, count: 4096)
    let count = recv(descriptor, &buffer, buffer.count, Int32(MSG_DONTWAIT))
    return String(decoding: buffer.prefix(max(count, 0)), as: UTF8.self)
  }
}
