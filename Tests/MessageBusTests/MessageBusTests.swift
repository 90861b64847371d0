// SPDX-License-Identifier: Apache-2.0
import Expectations
import FileTesting
import Foundation
import Glibc
import SystemCalls
import Testing
import Timekeeping

@testable import MessageBus

/// Calls without a systemd that responds; Tests/Systemd has the tests with systemd.
final class MessageBusTests {
  private let directory: TemporaryDirectory
  private var path: String { directory("bus") }
  private var listener: Int32 = -1

  init() throws {
    directory = try TemporaryDirectory()
  }

  deinit { close(listener) }

  /// Listens without calling accept: clients can connect, but get no response.
  private func listen() throws {
    listener = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | O_CLOEXEC, 0)
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    let isCopied = withUnsafeMutableBytes(of: &address.sun_path) { field in
      guard field.count > path.utf8.count else { return false }
      field.copyBytes(from: path.utf8)
      return true
    }
    try #require(isCopied)
    let isListening = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(listener, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0 && Glibc.listen(listener, 8) == 0
      }
    }
    try #require(isListening)
  }

  private func error(_ addresses: [MessageBus.Address]) -> MessageBusError? {
    do {
      let bus = try MessageBus(addresses, timeLimit: .milliseconds(200))
      _ = try ServiceStatus(of: "fleet-locationd.service", from: bus)
      return nil
    } catch {
      return error
    }
  }

  @Test("the absence of systemd is reported as such, whichever addresses are tried")
  func absent() {
    for addresses in [[], [MessageBus.Address.bus("unix:path=\(path)")], [.manager("unix:path=\(path)")]] {
      expectEqual(error(addresses)?.code, .absent)
    }
  }

  @Test("a call to a bus that does not answer ends at the timeout")
  func silent() throws {
    try listen()
    for address in [MessageBus.Address.bus("unix:path=\(path)"), .manager("unix:path=\(path)")] {
      let start = ContinuousClock.now
      expectEqual(error([address])?.code, .silent)
      expect(ContinuousClock.now - start < .seconds(5))
    }
  }

  @Test("an unusable address is reported, and the next address is tried")
  func unusable() {
    expectEqual(error([.bus("tcp:port=none")])?.code, .failed)
    expectEqual(error([.bus("tcp:port=none"), .bus("unix:path=\(path)")])?.code, .absent)
  }
}
