// SPDX-License-Identifier: Apache-2.0
import EventLoop
import Expectations
import Glibc
import LoopTesting
import StreamSocket
import SystemCalls
import Testing
import Timekeeping

/// Connections to a name with several addresses, on the loopback interface.
struct StreamSocketTests {
  /// A listening socket whose queue is full, so that the kernel drops packets of new connections without an answer.
  private final class SilentPort {
    let port: Int
    private var descriptors: [Int32] = []

    init() throws {
      let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
      descriptors = [listener]
      var name = sockaddr_in()
      name.sin_family = sa_family_t(AF_INET)
      name.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
      var size = socklen_t(MemoryLayout<sockaddr_in>.size)
      func withName(_ call: (UnsafeMutablePointer<sockaddr>) -> Int32) -> Int32 {
        withUnsafeMutablePointer(to: &name) { $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { call($0) } }
      }
      try #require(withName { bind(listener, $0, size) } == 0 && listen(listener, 0) == 0)
      try #require(withName { getsockname(listener, $0, &size) } == 0)
      port = Int(UInt16(bigEndian: name.sin_port))
      for _ in 0..<3 {
        let client = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | O_NONBLOCK, 0)
        descriptors.append(client)
        try #require(withName { connect(client, $0, size) } == 0 || errno == EINPROGRESS)
      }
    }

    deinit { for descriptor in descriptors { close(descriptor) } }
  }

  @Test(
    "if the first address of a name does not answer, the next one is tried before the deadline",
    .enabled(
      if: SystemFile.lines("/proc/net/if_inet6").contains { $0.hasPrefix("00000000000000000000000000000001 ") },
      "needs IPv6"))
  func secondAddress() throws {
    let loop = try EventLoop()
    var silent = try SilentPort()
    var accepted = 0
    var listener: StreamListener?
    // Another program may have the port of the other address.
    for _ in 0..<5 where listener == nil {
      silent = try SilentPort()
      listener = try? StreamListener(loop: loop, host: "::1", port: silent.port) { _ in accepted += 1 }
    }
    _ = try #require(listener)
    var ending: StreamSocketError?
    var isConnected = false
    let connection = StreamSocket(
      loop: loop, lookup: HostLookup(loop: loop, host: "localhost", port: silent.port), deadline: .seconds(4),
      onConnected: { isConnected = true }, onBytes: { _ in }, onEnd: { ending = $0 })
    expect(try loop.runs { isConnected || ending != nil })
    expectNil(ending)
    expect(try loop.runs { accepted == 1 })
    connection.close()
    withExtendedLifetime((listener, silent)) {}
  }

  @Test("if no address answers, the connection ends at the deadline")
  func silence() throws {
    let loop = try EventLoop()
    let silent = try SilentPort()
    var ending: StreamSocketError?
    let connection = StreamSocket(
      loop: loop, lookup: HostLookup(loop: loop, host: "127.0.0.1", port: silent.port), deadline: .seconds(1),
      onConnected: {}, onBytes: { _ in }, onEnd: { ending = $0 })
    expect(try loop.runs { ending != nil })
    expectEqual(ending?.message, "127.0.0.1:\(silent.port): no response for 1 s")
    connection.close()
    withExtendedLifetime(silent) {}
  }
}
