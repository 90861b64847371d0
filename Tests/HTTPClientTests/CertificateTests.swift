// SPDX-License-Identifier: Apache-2.0
import EventLoop
import Expectations
import FileTesting
import Glibc
import HTTPClient
import HTTPMessages
import LoopTesting
import Testing
import Timekeeping

/// The verification of certificates, with OpenSSL's server.
@Suite(.enabled(if: access("/usr/bin/openssl", X_OK) == 0, "needs the openssl program"))
struct CertificateTests {
  @Test(
    "A certificate of a trusted issuer for the right host is accepted")
  func trusted() throws {
    let server = try TLSServer(name: "localhost")
    let fixture = try ClientFixture {
      $0.caFile = server.certificateFile
      $0.allowsPlainHTTP = false
    }
    try expectEqual(fixture.response(server.request).status, 200)
  }

  @Test("A certificate of an unknown issuer is reported as untrusted")
  func unknownIssuer() throws {
    let server = try TLSServer(name: "localhost")
    let failure = try ClientFixture().failure(server.request)
    expectEqual(failure.kind, .certificateUntrusted, "\(failure)")
    expect(failure.message.hasPrefix("localhost:\(server.port): "))
  }

  @Test("A replaced CA file applies to the next connection", arguments: HTTPTransport.allCases)
  func replacedAuthority(transport: HTTPTransport) throws {
    let (server, other) = (try TLSServer(name: "localhost"), try TLSServer(name: "localhost"))
    let directory = try TemporaryDirectory()
    let authority = directory("ca.pem")
    try #require(symlink(other.certificateFile, authority) == 0)
    let fixture = try ClientFixture {
      $0.caFile = authority
      $0.transport = transport
    }
    try expectEqual(fixture.failure(server.request).kind, .certificateUntrusted)
    try #require(unlink(authority) == 0 && symlink(server.certificateFile, authority) == 0)
    try expectEqual(fixture.response(server.request).status, 200)
  }

  @Test(
    "A replaced CA file applies even if the previous TLS session could be resumed", arguments: HTTPTransport.allCases)
  func replacedAuthorityAfterSession(transport: HTTPTransport) throws {
    let (server, other) = (try TLSServer(name: "localhost"), try TLSServer(name: "localhost"))
    let directory = try TemporaryDirectory()
    let authority = directory("ca.pem")
    try #require(symlink(server.certificateFile, authority) == 0)
    let fixture = try ClientFixture {
      $0.caFile = authority
      $0.transport = transport
    }
    for _ in 0..<2 {
      try expectEqual(fixture.response(server.request).status, 200)
      fixture.client.dropConnections()
    }
    try #require(unlink(authority) == 0 && symlink(other.certificateFile, authority) == 0)
    try expectEqual(fixture.failure(server.request).kind, .certificateUntrusted)
  }

  @Test("A request does not join a connection whose certificate is being verified for another time")
  func connectsAheadAtAnotherTime() throws {
    let server = try TLSServer(name: "localhost")
    let fixture = try ClientFixture { $0.caFile = server.certificateFile }
    let now = fixture.loop.now.wall
    // Before the certificate was issued, as on a box whose clock has started again.
    fixture.client.connect(to: server.request.url, certificateTime: now - .seconds(400 * 86_400))
    var request = server.request
    request.certificateTime = now
    try expectEqual(fixture.response(request).status, 200)
  }

  @Test("A certificate for another host is reported as untrusted")
  func wrongHost() throws {
    let server = try TLSServer(name: "fleetengine.googleapis.com")
    let failure = try ClientFixture { $0.caFile = server.certificateFile }.failure(server.request)
    expectEqual(failure.kind, .certificateUntrusted, "\(failure)")
  }

  @Test(
    "The request's time of verification decides whether a certificate is not yet valid, valid or expired",
    arguments: [
      (-400, TransportFailure.Kind.certificateNotYetValid), (1, nil), (400, .certificateExpired),
    ] as [(Int64, TransportFailure.Kind?)])
  func certificateTime(days: Int64, kind: TransportFailure.Kind?) throws {
    let server = try TLSServer(name: "localhost")
    let fixture = try ClientFixture { $0.caFile = server.certificateFile }
    var request = server.request
    request.certificateTime = fixture.loop.now.wall + .seconds(days * 86_400)
    switch try fixture.outcome(request) {
    case .response(let response):
      expectEqual(response.status, 200)
      expectNil(kind)
    case .failure(let failure):
      expectEqual(failure.kind, kind, "\(failure)")
    }
    // For a request without a time of verification, the clock's time is used again.
    try expectEqual(fixture.response(server.request).status, 200)
  }
}

/// `openssl s_server` with a certificate of its own, valid for ten days from now.
private final class TLSServer {
  let port: Int
  let certificateFile: String
  private let directory: TemporaryDirectory
  private var process: pid_t = 0

  init(name: String) throws {
    directory = try TemporaryDirectory()
    certificateFile = directory("cert.pem")
    let key = directory("key.pem")
    let made = try TLSServer.start(
      [
        "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", key, "-out",
        certificateFile, "-days", "10", "-subj", "/CN=test", "-addext", "subjectAltName=DNS:\(name)",
      ], output: nil)
    var status: Int32 = 0
    try #require(waitpid(made, &status, 0) == made && status == 0)
    var ends: [Int32] = [-1, -1]
    try #require(pipe(&ends) == 0)
    process = try TLSServer.start(
      ["s_server", "-accept", "127.0.0.1:0", "-cert", certificateFile, "-key", key, "-www"], output: ends[1])
    close(ends[1])
    defer { close(ends[0]) }
    port = try #require(TLSServer.readPort(ends[0]))
  }

  isolated deinit {
    if process > 0 {
      kill(process, SIGKILL)
      waitpid(process, nil, 0)
    }
  }

  var request: HTTPRequest { HTTPRequest(method: .get, url: "https://localhost:\(port)/?key=secret") }

  /// Waits for the line `ACCEPT 127.0.0.1:port`.
  private static func readPort(_ descriptor: Int32) -> Int? {
    var text = ""
    var buffer = [UInt8](repeating: 0, count: 512)
    while true {
      let count = read(descriptor, &buffer, buffer.count)
      guard count > 0 else { return nil }
      text += String(decoding: buffer.prefix(count), as: UTF8.self)
      for line in text.split(separator: "\n").dropLast(text.hasSuffix("\n") ? 0 : 1) where line.hasPrefix("ACCEPT") {
        return line.lastIndex(of: ":").flatMap { Int(line[line.index(after: $0)...]) }
      }
    }
  }

  private static func start(_ arguments: [String], output: Int32?) throws -> pid_t {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
    posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0)
    if let output {
      posix_spawn_file_actions_adddup2(&actions, output, 1)
    } else {
      posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0)
    }
    var words: [UnsafeMutablePointer<CChar>?] = [strdup("openssl")]
    for argument in arguments { words.append(strdup(argument)) }
    words.append(nil)
    defer { for word in words { free(word) } }
    var process: pid_t = 0
    try #require(posix_spawn(&process, "/usr/bin/openssl", &actions, nil, &words, environ) == 0)
    return process
  }
}
