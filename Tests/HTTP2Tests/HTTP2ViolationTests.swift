// SPDX-License-Identifier: Apache-2.0
import Expectations
import HTTPMessages
import Testing
import Timekeeping

@testable import HTTP2

/// Protocol violations by a server, and their effects.
struct HTTP2ViolationTests {
  private static let violations: [(HTTP2Violation, [UInt8])] = {
    var server = ScriptedServer()
    let status = server.block([(":status", "200")])
    typealias S = ScriptedServer
    return [
      (.frameTooLong, [0, 0x40, 1, 0, 0, 0, 0, 0, 1]),
      (.frameLength, S.frame(6, 0, 0, [1, 2, 3])),
      (.frameLength, S.frame(4, 0, 0, [1, 2, 3])),
      (.frameLength, S.frame(4, 1, 0, [1, 2, 3, 4, 5, 6])),
      (.frameLength, S.frame(3, 0, 1, [1])),
      (.frameLength, S.frame(8, 0, 1, [1])),
      (.frameLength, S.frame(2, 0, 1, [1])),
      (.frameLength, S.frame(7, 0, 0, [1, 2, 3])),
      (.frameLength, S.frame(1, 0x24, 1, [0, 0])),
      (.frameStream, S.frame(0, 0, 0, [1])),
      (.frameStream, S.frame(1, 4, 0, status)),
      (.frameStream, S.frame(3, 0, 0, [0, 0, 0, 1])),
      (.frameStream, S.frame(2, 0, 0, [0, 0, 0, 0, 1])),
      (.frameStream, S.frame(4, 0, 1)),
      (.frameStream, S.frame(6, 0, 1, [UInt8](repeating: 0, count: 8))),
      (.frameStream, S.frame(7, 0, 1, [UInt8](repeating: 0, count: 8))),
      (.padding, S.frame(0, 8, 1, [5, 1, 2])),
      (.padding, S.frame(0, 8, 1)),
      (.padding, S.frame(1, 0xC, 1, [9] + status)),
      (.compression, S.frame(1, 4, 1, [0x80])),
      (.continuation, S.frame(9, 4, 1, status)),
      (.continuation, S.frame(1, 0, 1, status) + S.ping()),
      (.continuation, S.frame(1, 0, 1, status) + S.frame(9, 4, 3, [])),
      (
        .headerBlockTooLong,
        S.frame(1, 0, 1, []) + (0..<5).flatMap { _ in S.frame(9, 0, 1, [UInt8](repeating: 0x82, count: 16_384)) }
      ),
      (.idleStream, S.frame(0, 1, 3, [1])),
      (.idleStream, S.frame(1, 5, 2, status)),
      (.idleStream, S.windowUpdate(5, 1)),
      (.setting, S.settings([(2, 1)])),
      (.setting, S.settings([(5, 100)])),
      (.setting, S.settings([(5, 0x100_0000)])),
      (.flowControl, S.settings([(4, 0x8000_0000)])),
      (.flowControl, S.windowUpdate(0, 0x7FFF_FFFF)),
      (.emptyWindowUpdate, S.windowUpdate(0, 0)),
      (.push, S.frame(5, 4, 1, [0, 0, 0, 2] + status)),
      (.goAwayRises, S.goAway(last: 1) + S.goAway(last: 3)),
      (.flood, (0...200).flatMap { _ in S.ping() }),
      (.flood, (0...200).flatMap { _ in S.settings() }),
      (.flood, S.frame(1, 4, 1, status) + (0...200).flatMap { _ in S.frame(0, 0, 1) }),
      (.flood, (0...200).flatMap { _ in S.frame(0x42, 0, 1) }),
      (.flood, (0...200).flatMap { _ in S.windowUpdate(0, 1) }),
      // The window of the stream stays at zero, so that the body waits.
      (.flood, S.settings([(4, 0)]) + (0...200).flatMap { _ in S.windowUpdate(0, 1) }),
      (.flood, S.frame(1, 0, 1) + (0...200).flatMap { _ in S.frame(9, 0, 1) }),
      (.flood, (0...200).flatMap { _ in S.frame(1, 4, 1, [0x48, 3, 0x31, 0x30, 0x30]) }),
    ]
  }()

  @Test(
    "a violation closes the connection with its error code, and the request's failure names the violation",
    arguments: violations)
  func ofConnection(violation: HTTP2Violation, bytes: [UInt8]) {
    let transcript = Transcript()
    transcript.send()
    transcript.receive(bytes)
    expectEqual(transcript.failures, [.violation(violation)])
    expect(transcript.lines.contains("GOAWAY \(violation.code.name)"))
    expectEqual(transcript.lines.last, "close")
    expectEqual(transcript.failures.first?.kind, .broken)
  }

  @Test(
    "while no request is in flight, a violation closes the connection, and no failure is reported",
    arguments: violations)
  func idle(violation: HTTP2Violation, bytes: [UInt8]) {
    // Without a request, a frame for stream 1 is a violation already, because the stream is idle.
    let transcript = Transcript()
    transcript.receive(bytes)
    expect(transcript.failures.isEmpty)
    if violation != .goAwayRises { expectEqual(transcript.lines.last, "close") }
  }

  @Test(
    "a server that does not begin with SETTINGS is reported as not speaking HTTP/2",
    arguments: [
      Array("HTTP/1.1 400 Bad Request\r\n\r\n".utf8), ScriptedServer.ping(), ScriptedServer.settingsAcknowledgement,
      ScriptedServer.frame(1, 4, 1, [0x88]),
    ])
  func noPreface(bytes: [UInt8]) {
    let transcript = Transcript(connection: HTTP2Connection(userAgent: "test", idleTimeout: .seconds(100)))
    transcript.handle(.connected)
    transcript.send()
    transcript.receive(bytes)
    expectEqual(transcript.failures, [.violation(.noPreface)])
    expectEqual(transcript.failures.first?.kind, .malformed)
  }

  @Test(
    "a response with invalid header fields fails its request, and the connection stays usable",
    arguments: [
      [("content-type", "x")], [(":status", "2000")], [(":status", "abc")], [(":status", "101")], [(":status", "099")],
      [(":status", "200"), (":status", "200")], [("a", "b"), (":status", "200")], [(":status", "200"), (":path", "/")],
      [(":status", "200"), ("Upper", "x")], [(":status", "200"), ("connection", "close")],
      [(":status", "200"), ("transfer-encoding", "chunked")], [(":status", "200"), ("content-length", "-1")],
      [(":status", "200"), ("content-length", "1"), ("content-length", "2")], [(":status", "200"), ("a", "b\0")],
    ])
  func malformedHeads(fields: [(String, String)]) {
    let transcript = Transcript()
    var server = ScriptedServer()
    transcript.send()
    transcript.receive(server.headers(1, fields))
    expectEqual(transcript.failures, [.violation(.message)])
    expectEqual(transcript.failures.first?.kind, .malformed)
    expectEqual(transcript.lines.last, "failed violation(HTTP2.HTTP2Violation.message)")
    expect(transcript.lines.contains("RST_STREAM 1 PROTOCOL_ERROR"))
    transcript.send()
    transcript.receive(server.answer(3))
    expectEqual(transcript.lines.last, "answered 200 {}")
  }

  @Test("a wrong body length, data before HEADERS, invalid trailers and interim HEADERS with END_STREAM are malformed")
  func malformedBodies() {
    var server = ScriptedServer()
    let head = server.headers(1, [(":status", "200"), ("content-length", "5")])
    for bytes in [
      head + ScriptedServer.data(1, "four"), head + ScriptedServer.data(1, "sixsix"), ScriptedServer.data(1, "{}"),
      head + ScriptedServer.frame(1, 4, 1, [0x88]), head + ScriptedServer.frame(1, 5, 1, [0x88]),
      ScriptedServer.frame(1, 5, 1, [0x48, 3, 0x31, 0x30, 0x30]),
    ] {
      let transcript = Transcript()
      transcript.send()
      transcript.receive(bytes)
      expectEqual(transcript.failures, [.violation(.message)])
    }
  }

  @Test("more data than the window allows closes the connection")
  func overrun() {
    let transcript = Transcript()
    var server = ScriptedServer()
    transcript.send(Transcript.request(maximumSize: 10_000_000))
    transcript.receive(server.headers(1))
    // Windows are widened as data arrives, so only a single frame can exceed them.
    transcript.connection.receiveWindow = 100
    transcript.receive(ScriptedServer.data(1, String(repeating: "x", count: 101), isLast: false))
    expectEqual(transcript.failures, [.violation(.flowControl)])
  }

  @Test("one PING each second for an hour, or a hundred with each response, are not treated as a flood")
  func steadyPings() {
    let transcript = Transcript(connection: HTTP2Connection(userAgent: "test", idleTimeout: .seconds(10_000)))
    transcript.handle(.connected)
    transcript.receive(ScriptedServer.settings())
    for _ in 0..<3600 {
      transcript.now = transcript.now + .seconds(1)
      transcript.receive(ScriptedServer.ping())
    }
    var server = ScriptedServer()
    for stream in stride(from: UInt32(1), to: 40, by: 2) {
      transcript.now = transcript.now + .seconds(1)
      transcript.send()
      for _ in 0..<100 { transcript.receive(ScriptedServer.ping()) }
      transcript.receive(server.answer(stream))
    }
    expectEqual(transcript.responses.count, 20)
    expect(transcript.failures.isEmpty)
  }

  @Test(
    "window updates that allow no more of the pending body to be sent count as a flood, on the connection or the stream"
  )
  func uselessWindowUpdates() {
    for isOfConnection in [true, false] {
      // Only one of the two windows is exhausted.
      let transcript = Transcript(settings: [(4, isOfConnection ? 0 : 1_000_000)])
      transcript.send(Transcript.request(String(repeating: "x", count: 70_000)))
      _ = transcript.takeLines()
      let update = ScriptedServer.windowUpdate(isOfConnection ? 0 : 1, 1)
      for _ in 0..<190 { transcript.receive(update) }
      expect(transcript.failures.isEmpty)
      for _ in 0..<20 { transcript.receive(update) }
      expectEqual(transcript.failures, [.violation(.flood)])
      expect(!transcript.lines.contains { $0.hasPrefix("DATA") })
    }
  }

  // MARK: - Any split of the input

  private static func conversation(_ random: inout SplitMix64) -> [UInt8] {
    var server = ScriptedServer()
    var bytes: [UInt8] = []
    let wrong = violations
    for _ in 0..<(1 + random.next() % 12) {
      switch random.next() % 12 {
      case 0: bytes += ScriptedServer.ping()
      case 1: bytes += ScriptedServer.settings([(UInt16(random.next() % 7), UInt32(random.next() % 70_000))])
      case 2: bytes += server.headers(1, [(":status", "\(100 + random.next() % 500)")])
      case 3: bytes += ScriptedServer.data(1, "{}", isLast: random.next() % 2 == 0)
      case 4: bytes += server.answer(1)
      case 5: bytes += ScriptedServer.goAway(last: UInt32(random.next() % 3), .noError)
      case 6: bytes += ScriptedServer.reset(1, UInt32(random.next() % 16))
      case 7: bytes += ScriptedServer.windowUpdate(UInt32(random.next() % 2), UInt32(random.next() % 5))
      case 8: bytes += wrong[Int(random.next() % UInt64(wrong.count))].1
      case 9: bytes += (0..<(random.next() % 40)).map { _ in UInt8(truncatingIfNeeded: random.next()) }
      default:
        bytes += ScriptedServer.frame(
          UInt8(random.next() % 12), UInt8(random.next() % 64), UInt32(random.next() % 3), [0, 1])
      }
    }
    return bytes
  }

  @Test("however the input is split, the result is the same, and a request ends once", arguments: 0..<300)
  func cutting(seed: Int) {
    var random = SplitMix64(seed: UInt64(seed))
    let bytes = HTTP2ViolationTests.conversation(&random)
    let whole = Transcript()
    whole.send()
    whole.receive(bytes)
    let pieces = Transcript()
    pieces.send()
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = 1 + Int(random.next() % 30)
      pieces.receive(Array(rest.prefix(count)))
      rest = rest.dropFirst(count)
    }
    expectEqual(pieces.sent, whole.sent)
    expectEqual(pieces.failures, whole.failures)
    expectEqual(pieces.responses, whole.responses)
    whole.handle(.ended("over"))
    expectEqual(whole.failures.count + whole.responses.count, 1)
    expectEqual(whole.lines.last, "close")
  }
}
