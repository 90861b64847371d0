// SPDX-License-Identifier: Apache-2.0
import Connectivity
import EventLoop
import Expectations
import Glibc
import HTTPClient
import HTTPMessages
import LoopTesting
import Testing
import Timekeeping

/// The kernel's byte counters at the client's end of real connections, compared with the server's.
@Suite(.enabled(if: access("/usr/bin/openssl", X_OK) == 0, "needs the openssl program"))
struct ConnectionMeterTests {
  /// Returns true if both ends counted the same bytes, except for known differences: when the client has closed a
  /// connection, the server answers its close_notify with a TLS record of 24 bytes; the kernel counts a received FIN as
  /// a byte; and on a busy machine the kernel retransmits over loopback too, which the server does not see.
  /// - Parameter late: the number of bytes that the server may have sent on each connection after the client closed it.
  private static func isSame(_ traffic: TCPTraffic, _ lines: [String], late: UInt64 = 24) -> Bool {
    let carried = lines.filter { $0.hasPrefix("carried") }.map { $0.split(separator: " ").compactMap { UInt64($0) } }
    let (sent, received) = (carried.reduce(0) { $0 + $1[0] }, carried.reduce(0) { $0 + $1[1] })
    let ends = UInt64(carried.count)
    let once = traffic.sent - traffic.retransmitted
    return once <= sent && sent <= once + ends && received <= traffic.received + late * ends
      && traffic.received <= received + ends
  }

  @Test(
    "the bytes of all connections, including TLS and its handshakes, match those that the server has counted",
    arguments: [
      ("h2", HTTPTransport.auto, "HTTP/2"), ("http/1.1", .http1, "HTTP/1.1"), ("http/1.1", .auto, "HTTP/1.1"),
    ])
  func sameAsServer(alpn: String, transport: HTTPTransport, version: String) throws {
    let server = try ScriptedTLSServer("", alpn: alpn)
    let fixture = try ClientFixture {
      $0.caFile = server.certificateFile
      $0.transport = transport
    }
    let request = HTTPRequest(
      method: .patch, url: "https://localhost:\(server.port)/v1/x",
      headers: [.init("Authorization", .secret(prefix: "Bearer ", Secret(String(repeating: "j", count: 700))))],
      body: Array("{\"a\":1}".utf8), deadline: .seconds(10))
    var connections = 0
    for count in [3, 1, 2] {
      var before = fixture.meter.traffic
      for _ in 0..<count {
        try expectEqual(fixture.response(request).status, 200)
        // Intermediate readings do not count bytes twice.
        let now = fixture.meter.traffic
        expect(now.sent > before.sent && now.received > before.received)
        before = now
      }
      fixture.client.dropConnections()
      connections = Int(fixture.client.counters.connections)
    }
    expectEqual(fixture.client.httpVersion, version)
    let lines = try server.lines(running: fixture.loop) { $0.filter { $0.hasPrefix("carried") }.count == connections }
    let traffic = fixture.meter.traffic
    // A connection without HTTP/2 is closed before the server's session tickets have arrived.
    let late: UInt64 = alpn == "http/1.1" && transport == .auto ? 600 : 24
    expect(Self.isSame(traffic, lines, late: late), "\(traffic) and \(lines)")
    // The client sends at least one TCP header for each of the 6 requests, and one to acknowledge each response.
    expect(traffic.sentHeaders >= 12 * 52 && traffic.sentHeaders % 52 == 0 && traffic.receivedHeaders % 52 == 0)
  }

  @Test("the bytes of a connection on which a request fails, or whose TLS handshake fails, are counted")
  func ends() throws {
    for script in ["answer,close", "reset-amid", "garbage", "goaway-calm"] {
      let server = try ScriptedTLSServer(script, alpn: "h2")
      let fixture = try ClientFixture { $0.caFile = server.certificateFile }
      let request = HTTPRequest(
        method: .get, url: "https://localhost:\(server.port)/", deadline: .seconds(10))
      for _ in script.split(separator: ",").dropLast() { _ = try fixture.response(request) }
      _ = try fixture.failure(request)
      fixture.client.dropConnections()
      let lines = try server.lines(running: fixture.loop) { $0.contains { $0.hasPrefix("carried") } }
      expect(Self.isSame(fixture.meter.traffic, lines), "\(script): \(fixture.meter.traffic) and \(lines)")
    }
    let server = try ScriptedTLSServer("", alpn: "h2")
    // The server's certificate is from an untrusted issuer.
    let fixture = try ClientFixture { $0.allowsPlainHTTP = false }
    _ = try fixture.failure(
      HTTPRequest(method: .get, url: "https://localhost:\(server.port)/", deadline: .seconds(10)))
    expect(fixture.meter.traffic.sent > 200 && fixture.meter.traffic.received > 500)
  }

  @Test(
    "the bytes of plain HTTP are counted, including those of a connection that closes because its client is released")
  func plain() throws {
    let loop = try EventLoop()
    let meter = ConnectionMeter()
    let server = try LoopbackServer(loop) { _ in .bytes(answer("{}")) }
    var client: HTTPClient?
    var configuration = HTTPClientConfiguration(userAgent: "test")
    configuration.allowsPlainHTTP = true
    client = try HTTPClient(loop: loop, configuration: configuration, meter: meter)
    var isDone = false
    client?.send(HTTPRequest(method: .get, url: "\(server.url)/a", deadline: .seconds(10))) { _ in isDone = true }
    expect(try loop.runs { isDone })
    client = nil
    expectEqual(meter.traffic.sent - meter.traffic.retransmitted, UInt64(server.requests[0].utf8.count))
    expectEqual(meter.traffic.received, UInt64(answer("{}").utf8.count))
  }
}
