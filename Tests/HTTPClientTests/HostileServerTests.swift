// SPDX-License-Identifier: Apache-2.0
import EventLoop
import Expectations
import Foundation
import Glibc
import HTTPClient
import HTTPMessages
import LoopTesting
import Testing

/// Servers that misbehave, and what a request to them costs.
@Suite(.serialized) struct HostileServerTests {
  private nonisolated static let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n"

  @Test(
    "endless responses are aborted long before the deadline, with bounded memory",
    arguments: [
      ("trailers", chunked + "0\r\n", "X-Trailer: abcdefghijklmnopqrstuvwxyz\r\n"),
      ("headers", "HTTP/1.1 200 OK\r\n", "X-Header: abcdefghijklmnopqrstuvwxyz\r\n"),
      ("short headers", "HTTP/1.1 200 OK\r\n", "a:\r\n"), ("one header", "HTTP/1.1 200 OK\r\nX: ", "a"),
      ("one trailer", chunked + "0\r\nX: ", "a"), ("interim answers", "", "HTTP/1.1 100 Continue\r\n\r\n"),
      ("early hints", "", "HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n"), ("a status line", "HTTP/1.1 200 ", "O"),
      ("a body", "HTTP/1.1 200 OK\r\n\r\n", "x"),
      ("chunks", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "1\r\nx\r\n"),
    ])
  func endless(name: String, start: String, unit: String) throws {
    let fixture = try ClientFixture()
    let server = try LoopbackServer(fixture.loop) { _ in .endless(start, unit) }
    let before = try HostileServerTests.residentBytes()
    let failure = try fixture.failure(HTTPRequest(method: .get, url: server.url, deadline: .seconds(15)))
    expect(failure.kind != .timedOut && failure.kind != .local, "\(name): \(failure)")
    expect(server.sent < 8 << 20, "\(name): \(server.sent) bytes")
    expect(try HostileServerTests.residentBytes() - before < 12 << 20, "\(name)")
    expectEqual(server.requests.count, 1)
  }

  @Test("a chunk with an endless extension fails the request, with bounded memory")
  func endlessChunkExtension() throws {
    let fixture = try ClientFixture()
    let server = try LoopbackServer(fixture.loop) { _ in
      .endless("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2;", "a")
    }
    let before = try HostileServerTests.residentBytes()
    let failure = try fixture.failure(HTTPRequest(method: .get, url: server.url, deadline: .seconds(15)))
    expect([.malformed, .timedOut].contains(failure.kind), "\(failure)")
    expect(try HostileServerTests.residentBytes() - before < 12 << 20)
  }

  @Test(
    "a flood of TLS messages closes the connection, and no iteration of the event loop takes long",
    .enabled(if: access("/usr/bin/openssl", X_OK) == 0, "needs the openssl program"),
    arguments: ["key-update", "ticket", "hello"], [HTTPTransport.auto, .http1])
  func tlsFlood(kind: String, transport: HTTPTransport) throws {
    let server = try ScriptedTLSServer("tls_flood.py", [kind, "20000", transport == .auto ? "h2" : "http/1.1"])
    let fixture = try ClientFixture {
      $0.caFile = server.certificateFile
      $0.transport = transport
    }
    var outcome: HTTPOutcome?
    let request = HTTPRequest(method: .get, url: "https://localhost:\(server.port)/", deadline: .seconds(15))
    fixture.client.send(request) { outcome = $0 }
    var longest = Duration.zero
    for _ in 0..<100_000 where outcome == nil {
      let before = HostileServerTests.processorTime
      _ = try fixture.loop.runOnce(timeout: .milliseconds(100))
      longest = max(longest, HostileServerTests.processorTime - before)
    }
    guard case .failure(let failure) = outcome else { throw ClientFixture.Unexpected(outcome: try #require(outcome)) }
    expectEqual(failure.kind, .broken)
    expect(failure.message.contains("floods the connection with TLS messages"), "\(failure)")
    // A handshake takes a few milliseconds; 20,000 messages take hundreds. The server needs seconds to prepare more of
    // them on a slow machine, and the client waits ten for its first frame.
    expect(longest < .milliseconds(150), "\(longest)")
  }

  @Test("trailers are not mistaken for headers")
  func trailers() throws {
    let fixture = try ClientFixture()
    let server = try LoopbackServer(fixture.loop) { _ in
      .bytes(HostileServerTests.chunked + "0\r\nRetry-After: 900\r\n\r\n")
    }
    let response = try fixture.response(HTTPRequest(method: .get, url: server.url))
    expectNil(response.header("Retry-After"))
    expectEqual(response.body, Array("{}".utf8))
  }

  @Test(
    "a request whose reused connection closes without a response is not resent, and is reported as unanswered",
    arguments: [false, true])
  func oneAttempt(isReset: Bool) throws {
    let fixture = try ClientFixture()
    var count = 0
    let server = try LoopbackServer(fixture.loop) { _ in
      count += 1
      return count == 1 ? .bytes(answer("ok")) : isReset ? .reset : .closing("")
    }
    let request = HTTPRequest(method: .post, url: server.url, body: [1])
    _ = try fixture.response(request)
    try expectEqual(fixture.failure(request).kind, .unanswered)
    expectEqual(server.requests.count, 2)
    // On a new connection a close without a response is an ordinary failure, after which the core backs off.
    try expectEqual(fixture.failure(request).kind, .broken)
    expectEqual(server.requests.count, 3)
  }

  /// Processor time of this thread.
  private static var processorTime: Duration {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return .seconds(Int64(time.tv_sec)) + .nanoseconds(Int64(time.tv_nsec))
  }

  /// Memory of this process.
  private static func residentBytes() throws -> Int {
    let numbers = try String(contentsOfFile: "/proc/self/statm", encoding: .utf8).split(separator: " ")
    return try #require(Int(numbers[1])) * Int(sysconf(Int32(_SC_PAGESIZE)))
  }
}
