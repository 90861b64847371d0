// SPDX-License-Identifier: Apache-2.0
import Expectations
import HTTPMessages
import Testing
import Timekeeping

@testable import HTTP2

/// One connection, frame by frame.
struct HTTP2ConnectionTests {
  @Test("a connection begins with the preface and SETTINGS, and a request does not wait for the server's SETTINGS")
  func beginning() {
    let transcript = Transcript(connection: HTTP2Connection(userAgent: "test", idleTimeout: .seconds(100)))
    var server = ScriptedServer()
    transcript.handle(.connected)
    transcript.send()
    expectEqual(transcript.takeLines(), ["preface", "SETTINGS", "HEADERS 1", "DATA 1 7 END_STREAM"])
    expectEqual(
      transcript.fields,
      [
        ":method: PATCH", ":scheme: https", ":authority: localhost:8443", ":path: /v1/x?m=y", "user-agent: test",
        "authorization: Bearer abc", "content-length: 7",
      ])
    transcript.receive(ScriptedServer.settings() + server.answer(1))
    expectEqual(transcript.takeLines(), ["SETTINGS ACK", "answered 200 {}"])
    expectEqual(transcript.responses.first?.header("Content-Type"), "application/json")
  }

  @Test("requests use consecutive odd streams, and the second header block takes a byte per field")
  func requests() {
    let transcript = Transcript()
    var server = ScriptedServer()
    for (index, stream) in [UInt32(1), 3, 5].enumerated() {
      let before = transcript.sent.count
      transcript.send()
      transcript.receive(server.answer(stream))
      expectEqual(
        transcript.takeLines(), ["HEADERS \(stream)", "DATA \(stream) 7 END_STREAM", "answered 200 {}"])
      if index > 0 { expectEqual(transcript.sent.count - before, 9 + 7 + 9 + 7) }
      expectEqual(transcript.fields.count, 7)
      expect(transcript.canSend())
    }
  }

  @Test("a request without a body ends with its HEADERS")
  func noBody() {
    let transcript = Transcript()
    transcript.send(HTTPRequest(method: .get, url: "https://localhost:8443/v1/x?m=y"))
    expectEqual(transcript.takeLines(), ["HEADERS 1 END_STREAM"])
    expect(!transcript.fields.contains { $0.hasPrefix("content-length") })
  }

  @Test("however a connection ends, the token is wiped from the header table; a wiped connection sends nothing more")
  func wiped() {
    let isWiped = { (transcript: Transcript) in
      let table = transcript.connection.encoder.table
      return table.count > 0 && (0..<table.count).allSatisfy { table[$0]?.value.allSatisfy { $0 == 0 } == true }
    }
    let byOwner = Transcript()
    byOwner.send()
    expect(!isWiped(byOwner))
    byOwner.connection.wipe()
    expect(isWiped(byOwner))
    expect(!byOwner.canSend())
    let byServer = Transcript()
    byServer.send()
    byServer.handle(.ended("gone"))
    expect(isWiped(byServer))
  }

  @Test("a header block that is longer than a frame continues in CONTINUATION frames")
  func longHead() {
    let transcript = Transcript()
    var request = Transcript.request()
    request.headers.append(.init("X-Long", .plain(String(repeating: "~", count: 40_000))))
    transcript.send(request)
    expectEqual(
      transcript.takeLines(), ["HEADERS 1 …", "CONTINUATION 1", "CONTINUATION 1", "DATA 1 7 END_STREAM"])
  }

  @Test("a header list longer than the server accepts is not sent, and the failure is reported")
  func headTooLong() throws {
    let transcript = Transcript(settings: [(6, 100)])
    transcript.send()
    let failure = try #require(transcript.failures.first)
    expect(failure.message.contains("no more than 100 bytes"))
    // Another connection may have a different limit, and the server received nothing.
    expectEqual(failure.kind, .unprocessed)
    expectEqual(transcript.takeLines().count, 1)
    expect(transcript.canSend())
    // The limit also applies to headers that are already in the table.
    let later = Transcript()
    var server = ScriptedServer()
    for stream in [UInt32(1), 3] {
      later.send()
      later.receive(server.answer(stream))
    }
    later.receive(ScriptedServer.settings([(6, 100)]))
    later.send()
    expectEqual(later.failures, transcript.failures)
  }

  @Test(
    "header injection is rejected before anything is sent",
    arguments: [HTTPRequest.Header("a", .plain("b\r\nc: d")), .init("a b", .plain("c")), .init("", .plain("c"))])
  func injection(header: HTTPRequest.Header) {
    let transcript = Transcript()
    var request = Transcript.request()
    request.headers = [header]
    transcript.send(request)
    expectEqual(transcript.failures.map(\.kind), [.local])
    expect(!transcript.lines.contains { $0.hasPrefix("HEADERS") })
  }

  // MARK: - Windows

  @Test("with a stream window of one byte a body is sent byte by byte, and window updates are not treated as a flood")
  func tinyWindow() {
    let transcript = Transcript(settings: [(4, 1)])
    var server = ScriptedServer()
    let body = String(repeating: "x", count: 400)
    transcript.send(Transcript.request(body))
    expectEqual(transcript.takeLines(), ["HEADERS 1", "DATA 1 1"])
    for index in 1..<400 {
      transcript.receive(ScriptedServer.windowUpdate(1, 1))
      expectEqual(transcript.takeLines(), [index == 399 ? "DATA 1 1 END_STREAM" : "DATA 1 1"])
    }
    transcript.receive(server.answer(1))
    expectEqual(transcript.takeLines(), ["answered 200 {}"])
  }

  @Test("if a new setting makes a window negative, nothing is sent until the window is positive again")
  func negativeWindow() {
    let transcript = Transcript(settings: [(4, 10)])
    transcript.send(Transcript.request(String(repeating: "x", count: 20)))
    expectEqual(transcript.takeLines(), ["HEADERS 1", "DATA 1 10"])
    // The window of 10 is used up. The new setting of 4 makes it -6.
    transcript.receive(ScriptedServer.settings([(4, 4)]))
    transcript.receive(ScriptedServer.windowUpdate(1, 6))
    expectEqual(transcript.takeLines(), ["SETTINGS ACK"])
    transcript.receive(ScriptedServer.windowUpdate(1, 3))
    expectEqual(transcript.takeLines(), ["DATA 1 3"])
    transcript.receive(ScriptedServer.settings([(4, 100)]))
    expectEqual(transcript.takeLines(), ["SETTINGS ACK", "DATA 1 7 END_STREAM"])
  }

  @Test("the connection's window limits a body, as the stream's window does")
  func connectionWindow() {
    let transcript = Transcript(settings: [(4, 1_000_000)])
    transcript.send(Transcript.request(String(repeating: "x", count: 70_000)))
    expectEqual(
      transcript.takeLines(),
      [
        "HEADERS 1", "DATA 1 16384", "DATA 1 16384", "DATA 1 16384", "DATA 1 16383",
      ])
    transcript.receive(ScriptedServer.windowUpdate(0, 100_000))
    expectEqual(transcript.takeLines(), ["DATA 1 4465 END_STREAM"])
  }

  @Test("window updates for received data are sent before a window is used up")
  func receiveWindow() {
    let transcript = Transcript()
    var server = ScriptedServer()
    transcript.send()
    _ = transcript.takeLines()
    transcript.receive(server.headers(1))
    let piece = String(repeating: "y", count: 16_000)
    transcript.receive(ScriptedServer.data(1, piece, isLast: false))
    transcript.receive(ScriptedServer.data(1, piece, isLast: false))
    expectEqual(transcript.takeLines(), [])
    transcript.receive(ScriptedServer.data(1, piece, isLast: false))
    expectEqual(transcript.takeLines(), ["WINDOW_UPDATE +48000", "WINDOW_UPDATE 1 +48000"])
    transcript.receive(ScriptedServer.data(1, "", isLast: true))
    expectEqual(transcript.responses.first?.body.count, 48_000)
  }

  @Test("a response that becomes too large is aborted, and the connection stays usable")
  func tooLarge() {
    let transcript = Transcript()
    var server = ScriptedServer()
    transcript.send(Transcript.request(maximumSize: 65_536))
    _ = transcript.takeLines()
    transcript.receive(server.headers(1))
    for _ in 0..<5 where transcript.failures.isEmpty {
      transcript.receive(ScriptedServer.data(1, String(repeating: "y", count: 16_384), isLast: false))
    }
    expectEqual(transcript.failures, [.tooLarge])
    expect(transcript.lines.contains("RST_STREAM 1 CANCEL"))
    transcript.receive(ScriptedServer.data(1, "late", isLast: true))
    _ = transcript.takeLines()
    transcript.send()
    transcript.receive(server.answer(3))
    expectEqual(transcript.takeLines().last, "answered 200 {}")
  }

  @Test("a response whose announced length is too large is aborted at once")
  func announcedTooLarge() {
    let transcript = Transcript()
    var server = ScriptedServer()
    transcript.send(Transcript.request(maximumSize: 100))
    transcript.receive(server.headers(1, [(":status", "200"), ("content-length", "101")]))
    expectEqual(transcript.failures, [.tooLarge])
  }

  // MARK: - Server frames

  @Test("interim responses are skipped, trailers end a response, and padding is removed")
  func shapes() {
    let transcript = Transcript()
    var server = ScriptedServer()
    transcript.send()
    _ = transcript.takeLines()
    let padded = ScriptedServer.frame(0, 8, 1, [3] + Array("{}".utf8) + [0, 0, 0])
    transcript.receive(server.headers(1, [(":status", "103"), ("link", "</x>")]))
    transcript.receive(server.headers(1, [(":status", "200"), ("content-length", "2")]) + padded)
    expectEqual(transcript.takeLines(), [])
    transcript.receive(server.headers(1, [("grpc-status", "0")], isLast: true))
    expectEqual(transcript.takeLines(), ["answered 200 {}"])
    expectNil(transcript.responses.first?.header("link"))
  }

  @Test("a header block with padding, priority and CONTINUATION frames is read as one")
  func continuation() {
    let transcript = Transcript()
    var server = ScriptedServer()
    transcript.send()
    _ = transcript.takeLines()
    let block = server.block([(":status", "404"), ("retry-after", "7")])
    let first: [UInt8] = [2, 0, 0, 0, 0, 15] + block.prefix(1) + [0, 0]
    transcript.receive(
      ScriptedServer.frame(1, 0x28, 1, first) + ScriptedServer.frame(9, 0, 1, [])
        + ScriptedServer.frame(9, 4, 1, Array(block.dropFirst())))
    transcript.receive(ScriptedServer.data(1, "no"))
    expectEqual(transcript.takeLines(), ["answered 404 no"])
    expectEqual(transcript.responses.first?.header("retry-after"), "7")
  }

  @Test("PING is answered with its payload, SETTINGS is acknowledged at any time, and unknown frames are ignored")
  func pings() {
    let transcript = Transcript()
    var server = ScriptedServer()
    transcript.send()
    _ = transcript.takeLines()
    transcript.receive(ScriptedServer.ping(9))
    expectEqual(transcript.sent.suffix(8), [UInt8](repeating: 9, count: 8)[...])
    transcript.receive(ScriptedServer.ping(flags: 1) + ScriptedServer.frame(0x77, 0xFF, 1, [1, 2, 3]))
    transcript.receive(
      ScriptedServer.settings([(0x99, 5), (5, 20_000)]) + ScriptedServer.frame(2, 0, 1, [0, 0, 0, 0, 1]))
    transcript.receive(server.answer(1))
    expectEqual(transcript.takeLines(), ["PING ACK", "SETTINGS ACK", "answered 200 {}"])
  }

  @Test("if the server shrinks the header table to zero during a request, the next request uses no table entry")
  func tableShrinks() {
    let transcript = Transcript()
    var server = ScriptedServer()
    transcript.send()
    transcript.receive(ScriptedServer.settings([(1, 0)]) + server.answer(1))
    transcript.send()
    // The transcript's decoder rejects an entry that its table, now of size 0, cannot have.
    expectEqual(transcript.fields.count, 7)
    transcript.receive(server.answer(3))
    let before = transcript.sent.count
    transcript.send()
    expect(transcript.sent.count - before > 60)
    expectEqual(transcript.fields.count, 7)
  }

  @Test("a request waits while the server allows no streams, and is sent when the server allows them")
  func noStreams() {
    let transcript = Transcript(settings: [(3, 0)])
    transcript.send()
    expectEqual(transcript.takeLines(), [])
    transcript.receive(ScriptedServer.settings([(3, 100)]))
    expectEqual(transcript.takeLines(), ["SETTINGS ACK", "HEADERS 1", "DATA 1 7 END_STREAM"])
  }

  @Test("an error response before the end of the request is used, and the rest of the request is not sent")
  func earlyAnswer() {
    let transcript = Transcript(settings: [(4, 3)])
    var server = ScriptedServer()
    transcript.send()
    transcript.receive(server.headers(1, [(":status", "413")], isLast: true))
    expectEqual(transcript.takeLines(), ["HEADERS 1", "DATA 1 3", "RST_STREAM 1 CANCEL", "answered 413 "])
    transcript.receive(ScriptedServer.reset(1, 0) + ScriptedServer.windowUpdate(1, 5))
    expectEqual(transcript.takeLines(), [])
    expect(transcript.canSend())
  }

  @Test(
    "a 2xx before the end of the request is not an acceptance: the server cannot have read all of the request",
    arguments: ["200", "202", "204", "299"])
  func earlyAcceptance(status: String) {
    for window in [UInt32(0), 3] {
      let transcript = Transcript(settings: [(4, window)])
      var server = ScriptedServer()
      transcript.send()
      transcript.receive(server.headers(1, [(":status", status)]) + ScriptedServer.data(1, "{}"))
      expectEqual(transcript.failures, [.answeredEarly])
      expectEqual(transcript.failures.first?.kind, .answeredEarly)
      expect(transcript.responses.isEmpty)
      expect(transcript.lines.contains("RST_STREAM 1 CANCEL"))
      // The connection is still usable.
      transcript.receive(ScriptedServer.settings([(4, 1000)]))
      transcript.send()
      transcript.receive(server.answer(3))
      expectEqual(transcript.responses.map(\.status), [200])
    }
  }

  // MARK: - Closing

  @Test("after two GOAWAYs, the request in flight is completed before the connection is closed")
  func twoGoAways() {
    let transcript = Transcript()
    var server = ScriptedServer()
    transcript.send()
    _ = transcript.takeLines()
    transcript.receive(ScriptedServer.goAway(last: 0x7FFF_FFFF))
    expect(!transcript.canSend())
    transcript.receive(ScriptedServer.goAway(last: 1))
    expectEqual(transcript.takeLines(), [])
    transcript.receive(server.answer(1))
    expectEqual(transcript.takeLines(), ["answered 200 {}", "close"])
  }

  @Test("a request above the last stream of a GOAWAY was not processed, and may be sent again")
  func goAwayBelow() {
    let transcript = Transcript()
    transcript.send()
    _ = transcript.takeLines()
    transcript.receive(ScriptedServer.goAway(last: 0x7FFF_FFFF) + ScriptedServer.goAway(last: 0))
    expectEqual(transcript.takeLines(), ["failed unprocessed", "close"])
    expectEqual(transcript.failures.map(\.kind), [.unprocessed])
  }

  @Test("a GOAWAY while no request is in flight closes the connection")
  func goAwayIdle() {
    let transcript = Transcript()
    transcript.receive(ScriptedServer.goAway(last: 0))
    expectEqual(transcript.takeLines(), ["close"])
  }

  @Test("if the connection closes after a GOAWAY with an error, the request fails with that error")
  func goAwayError() {
    let transcript = Transcript()
    transcript.send()
    transcript.receive(ScriptedServer.goAway(last: 1, .internalError))
    transcript.handle(.ended("closed"))
    expectEqual(transcript.failures, [.goAway(.internalError)])
  }

  @Test(
    "a reset stream is reported with the category of its error code, and the connection stays usable",
    arguments: [
      (HTTP2ErrorCode.refusedStream, TransportFailure.Kind.unprocessed), (.internalError, .broken), (.cancel, .broken),
      (.noError, .broken), (.enhanceYourCalm, .throttled), (.http11Required, .malformed),
      (.inadequateSecurity, .handshakeFailed),
    ])
  func resets(code: HTTP2ErrorCode, kind: TransportFailure.Kind) {
    let transcript = Transcript()
    var server = ScriptedServer()
    transcript.send()
    transcript.receive(server.headers(1))
    transcript.receive(ScriptedServer.reset(1, code.rawValue))
    expectEqual(transcript.failures.map(\.kind), [kind])
    expect(transcript.canSend())
    _ = transcript.takeLines()
    transcript.send()
    transcript.receive(server.answer(3))
    expectEqual(transcript.takeLines().last, "answered 200 {}")
  }

  @Test("a reset with an unknown error code fails the request")
  func unknownCode() {
    let transcript = Transcript()
    transcript.send()
    transcript.receive(ScriptedServer.reset(1, 0xDEAD))
    expectEqual(transcript.failures, [.reset(nil)])
  }

  @Test("a GOAWAY with ENHANCE_YOUR_CALM is reported as throttled")
  func calm() {
    let transcript = Transcript()
    transcript.send()
    transcript.receive(ScriptedServer.goAway(last: 0, .enhanceYourCalm))
    expectEqual(transcript.failures.map(\.kind), [.throttled])
  }

  @Test("a request that reaches its deadline closes the connection, because the path is probably dead")
  func deadline() {
    let transcript = Transcript()
    transcript.send()
    _ = transcript.takeLines()
    expectEqual(transcript.nextDeadline, transcript.now + .seconds(15))
    transcript.now = transcript.now + .seconds(15)
    transcript.handle(.deadline)
    expectEqual(transcript.takeLines(), ["failed timedOut", "close"])
    expectNil(transcript.nextDeadline)
    transcript.receive(ScriptedServer.ping())
    expectEqual(transcript.takeLines(), [])
  }

  @Test("a server that is silent for ten seconds after the handshake is reported as silent, and its connection closed")
  func noSettings() {
    for isBusy in [false, true] {
      let transcript = Transcript(connection: HTTP2Connection(userAgent: "test", idleTimeout: .seconds(100)))
      transcript.handle(.connected)
      if isBusy { transcript.send() }
      _ = transcript.takeLines()
      expectEqual(transcript.nextDeadline, transcript.now + .seconds(10))
      transcript.now = transcript.now + .seconds(10)
      transcript.handle(.deadline)
      expectEqual(transcript.lines.last, "close")
      let failures: [HTTP2Failure] = isBusy ? [.ended("no response from the server after the TLS handshake")] : []
      expectEqual(transcript.failures, failures)
      expect(transcript.failures.allSatisfy { $0.kind == .broken })
    }
  }

  @Test("a closed connection fails the request; without a request there is no failure")
  func connectionEnds() {
    let transcript = Transcript()
    transcript.send()
    transcript.handle(.ended("closed by the server"))
    expectEqual(transcript.failures, [.ended("closed by the server")])
    expectEqual(transcript.failures.first?.kind, .broken)
    let idle = Transcript()
    idle.handle(.ended("closed by the server"))
    expectEqual(idle.takeLines(), ["close"])
  }

  @Test(
    "a reused connection that closes without a byte of the response was probably dead: the request may be sent again")
  func reusedConnectionEnds() {
    let (dead, answered) = (Transcript(), Transcript())
    var server = ScriptedServer()
    for transcript in [dead, answered] {
      server = ScriptedServer()
      transcript.send()
      transcript.receive(server.answer(1))
      transcript.send()
    }
    dead.handle(.ended("reset"))
    expectEqual(dead.failures, [.lost("reset")])
    expectEqual(dead.failures.map(\.kind), [.unanswered])
    answered.receive(server.headers(3))
    answered.handle(.ended("reset"))
    expectEqual(answered.failures.map(\.kind), [.broken])
  }

  @Test("a cancelled request is reset, and later frames for it are ignored")
  func cancelled() {
    let transcript = Transcript()
    var server = ScriptedServer()
    transcript.send()
    _ = transcript.takeLines()
    transcript.handle(.cancel)
    expectEqual(transcript.takeLines(), ["RST_STREAM 1 CANCEL"])
    transcript.receive(server.answer(1))
    transcript.send()
    transcript.receive(server.answer(3))
    expectEqual(transcript.takeLines(), ["HEADERS 3", "DATA 3 7 END_STREAM", "answered 200 {}"])
  }

  @Test("a connection is not reused after the idle timeout, which begins with the last request or response")
  func idle() {
    let transcript = Transcript()
    var server = ScriptedServer()
    func expectIdleTime(_ event: String) {
      expect(transcript.canSend(after: .seconds(99)), "\(event)")
      expect(!transcript.canSend(after: .seconds(100)), "\(event)")
    }
    expectIdleTime("connected")
    transcript.now = transcript.now + .seconds(60)
    transcript.send()
    transcript.handle(.cancel)
    expectIdleTime("sent")
    transcript.now = transcript.now + .seconds(60)
    transcript.send()
    transcript.now = transcript.now + .seconds(10)
    transcript.receive(server.answer(3))
    expectIdleTime("answered")
  }
}
