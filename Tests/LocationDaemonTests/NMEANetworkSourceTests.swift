// SPDX-License-Identifier: Apache-2.0
import Expectations
import Positioning
import NMEA
import EventLoop
import ExternalInput
import Glibc
import LoopTesting
import FixSources
import StreamSocket
import Testing
import Timekeeping

@testable import LocationDaemon

/// NMEA 0183 from network senders, through real sockets on the loopback interface.
struct NMEANetworkSourceTests {
  /// The port that the source listens on; nil while it does not listen.
  private func listeningPort(_ source: SourceRig) -> Int? { (source.line as? NMEANetworkLine)?.port }

  /// A sender of NMEA in the network.
  private final class Sender {
    let descriptor: Int32

    /// - Parameter from: the sender's address, in 127.0.0.0/8.
    init(_ type: __socket_type, to port: Int, from: UInt32 = 0x7F00_0001) throws {
      descriptor = socket(AF_INET, Int32(type.rawValue) | O_NONBLOCK, 0)
      func with(_ address: UInt32, _ port: Int, _ call: (Int32, UnsafePointer<sockaddr>, socklen_t) -> Int32) -> Int32 {
        var name = sockaddr_in()
        name.sin_family = sa_family_t(AF_INET)
        name.sin_port = UInt16(port).bigEndian
        name.sin_addr.s_addr = address.bigEndian
        return withUnsafePointer(to: &name) {
          $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
            call(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
          }
        }
      }
      try #require(with(from, 0, bind) == 0)
      try #require(with(0x7F00_0001, port, connect) == 0 || errno == EINPROGRESS)
    }

    deinit { close(descriptor) }

    @discardableResult func send(_ text: String) -> Int {
      let bytes = Array(text.utf8)
      return Glibc.send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL))
    }
  }

  private static func epoch(_ second: Int) -> String {
    let body = "GPRMC,12000\(second),A,4500.0,N,00100.0,E,10.0,0.0,010124,,,A"
    let sum = String(body.utf8.reduce(0, ^), radix: 16, uppercase: true)
    return "$\(body)*\(sum.count < 2 ? "0" : "")\(sum)\r\n"
  }

  private func source(
    _ loop: EventLoop, _ log: SourceLog, _ endpoint: NMEANetworkLine.Endpoint, allow: [String] = ["127.0.0.1"],
    silence: Duration = .seconds(10)
  ) throws -> SourceRig {
    try source(loop, log, endpoint.transport, allow: allow, silence: silence) {
      NMEANetworkLine(loop: loop, endpoint: endpoint, handlers: $0)
    }
  }

  private func source(
    _ loop: EventLoop, _ log: SourceLog, _ transport: NMEANetworkSession.Transport, allow: [String] = ["127.0.0.1"],
    silence: Duration = .seconds(10), line: (LineHandlers) throws -> any SourceLine
  ) throws -> SourceRig {
    let session = NMEANetworkSession(
      name: "net", transport: transport, allow: allow.compactMap(AddressRange.init), silenceTimeout: silence, seed: 1)
    return try SourceRig(loop, session, line: line) { log.append($0) }
  }

  @Test("a TCP server that sends NMEA is read, and the connection is opened again after the server was down")
  func connects() throws {
    let loop = try EventLoop()
    let log = SourceLog()
    var clients: [StreamSocket] = []
    func serve(_ port: Int) throws -> StreamListener {
      try StreamListener(loop: loop, host: "127.0.0.1", port: port) { connection in
        if let client = try? StreamSocket(loop: loop, connection: connection, onBytes: { _ in }, onEnd: { _ in }) {
          clients.append(client)
        }
      }
    }
    var listener: StreamListener? = try serve(0)
    let port = try #require(listener?.port)
    let source = try source(loop, log, .connection) {
      ConnectionLine(.sender, loop: loop, host: "127.0.0.1", port: port, handlers: $0)
    }
    try source.start()
    expect(try loop.runs { clients.count == 1 })
    clients[0].send(Array(Self.epoch(1).utf8))
    expect(try loop.runs { log.fixes.count == 1 })
    listener = nil
    clients[0].close()
    expect(try loop.runs { log.lost.count == 2 })
    expectEqual(log.lost.first?.contains("closed by the other side"), true)
    expectEqual(log.lost.last?.contains("nothing listens there"), true)
    listener = try serve(port)
    expect(try loop.runs { clients.count == 2 })
    clients[1].send(Array(Self.epoch(2).utf8))
    expect(try loop.runs { log.fixes.count == 2 })
    expectEqual(log.reading, ["net", "net"])
    source.stop()
    withExtendedLifetime(listener) {}
  }

  @Test("connections of senders that are not permitted are closed unread, and a thousand of them have no effect")
  func listens() throws {
    let loop = try EventLoop()
    let log = SourceLog()
    let source = try source(loop, log, .listen(host: "127.0.0.1", port: 0, maximumConnections: 4))
    try source.start()
    expect(try loop.runs { listeningPort(source) != nil })
    let port = try #require(listeningPort(source))
    let good = try Sender(SOCK_STREAM, to: port)
    expect(try loop.runs { source.lineStatistics?.senders.count == 1 })
    good.send(Self.epoch(1))
    expect(try loop.runs { log.fixes.count == 1 })
    expectEqual(log.reading, ["net, from 127.0.0.1"])
    for round in 1...100 {
      let hostile = try (0..<10).map { _ in try Sender(SOCK_STREAM, to: port, from: 0x7F00_0009) }
      for sender in hostile { sender.send(Self.epoch(9)) }
      expect(try loop.runs { (source.lineStatistics?.refusedSenders.first?.count ?? 0) >= 10 * UInt64(round) })
    }
    good.send(Self.epoch(2))
    expect(try loop.runs { log.fixes.count == 2 })
    expectEqual(source.lineStatistics?.refusedSenders.map(\.address), [IPAddress(v4: 0x7F00_0009)])
    expectEqual(source.lineStatistics?.counters.sentences, 2)
    expect(log.lost.isEmpty)
    source.stop()
  }

  @Test("datagrams of permitted senders are read; those of other senders are discarded and counted")
  func datagrams() throws {
    let loop = try EventLoop()
    let log = SourceLog()
    let source = try source(loop, log, .datagrams(host: "127.0.0.1", port: 0, group: nil))
    try source.start()
    expect(try loop.runs { listeningPort(source) != nil })
    let port = try #require(listeningPort(source))
    let good = try Sender(SOCK_DGRAM, to: port)
    let hostile = try Sender(SOCK_DGRAM, to: port, from: 0x7F00_0009)
    good.send(Self.epoch(1) + Self.epoch(2))
    for _ in 0..<50 { hostile.send(String(repeating: Self.epoch(9), count: 20)) }
    good.send(Self.epoch(3))
    expect(try loop.runs { log.fixes.count == 3 })
    expectEqual(log.fixes.compactMap { $0.timestamp.map { $0.milliseconds / 1000 % 60 } }, [1, 2, 3])
    expect(try loop.runs { source.lineStatistics?.refusedSenders.first?.count == 50 })
    expectEqual(source.lineStatistics?.counters.sentences, 3)
    source.stop()
  }

  @Test("while no fix is needed, data stays unread; it is discarded once fixes are needed", arguments: [true, false])
  func unneeded(isDatagram: Bool) throws {
    let loop = try EventLoop()
    let log = SourceLog()
    let source = try source(
      loop, log,
      isDatagram
        ? .datagrams(host: "127.0.0.1", port: 0, group: nil)
        : .listen(host: "127.0.0.1", port: 0, maximumConnections: 4))
    try source.start()
    expect(try loop.runs { listeningPort(source) != nil })
    let sender = try Sender(isDatagram ? SOCK_DGRAM : SOCK_STREAM, to: try #require(listeningPort(source)))
    expect(try isDatagram || loop.runs { source.lineStatistics?.senders.count == 1 })
    sender.send(Self.epoch(1))
    expect(try loop.runs { log.fixes.count == 1 })
    source.pass(.needed(false), of: 1)
    sender.send(Self.epoch(2))
    for _ in 0..<4 { _ = try loop.runOnce(timeout: .milliseconds(20)) }
    expectEqual(source.lineStatistics?.counters.sentences, 1)
    source.pass(.needed(true), of: 1)
    expectEqual(source.lineStatistics?.counters.sentences, 2)
    sender.send(Self.epoch(3))
    expect(try loop.runs { log.fixes.count == 2 })
    expectEqual(log.fixes.compactMap { $0.timestamp.map { $0.milliseconds / 1000 % 60 } }, [1, 3])
    source.stop()
  }

  @Test("a multicast group is joined on the configured interface, and a failure is reported")
  func group() throws {
    let loop = try EventLoop()
    let log = SourceLog()
    let address = try #require(IPAddress("239.255.46.9"))
    let missing = try source(
      loop, log, .datagrams(host: "0.0.0.0", port: 0, group: .init(address, interface: "none0")))
    try missing.start()
    expect(try loop.runs { log.lost.count == 1 })
    expectEqual(log.lost.first?.contains("the group 239.255.46.9 cannot be joined on none0"), true, "\(log.lost)")
    missing.stop()
    let joined = try source(loop, log, .datagrams(host: "0.0.0.0", port: 0, group: .init(address, interface: "lo")))
    try joined.start()
    expect(try loop.runs { listeningPort(joined) != nil })
    joined.stop()
  }

  @Test("an address that is in use is reported, and the source listens once the address is free")
  func inUse() throws {
    let loop = try EventLoop()
    let log = SourceLog()
    var other: StreamListener? = try StreamListener(loop: loop, host: "127.0.0.1", port: 0) { _ in }
    let port = try #require(other?.port)
    let source = try source(loop, log, .listen(host: "127.0.0.1", port: port, maximumConnections: 1))
    try source.start()
    expect(try loop.runs { log.lost.count == 1 })
    expectEqual(log.lost.first?.contains("another program, source or instance of this service listens there"), true)
    other?.close()
    other = nil
    expect(try loop.runs { listeningPort(source) == port })
    source.stop()
  }

  @Test("a source that is stopped at any moment reports nothing more", arguments: 0..<4)
  func stopped(turns: Int) throws {
    let loop = try EventLoop()
    let log = SourceLog()
    let source = try source(loop, log, .datagrams(host: "127.0.0.1", port: 0, group: nil))
    try source.start()
    for _ in 0..<turns { _ = try loop.runOnce(timeout: .zero) }
    // The second epoch completes the first one.
    if let port = listeningPort(source) { try Sender(SOCK_DGRAM, to: port).send(Self.epoch(1) + Self.epoch(2)) }
    source.stop()
    expectNil(listeningPort(source))
    for _ in 0..<4 { _ = try loop.runOnce(timeout: .zero) }
    expect(log.fixes.isEmpty && log.lost.isEmpty)
  }
}
