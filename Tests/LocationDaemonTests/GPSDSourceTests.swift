// SPDX-License-Identifier: Apache-2.0
import Expectations
import Positioning
import GPSDTesting
import EventLoop
import LoopTesting
import FixSources
import Testing
import Timekeeping

@testable import LocationDaemon

struct GPSDSourceTests {
  private func source(
    _ loop: EventLoop, _ port: Int, _ log: SourceLog, host: String = "127.0.0.1", device: String? = nil,
    silence: Duration = .seconds(10)
  ) throws -> SourceRig {
    let session = GPSDSession(address: "\(host):\(port)", device: device, silenceTimeout: silence, seed: 1)
    return try SourceRig(loop, session) {
      ConnectionLine(.gpsd, loop: loop, host: host, port: port, handlers: $0)
    } report: {
      log.append($0)
    }
  }

  @Test(
    "fixes are received from a gpsd configured by IP address or host name", arguments: ["127.0.0.1", "localhost"])
  func fixes(host: String) throws {
    let loop = try EventLoop()
    let server = try FakeGPSD(loop)
    server.greeting = GPSDTranscript.greeting + [GPSDTranscript.tpv("/dev/a", 1)]
    let log = SourceLog()
    let source = try source(loop, server.port, log, host: host)
    try source.start()
    expect(try loop.runs { log.fixes.count == 1 })
    server.say([GPSDTranscript.tpv("/dev/a", 2)])
    expect(try loop.runs { log.fixes.count == 2 })
    expectEqual(log.fixes.map(\.coordinate.latitude), [1, 2])
    expectEqual(log.reading, ["gpsd at \(host):\(server.port), receiver /dev/a, NMEA0183"])
    expect(log.lost.isEmpty)
    expectEqual(server.commands, "?WATCH={\"enable\":true,\"json\":true};\n")
    expect(source.nextDeadline != nil)
    source.stop()
    expectNil(source.nextDeadline)
  }

  @Test("after gpsd has stopped and restarted, fixes are received again")
  func restart() throws {
    let loop = try EventLoop()
    var server: FakeGPSD? = try FakeGPSD(loop)
    let port = try #require(server?.port)
    server?.greeting = [GPSDTranscript.tpv("/dev/a", 1)]
    let log = SourceLog()
    let source = try source(loop, port, log)
    try source.start()
    expect(try loop.runs { log.fixes.count == 1 })
    server = nil
    expect(try loop.runs { log.lost.count == 2 })
    expectEqual(log.lost.first?.contains("closed by the other side"), true)
    expectEqual(log.lost.last?.contains("127.0.0.1:\(port): Connection refused; check that gpsd runs there"), true)
    server = try FakeGPSD(loop, port: port)
    server?.greeting = [GPSDTranscript.tpv("/dev/a", 2)]
    expect(try loop.runs { log.fixes.count == 2 })
    expectEqual(log.reading.count, 2)
    source.stop()
  }

  @Test("the connection to a silent gpsd is closed and opened again")
  func silence() throws {
    let loop = try EventLoop()
    let server = try FakeGPSD(loop)
    let log = SourceLog()
    let source = try source(loop, server.port, log, silence: .milliseconds(100))
    try source.start()
    expect(try loop.runs { log.lost.count == 1 })
    expectEqual(log.lost.first?.contains("sends nothing"), true)
    server.greeting = [GPSDTranscript.tpv("/dev/a", 1)]
    expect(try loop.runs { log.fixes.count == 1 })
    // On a slow machine, a connection may be silent for too long before it is greeted.
    expect(server.accepted >= 2)
    source.stop()
  }

  @Test("an unknown host name is reported")
  func unknownName() throws {
    let loop = try EventLoop()
    let log = SourceLog()
    // RFC 6761: no name under .invalid exists. Without a network, the lookup fails as well.
    let source = try source(loop, 2947, log, host: "gpsd.invalid")
    try source.start()
    expect(try loop.runs { log.lost.count == 1 })
    let message = try #require(log.lost.first)
    expect(message.contains("gpsd.invalid:2947"))
    expect(message.contains("cannot be looked up") || message.contains("no response"), "\(message)")
    source.stop()
  }

  @Test("a source that is stopped at any moment reports no more fixes", arguments: 0..<4)
  func stopped(turns: Int) throws {
    let loop = try EventLoop()
    let server = try FakeGPSD(loop)
    server.greeting = [GPSDTranscript.tpv("/dev/a", 1)]
    let log = SourceLog()
    let source = try source(loop, server.port, log)
    try source.start()
    for _ in 0..<turns { _ = try loop.runOnce(timeout: .milliseconds(100)) }
    source.stop()
    let fixes = log.fixes.count
    server.say([GPSDTranscript.tpv("/dev/a", 2)])
    try loop.runUntilIdle()
    expectEqual(log.fixes.count, fixes)
  }

  /// Reports the size of each read, and waits alternately for a hundred bytes and for a single byte.
  private struct Waiting: ElapsedTimeSession {
    var nextDeadline: BootInstant? { nil }

    mutating func handle(_ input: SourceInput, at now: BootInstant) -> [SourceEffect] {
      switch input {
      case .start: [.line(.open())]
      case .opened: [.line(.send(Array("?\n".utf8))), .line(.awaitBytes(100))]
      case .ended(let why): [.report(.lost(why))]
      default: []
      }
    }

    mutating func receive(_ bytes: Span<UInt8>, from sender: SourceSender, at now: Moment) -> [SourceEffect] {
      [.report(.reading("\(bytes.count)")), .line(.awaitBytes(bytes.count >= 100 ? 1 : 100))]
    }
  }

  @Test("a connection with a low-water mark is read when enough bytes have arrived, or when the connection ends")
  func waiting() throws {
    let loop = try EventLoop()
    let server = try FakeGPSD(loop)
    let log = SourceLog()
    let source = try SourceRig(loop, Waiting()) {
      ConnectionLine(.gpsd, loop: loop, host: "127.0.0.1", port: server.port, handlers: $0)
    } report: {
      log.append($0)
    }
    try source.start()
    expect(try loop.runs { !server.commands.isEmpty })
    let line = String(repeating: "x", count: 48)
    server.say([line])
    try loop.runUntilIdle()
    expectEqual(log.reading, [])
    server.say([line])
    expect(try loop.runs { log.reading == ["100"] })
    server.say([line])
    expect(try loop.runs { log.reading == ["100", "50"] })
    server.say([line])
    try loop.runUntilIdle()
    expectEqual(log.reading.count, 2)
    server.dropClients()
    expect(try loop.runs { log.lost.count == 1 })
    expectEqual(log.reading, ["100", "50", "50"])
    source.stop()
  }
}
