// SPDX-License-Identifier: Apache-2.0
import EventLoop
import Expectations
import Glibc
import HTTPClient
import HTTPMessages
import LoopTesting
import Testing
import Timekeeping

/// HTTP/2 over connections that libcurl opens, to a TLS server that follows a script.
@Suite(.enabled(if: access("/usr/bin/openssl", X_OK) == 0, "needs the openssl program"))
struct HTTP2TransportTests {
  private struct Bench {
    let server: ScriptedTLSServer
    let fixture: ClientFixture

    init(
      _ script: String, alpn: String = "h2", transport: HTTPTransport = .auto,
      adjust: (inout HTTPClientConfiguration) -> Void = { _ in }
    ) throws {
      let server = try ScriptedTLSServer(script, alpn: alpn)
      self.server = server
      fixture = try ClientFixture {
        $0.caFile = server.certificateFile
        $0.transport = transport
        adjust(&$0)
      }
    }

    /// The lines about connections in the server's log, as soon as there are `count`.
    func connections(_ count: Int) throws -> [String] {
      try server.lines { $0.filter { $0.hasPrefix("connection") }.count == count }.filter { $0.hasPrefix("connection") }
    }

    func request(
      _ body: String = "{\"a\":1}", deadline: Duration = .seconds(10), usesNewConnection: Bool = false
    ) -> HTTPRequest {
      var request = HTTPRequest(
        method: .patch, url: "https://localhost:\(server.port)/v1/x?m=y",
        headers: [.init("Authorization", .secret(prefix: "Bearer ", Secret("abc")))], body: Array(body.utf8),
        deadline: deadline)
      request.usesNewConnection = usesNewConnection
      return request
    }
  }

  @Test("consecutive requests use one connection, and each is one TLS record, the first with the preface")
  func oneRecord() throws {
    let bench = try Bench("")
    for _ in 0..<5 { try expectEqual(bench.fixture.response(bench.request()).body, Array("{}".utf8)) }
    let lines = try bench.server.lines { $0.filter { $0.hasPrefix("request") }.count == 5 }
    expectEqual(lines.filter { $0.hasPrefix("connection") }, ["connection h2"])
    expectEqual(lines.filter { $0.hasPrefix("request") }, [1, 3, 5, 7, 9].map { "request \($0) records 1" })
    expectEqual(bench.fixture.client.httpVersion, "HTTP/2")
    expectEqual(bench.fixture.client.counters.requests, 5)
    expectEqual(bench.fixture.client.counters.connections, 1)
  }

  @Test("TCP keepalive is on, and probes after 65 s without data, which is longer than the longest heartbeat")
  func keepAlive() throws {
    let bench = try Bench("")
    try expectEqual(bench.fixture.response(bench.request()).status, 200)
    let connection = try #require((3..<1024).first { Self.remotePort(of: $0) == bench.server.port })
    expectEqual(Self.option(SOL_SOCKET, SO_KEEPALIVE, of: connection), 1)
    // The longest heartbeat that the settings allow is 60 s.
    expectEqual(Self.option(Int32(IPPROTO_TCP), TCP_KEEPIDLE, of: connection), 65)
  }

  @Test("a configuration can turn TCP keepalive off, as for the token provider")
  func noKeepAlive() throws {
    let bench = try Bench("", alpn: "http/1.1", transport: .http1) { $0.keepAliveIdle = nil }
    try expectEqual(bench.fixture.response(bench.request()).status, 200)
    let connection = try #require((3..<1024).first { Self.remotePort(of: $0) == bench.server.port })
    expectEqual(Self.option(SOL_SOCKET, SO_KEEPALIVE, of: connection), 0)
  }

  /// The peer's port of a connected socket over IPv4 or IPv6.
  private static func remotePort(of descriptor: Int32) -> Int? {
    var address = sockaddr_in6()
    var size = socklen_t(MemoryLayout<sockaddr_in6>.size)
    let result = withUnsafeMutableBytes(of: &address) { bytes in
      getpeername(descriptor, bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self), &size)
    }
    // The port has the same offset in both families.
    return result == 0 && [AF_INET, AF_INET6].contains(Int32(address.sin6_family))
      ? Int(UInt16(bigEndian: address.sin6_port)) : nil
  }

  private static func option(_ level: Int32, _ name: Int32, of descriptor: Int32) -> Int32? {
    var value: Int32 = 0
    var size = socklen_t(MemoryLayout<Int32>.size)
    return getsockopt(descriptor, level, name, &value, &size) == 0 ? value : nil
  }

  @Test("each new connection resumes the TLS session of the previous one")
  func resumption() throws {
    let bench = try Bench("")
    for _ in 0..<4 {
      try expectEqual(bench.fixture.response(bench.request()).status, 200)
      bench.fixture.client.dropConnections()
    }
    let lines = try bench.server.lines { $0.filter { $0.hasPrefix("connection") }.count == 4 }
    expectEqual(
      lines.filter { $0.hasPrefix("connection") },
      [
        "connection h2", "connection resumed h2", "connection resumed h2", "connection resumed h2",
      ])
  }

  @Test("no TLS session is resumed after a certificate file was replaced")
  func replacedFile() throws {
    let bench = try Bench("")
    for number in 0..<4 {
      if number == 2 { try #require(utimes(bench.server.certificateFile, nil) == 0) }
      try expectEqual(bench.fixture.response(bench.request()).status, 200)
      bench.fixture.client.dropConnections()
    }
    try expectEqual(
      bench.connections(4), ["connection h2", "connection resumed h2", "connection h2", "connection resumed h2"])
  }

  @Test("a TLS session with which a handshake fails is not offered again", arguments: [HTTPTransport.auto, .http1])
  func refusedSession(transport: HTTPTransport) throws {
    let bench = try Bench("no-sessions", alpn: transport == .auto ? "h2" : "http/1.1", transport: transport)
    try expectEqual(bench.fixture.response(bench.request()).status, 200)
    bench.fixture.client.dropConnections()
    try expectEqual(bench.fixture.failure(bench.request()).kind, .handshakeFailed)
    _ = try bench.server.lines { $0.contains("reset") }
    try expectEqual(bench.fixture.response(bench.request()).status, 200)
  }

  @Test("a TLS session is kept if the network fails before the end of the next handshake")
  func keptSession() throws {
    let bench = try Bench(";mute")
    try expectEqual(bench.fixture.response(bench.request()).status, 200)
    bench.fixture.client.dropConnections()
    try expectEqual(bench.fixture.failure(bench.request(deadline: .seconds(2))).kind, .timedOut)
    try expectEqual(bench.fixture.response(bench.request()).status, 200)
    try expectEqual(bench.connections(2), ["connection h2", "connection resumed h2"])
  }

  @Test(
    "each fault of an HTTP/2 server is reported as the right kind of failure, and the next request succeeds",
    arguments: [
      ("goaway-below", TransportFailure.Kind.unprocessed), ("refuse", .unprocessed), ("reset", .broken),
      ("reset-amid", .broken), ("close", .broken), ("half", .broken), ("answer,silence", .timedOut),
      ("garbage", .broken), ("push", .broken), ("ping-flood", .broken), ("settings-flood", .broken),
      ("empty-flood", .broken), ("reset-flood", .broken), ("continuation-flood", .broken), ("endless-head", .broken),
      ("no-head", .malformed), ("no-status", .malformed), ("bad-block", .broken), ("too-large", .tooLarge),
      ("goaway-calm", .throttled), ("answer,close", .unanswered), ("tiny-headers,x", .unprocessed),
      ("no-window,early", .answeredEarly), ("no-window,window-flood", .broken),
    ] as [(String, TransportFailure.Kind)])
  func misbehaviour(script: String, kind: TransportFailure.Kind) throws {
    let bench = try Bench(script)
    for _ in script.split(separator: ",").dropLast() {
      try expectEqual(bench.fixture.response(bench.request()).status, 200)
    }
    let failure = try bench.fixture.failure(
      bench.request(deadline: kind == .timedOut ? .milliseconds(300) : .seconds(10)))
    expectEqual(failure.kind, kind, "\(failure)")
    // The message names the server once.
    expect(failure.message.hasPrefix("localhost:\(bench.server.port): "))
    expectEqual(failure.message.ranges(of: "localhost:").count, 1, "\(failure)")
    let next = bench.request(usesNewConnection: failure.isConnectionOpen)
    try expectEqual(bench.fixture.response(next).status, 200)
  }

  @Test(
    "permitted server behaviour causes no failure",
    arguments: [
      "padded", "continued", "interim", "trailers", "table-of-nothing", "pings", "reset-after", "two-goaways",
      "goaway-after", "bytewise",
    ])
  func shapes(action: String) throws {
    let bench = try Bench("answer,\(action);\(action)")
    for _ in 0..<6 {
      let response = try bench.fixture.response(bench.request())
      expect(response.status == 200 && response.body == Array("{}".utf8))
    }
  }

  @Test("a connection that was opened in advance carries the first request")
  func connectsAhead() throws {
    let bench = try Bench("")
    bench.fixture.client.connect(to: bench.request().url, certificateTime: nil)
    _ = try bench.server.lines(running: bench.fixture.loop) { $0.contains("connection h2") }
    bench.fixture.client.connect(to: bench.request().url, certificateTime: nil)
    for _ in 0..<2 { try expectEqual(bench.fixture.response(bench.request()).status, 200) }
    expectEqual(bench.fixture.client.counters.connections, 1)
  }

  @Test("if a connection cannot be opened in advance, the request tries to open one itself, and reports that failure")
  func connectInAdvanceFails() throws {
    let bench = try Bench("")
    let request = HTTPRequest(method: .patch, url: "https://localhost:1/x", deadline: .seconds(10))
    bench.fixture.client.connect(to: request.url, certificateTime: nil)
    while try bench.fixture.loop.runOnce(timeout: .milliseconds(50)) {}
    try expectEqual(bench.fixture.failure(request).kind, .refused)
    try expectEqual(bench.fixture.response(bench.request()).status, 200)
  }

  @Test("after a GOAWAY no connection is opened in advance: the next request opens one, and resumes the session")
  func reconnects() throws {
    let bench = try Bench("answer,two-goaways;goaway-after;goaway-idle")
    func connections(after requests: Int) throws -> [String] {
      // The server closes a connection after each request but the first. Then there is time to open another one.
      var end: ContinuousClock.Instant?
      let lines = try bench.server.lines(running: bench.fixture.loop) { lines in
        guard lines.count(where: { $0.hasPrefix("carried") }) == requests - 1 else { return false }
        let time = end ?? ContinuousClock.now + .milliseconds(300)
        end = time
        return ContinuousClock.now >= time
      }
      return lines.filter { $0.hasPrefix("connection") }
    }
    for _ in 0..<2 { try expectEqual(bench.fixture.response(bench.request()).status, 200) }
    try expectEqual(connections(after: 2), ["connection h2"])
    for count in 3...4 {
      try expectEqual(bench.fixture.response(bench.request()).status, 200)
      let resumed = [String](repeating: "connection resumed h2", count: count - 2)
      try expectEqual(connections(after: count), ["connection h2"] + resumed)
    }
    try expectEqual(bench.fixture.response(bench.request()).status, 200)
    expectEqual(bench.fixture.client.counters.connections, 4)
  }

  @Test(
    "after a stream's failure or a 5xx the connection is open; a request can require a new one, which later ones reuse",
    arguments: ["refuse", "reset", "error-500", "error-502", "error-503", "no-window,early", "tiny-headers,x"])
  func newConnection(script: String) throws {
    let bench = try Bench("answer,\(script)")
    for _ in 0..<script.split(separator: ",").count {
      try expectEqual(bench.fixture.response(bench.request()).status, 200)
    }
    switch try bench.fixture.outcome(bench.request()) {
    case .response(let response): expect(response.status >= 500)
    case .failure(let failure): expect(failure.isConnectionOpen)
    }
    try expectEqual(bench.fixture.response(bench.request(usesNewConnection: true)).status, 200)
    for _ in 0..<3 { try expectEqual(bench.fixture.response(bench.request()).status, 200) }
    try expectEqual(bench.connections(2), ["connection h2", "connection resumed h2"])
    expectEqual(bench.fixture.client.counters.connections, 2)
    let ends = try bench.server.lines { $0.contains { $0.hasPrefix("ended") } }
    expect(ends.contains("ended in order"))
  }

  @Test(
    "a failure that closes the connection does not report an open one",
    arguments: ["close", "garbage", "goaway-below", "ping-flood"])
  func closedConnection(script: String) throws {
    let bench = try Bench(script)
    expect(try !bench.fixture.failure(bench.request()).isConnectionOpen)
    try expectEqual(bench.fixture.response(bench.request(usesNewConnection: true)).status, 200)
    try expectEqual(bench.connections(2).count, 2)
  }

  @Test("a request that requires a new connection uses one that was opened in advance and has carried no request")
  func aheadIsNew() throws {
    let bench = try Bench("")
    bench.fixture.client.connect(to: bench.request().url, certificateTime: nil)
    _ = try bench.server.lines(running: bench.fixture.loop) { $0.contains("connection h2") }
    try expectEqual(bench.fixture.response(bench.request(usesNewConnection: true)).status, 200)
    expectEqual(bench.fixture.client.counters.connections, 1)
  }

  @Test("if no new connection can be opened, the old one stays in use and carries the request")
  func noNewConnection() throws {
    let bench = try Bench("refuse;refused")
    expect(try bench.fixture.failure(bench.request()).isConnectionOpen)
    try expectEqual(bench.fixture.response(bench.request(usesNewConnection: true)).status, 200)
    try expectEqual(bench.fixture.response(bench.request()).status, 200)
    let lines = try bench.server.lines { $0.contains { $0.hasPrefix("request 5") } }
    expectEqual(lines.filter { $0.hasPrefix("connection") }, ["connection h2"])
    // The next request that requires a new connection gets one.
    try expectEqual(bench.fixture.response(bench.request(usesNewConnection: true)).status, 200)
    try expectEqual(bench.connections(2).count, 2)
  }

  @Test("a request that is cancelled while its new connection opens is not sent, and leaves a working connection")
  func cancelledWhileOpening() throws {
    let bench = try Bench("")
    try expectEqual(bench.fixture.response(bench.request()).status, 200)
    let exchange = bench.fixture.client.send(bench.request(usesNewConnection: true)) { _ in
      Issue.record("called after it was cancelled")
    }
    exchange.cancel()
    for _ in 0..<2 { try expectEqual(bench.fixture.response(bench.request()).status, 200) }
    expectEqual(bench.fixture.client.counters.requests, 3)
  }

  @Test(
    "a request that times out while its new connection opens leaves the old one, which carries the next request",
    arguments: [HTTPTransport.auto, .http1])
  func timedOutWhileOpening(transport: HTTPTransport) throws {
    let bench = try Bench(";mute", alpn: transport == .auto ? "h2" : "http/1.1", transport: transport)
    try expectEqual(bench.fixture.response(bench.request()).status, 200)
    // The time that opening leaves is too short for the old connection.
    let failure = try bench.fixture.failure(bench.request(deadline: .milliseconds(300), usesNewConnection: true))
    expectEqual(failure.kind, .timedOut, "\(failure)")
    let connections = bench.fixture.client.counters.connections
    try expectEqual(bench.fixture.response(bench.request()).status, 200)
    expectEqual(bench.fixture.client.counters.connections, connections)
  }

  @Test("if a request times out while a new connection opens for an earlier one, the old connection carries the latter")
  func timedOutBehindOpening() throws {
    let bench = try Bench(";mute")
    try expectEqual(bench.fixture.response(bench.request()).status, 200)
    var outcomes: [HTTPOutcome] = []
    bench.fixture.client.send(bench.request(usesNewConnection: true)) { outcomes.append($0) }
    bench.fixture.client.send(bench.request(deadline: .milliseconds(1))) { outcomes.append($0) }
    expect(try bench.fixture.loop.runs { outcomes.count == 2 })
    guard case .failure(let failure) = outcomes.first, case .response(let response) = outcomes.last else {
      Issue.record("\(outcomes)")
      return
    }
    expect(failure.kind == .timedOut && response.status == 200)
    expectEqual(bench.fixture.client.counters.connections, 1)
  }

  @Test("a server without HTTP/2 gets HTTP/1.1, and requests succeed after connections are dropped")
  func fallBack() throws {
    let bench = try Bench("", alpn: "http/1.1")
    for _ in 0..<3 { try expectEqual(bench.fixture.response(bench.request()).body, Array("{}".utf8)) }
    expectEqual(bench.fixture.client.httpVersion, "HTTP/1.1")
    let lines = try bench.server.lines { $0.filter { $0.hasPrefix("connection") }.count == 2 }
    expectEqual(lines.filter { $0.hasPrefix("connection") }, ["connection http/1.1", "connection http/1.1"])
    bench.fixture.client.dropConnections()
    try expectEqual(bench.fixture.response(bench.request()).status, 200)
  }

  @Test(
    "where libcurl's own HTTP/2 is used, as through a TLS proxy, a failure reports whether the connection is open",
    arguments: [
      ("reset", true), ("reset-amid", true), ("too-large", true), ("error-503", true), ("close", false),
      ("refuse", false),
    ])
  func ofLibcurl(action: String, isOpen: Bool) throws {
    // The first connection has no HTTP/2, so libcurl's own HTTP is used, and its connection has HTTP/2.
    let bench = try Bench("http1;answer,\(action)")
    try expectEqual(bench.fixture.response(bench.request()).status, 200)
    expectEqual(bench.fixture.client.httpVersion, "HTTP/2")
    switch try bench.fixture.outcome(bench.request()) {
    case .response(let response): expect(response.status >= 500)
    case .failure(let failure): expectEqual(failure.isConnectionOpen, isOpen, "\(failure)")
    }
    try expectEqual(bench.fixture.response(bench.request(usesNewConnection: isOpen)).status, 200)
    try expectEqual(bench.fixture.response(bench.request()).status, 200)
    // Two connections carried requests, each from its first stream on. libcurl opens another one to retry a refused
    // request, and is stopped then, so the server may or may not see that connection.
    let lines = try bench.server.lines { $0.count { $0.hasPrefix("request") } == 4 }
    expectEqual(lines.count { $0.hasPrefix("request 1 ") }, 2)
  }

  @Test("if a server requires HTTP/1.1, the failure of every attempt says so and names the setting")
  func requiresHTTP1() throws {
    let bench = try Bench("requires-http1,requires-http1")
    for _ in 0..<2 {
      let failure = try bench.fixture.failure(bench.request())
      expectEqual(failure.kind, .malformed)
      expect(failure.message.hasSuffix("HTTP_1_1_REQUIRED); set fleet_engine.transport = \"http1\""), "\(failure)")
    }
    try expectEqual(bench.connections(1), ["connection h2"])
  }

  @Test("with HTTP/1.1 configured, nothing else is offered")
  func http1() throws {
    let bench = try Bench("", alpn: "h2,http/1.1", transport: .http1)
    try expectEqual(bench.fixture.response(bench.request()).body, Array("{}".utf8))
    let lines = try bench.server.lines { $0.contains { $0.hasPrefix("connection") } }
    expect(lines.contains("connection http/1.1"))
  }

  @Test("a body within the flow-control windows is sent; a larger one times out if the server never widens them")
  func largeBody() throws {
    let bench = try Bench("")
    // This body fits in the initial windows. The server of this suite never widens a window.
    try expectEqual(bench.fixture.response(bench.request(String(repeating: "x", count: 60_000))).status, 200)
    let failure = try bench.fixture.failure(
      bench.request(String(repeating: "x", count: 100_000), deadline: .milliseconds(300)))
    expectEqual(failure.kind, .timedOut)
  }

  @Test("concurrent requests use one connection; a cancelled one reports no outcome, and is not sent from the queue")
  func together() throws {
    let bench = try Bench("")
    var ends = 0
    var exchanges: [HTTPExchange] = []
    for _ in 0..<4 { exchanges.append(bench.fixture.client.send(bench.request()) { _ in ends += 1 }) }
    exchanges[2].cancel()
    expect(try bench.fixture.loop.runs { ends == 3 })
    exchanges.append(bench.fixture.client.send(bench.request()) { _ in ends += 100 })
    exchanges[4].cancel()
    exchanges.append(bench.fixture.client.send(bench.request()) { _ in ends += 1 })
    expect(try bench.fixture.loop.runs { ends == 4 })
    expectEqual(bench.fixture.client.counters.requests, 4)
    expectEqual(bench.fixture.client.counters.connections, 1)
  }

  @Test("a request that is cancelled before the server allows it a stream does not block the next one")
  func cancelledWithoutStream() throws {
    let bench = try Bench("no-streams")
    _ = try bench.fixture.response(bench.request())
    let stuck = bench.fixture.client.send(bench.request()) { _ in }
    var outcome: HTTPOutcome?
    bench.fixture.client.send(bench.request()) { outcome = $0 }
    bench.fixture.client.dropConnections()
    stuck.cancel()
    expect(try bench.fixture.loop.runs { outcome != nil })
    guard case .response = outcome else { throw ClientFixture.Unexpected(outcome: try #require(outcome)) }
    expectEqual(bench.fixture.client.counters.connections, 2)
  }

  @Test("a request in flight succeeds although connections are dropped, and the next request opens a new connection")
  func droppedInFlight() throws {
    let bench = try Bench("")
    _ = try bench.fixture.response(bench.request())
    var outcome: HTTPOutcome?
    bench.fixture.client.send(bench.request()) { outcome = $0 }
    bench.fixture.client.dropConnections()
    expect(try bench.fixture.loop.runs { outcome != nil })
    guard case .response = outcome else { throw ClientFixture.Unexpected(outcome: try #require(outcome)) }
    _ = try bench.fixture.response(bench.request())
    expectEqual(bench.fixture.client.counters.connections, 2)
  }

  @Test("the connection of a cancelled request is reset, so that data in the kernel's buffer is not sent")
  func cancelledIsReset() throws {
    // By contrast, a connection whose last request was answered is closed normally.
    for (script, isReset) in [("silence", true), ("answer", false)] {
      let bench = try Bench(script)
      let stuck = bench.fixture.client.send(bench.request()) { _ in }
      _ = try bench.server.lines(running: bench.fixture.loop) { $0.contains { $0.hasPrefix("request 1") } }
      if isReset { stuck.cancel() } else { try bench.fixture.loop.runUntilIdle() }
      bench.fixture.client.dropConnections()
      let lines = try bench.server.lines(running: bench.fixture.loop) { $0.contains { $0.hasPrefix("ended") } }
      expectEqual(lines.last { $0.hasPrefix("ended") }, (isReset ? "ended by a reset" : "ended in order"))
    }
  }

  @Test("the connection of a request that timed out is reset, so that the request does not arrive after its deadline")
  func timedOutIsReset() throws {
    // The connection is open when the second request is sent, so that this request reaches the server.
    let bench = try Bench("answer,silence")
    try expectEqual(bench.fixture.response(bench.request()).status, 200)
    try expectEqual(bench.fixture.failure(bench.request(deadline: .milliseconds(500))).kind, .timedOut)
    let lines = try bench.server.lines(running: bench.fixture.loop) { $0.contains { $0.hasPrefix("ended") } }
    expectEqual(lines.last { $0.hasPrefix("ended") }, "ended by a reset")
  }

  @Test("a completion handler can send another request, and can release the client")
  func reentrancy() throws {
    let server = try ScriptedTLSServer("", alpn: "h2")
    let loop = try EventLoop()
    var configuration = HTTPClientConfiguration(userAgent: "test")
    configuration.caFile = server.certificateFile
    var client: HTTPClient? = try HTTPClient(loop: loop, configuration: configuration)
    var isDone = false
    let request = HTTPRequest(method: .get, url: "https://localhost:\(server.port)/")
    client?.send(request) {
      guard case .response = $0 else {
        Issue.record("\($0)")
        return
      }
      client?.send(request) {
        guard case .response = $0 else {
          Issue.record("\($0)")
          return
        }
        client?.send(request) { _ in Issue.record("called after its client was released") }
        client = nil
        isDone = true
      }
    }
    expect(try loop.runs { isDone })
    try loop.runUntilIdle()
  }

  @Test("a request with a line break in a header fails locally, and the next request succeeds")
  func headerInjection() throws {
    let bench = try Bench("")
    var request = bench.request()
    request.headers.append(.init("X", .plain("a\r\nY: z")))
    let failure = try bench.fixture.failure(request)
    expectEqual(failure.kind, .local)
    expect(failure.message.contains("X"))
    try expectEqual(bench.fixture.response(bench.request()).status, 200)
  }
}
