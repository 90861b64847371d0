// SPDX-License-Identifier: Apache-2.0
import EventLoop
import Expectations
import Glibc
import HTTPClient
import HTTPMessages
import Testing

/// The failures that are reported for requests without a valid response.
struct TransportFailureTests {
  @Test(
    "An incomplete, invalid or too large response is reported as the right kind of failure, without the URL's query",
    arguments: [
      ("", TransportFailure.Kind.broken),
      ("HTTP/1.1 200 OK\r\nContent-Le", .broken),
      ("HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nshort", .broken),
      ("garbage\r\n", .malformed),
      ("SSH-2.0-OpenSSH_9.2p1 Debian-2+deb12u3\r\n", .malformed),
      ("HTTP/1.1 200 OK\r\nContent-Length: 2000\r\n\r\n", .tooLarge),
      ("HTTP/1.1 200 OK\r\n\r\n" + String(repeating: "x", count: 2000), .tooLarge),
      (
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n7d0\r\n" + String(repeating: "x", count: 2000) + "\r\n",
        .tooLarge
      ),
      ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", .broken),
    ] as [(String, TransportFailure.Kind)])
  func badServers(reply: String, kind: TransportFailure.Kind) throws {
    let fixture = try ClientFixture()
    let server = try LoopbackServer(fixture.loop) { _ in .closing(reply) }
    let failure = try fixture.failure(HTTPRequest(method: .get, url: server.url + "/p?q=s", maximumResponseSize: 1000))
    expectEqual(failure.kind, kind, "\(failure)")
    expect(!failure.isConnectionOpen)
    expect(failure.message.hasPrefix("127.0.0.1:\(server.port): "))
    expect(!failure.message.contains("q=s"))
    expect(failure.message.unicodeScalars.allSatisfy { (0x20...0x7E).contains($0.value) })
  }

  @Test("A body of exactly the maximum size is accepted")
  func exactSize() throws {
    let fixture = try ClientFixture()
    let body = String(repeating: "x", count: 1000)
    let server = try LoopbackServer(fixture.loop) { _ in .bytes(answer(body)) }
    let request = HTTPRequest(method: .get, url: server.url, maximumResponseSize: 1000)
    try expectEqual(fixture.response(request).body.count, 1000)
  }

  @Test("A connection reset fails the request")
  func reset() throws {
    let fixture = try ClientFixture()
    let server = try LoopbackServer(fixture.loop) { _ in .reset }
    try expectEqual(fixture.failure(HTTPRequest(method: .get, url: server.url)).kind, .broken)
  }

  @Test("A connection to a closed port is reported as refused")
  func refused() throws {
    let fixture = try ClientFixture()
    let port = try LoopbackServer(fixture.loop) { _ in .silence }.port
    let failure = try fixture.failure(HTTPRequest(method: .get, url: "http://127.0.0.1:\(port)/"))
    expectEqual(failure.kind, .refused)
    expect(failure.message.hasPrefix("127.0.0.1:\(port): "))
  }

  @Test("An invalid host name is reported as unresolved")
  func unresolved() throws {
    let fixture = try ClientFixture()
    // A label of more than 63 letters is rejected without a DNS query.
    let name = String(repeating: "a", count: 70) + ".invalid"
    let failure = try fixture.failure(HTTPRequest(method: .get, url: "http://\(name)/"))
    expectEqual(failure.kind, .unresolved, "\(failure)")
  }

  @Test("TLS to a server that answers with plain HTTP fails in the handshake", arguments: [HTTPTransport.auto, .http1])
  func notTLS(transport: HTTPTransport) throws {
    let fixture = try ClientFixture { $0.transport = transport }
    let server = try LoopbackServer(fixture.loop) { _ in .closing(answer("", status: "400 Bad Request")) }
    server.answersAnything = true
    let failure = try fixture.failure(HTTPRequest(method: .get, url: "https://127.0.0.1:\(server.port)"))
    expectEqual(failure.kind, .handshakeFailed, "\(failure)")
    expectEqual(server.accepted, 1)
  }

  @Test(
    "A TLS handshake that stalls over an established TCP connection, as if large packets were lost, is reported",
    arguments: [HTTPTransport.auto, .http1])
  func stalledHandshake(transport: HTTPTransport) throws {
    let fixture = try ClientFixture { $0.transport = transport }
    let server = try LoopbackServer(fixture.loop) { _ in .silence }
    let url = "https://127.0.0.1:\(server.port)"
    // On a machine that stalls, the deadline may pass before TCP is established: it is given further attempts.
    let isReported = try (1...5).contains { _ in
      let failure = try fixture.failure(HTTPRequest(method: .get, url: url, deadline: .milliseconds(300)))
      expectEqual(failure.kind, .timedOut)
      return failure.message.contains("127.0.0.1:\(server.port): the TLS handshake does not end, although")
    }
    expect(isReported)
    // Without TLS there is no handshake.
    let plain = "http://127.0.0.1:\(server.port)"
    let silence = try fixture.failure(HTTPRequest(method: .get, url: plain, deadline: .milliseconds(300)))
    expect(silence.kind == .timedOut && !silence.message.contains("TLS"))
  }

  @Test(
    "A request that cannot be sent is a local failure, whose message has the reason and not the path or password",
    arguments: [
      ("nonsense", "http"), ("ftp://127.0.0.1/secret", "http"), ("http:///secret", "host"), ("", "http"),
      ("http://127.0.0.1:99999/secret", "http"), ("http://user:secret@127.0.0.1/", "127.0.0.1:80"),
    ])
  func badURLs(url: String, word: String) throws {
    let failure = try ClientFixture().failure(HTTPRequest(method: .get, url: url))
    expectEqual(failure.kind, .local)
    expect(failure.message.contains(word))
    expect(!failure.message.contains("secret"))
  }

  @Test("A request that cannot be sent does not affect the next one, whatever its URL")
  func afterBadURL() throws {
    let fixture = try ClientFixture()
    let server = try LoopbackServer(fixture.loop) { _ in .bytes(answer("ok")) }
    let line = HTTPRequest.Header("X", .plain("a\nb"))
    for url in ["", "nonsense", server.url] {
      try expectEqual(fixture.response(HTTPRequest(method: .get, url: server.url)).status, 200)
      try expectEqual(fixture.failure(HTTPRequest(method: .get, url: url, headers: [line])).kind, .local)
      try expectEqual(fixture.failure(HTTPRequest(method: .get, url: "")).kind, .local)
    }
    try expectEqual(fixture.response(HTTPRequest(method: .get, url: server.url)).status, 200)
  }

  @Test("Plain HTTP is rejected unless it is allowed")
  func plainHTTP() throws {
    let fixture = try ClientFixture { $0.allowsPlainHTTP = false }
    let server = try LoopbackServer(fixture.loop) { _ in .bytes(answer("ok")) }
    try expectEqual(fixture.failure(HTTPRequest(method: .get, url: server.url)).kind, .local)
    expectEqual(server.accepted, 0)
  }

  @Test(
    "A line break or NUL in a header is rejected: it could inject another header",
    arguments: ["a\r\nX: y", "a\nb", "\0"])
  func headerInjection(value: String) throws {
    let fixture = try ClientFixture()
    let server = try LoopbackServer(fixture.loop) { _ in .bytes(answer("ok")) }
    let secret = HTTPRequest.Header("Authorization", .secret(prefix: "Bearer ", Secret(value)))
    let failure = try fixture.failure(HTTPRequest(method: .get, url: server.url, headers: [secret]))
    expectEqual(failure.kind, .local)
    expect(failure.message.contains("Authorization"))
    let name = HTTPRequest.Header(value, .plain("v"))
    try expectEqual(fixture.failure(HTTPRequest(method: .get, url: server.url, headers: [name])).kind, .local)
    expectEqual(server.accepted, 0)
  }

  @Test("A CA file that cannot be read causes a local failure that names the file")
  func missingCAFile() throws {
    let fixture = try ClientFixture { $0.caFile = "/no/such/ca.pem" }
    let server = try LoopbackServer(fixture.loop) { _ in .silence }
    let failure = try fixture.failure(HTTPRequest(method: .get, url: "https://127.0.0.1:\(server.port)"))
    expectEqual(failure.kind, .local, "\(failure)")
    expect(failure.message.contains("/no/such/ca.pem"))
  }
}
