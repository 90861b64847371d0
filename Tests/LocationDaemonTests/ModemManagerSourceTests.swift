// SPDX-License-Identifier: Apache-2.0
import EventLoop
import Expectations
import FileTesting
import Foundation
import Glibc
import LoopTesting
import FixSources
import Testing
import Timekeeping

@testable import LocationDaemon

/// A modem source without a D-Bus system bus, or with one that closes the connection; Tests/Interop tests it with
/// ModemManager.
struct ModemManagerSourceTests {
  private func source(_ loop: EventLoop, _ path: String, _ log: SourceLog) throws -> SourceRig {
    let session = ModemSession(selection: ModemSelection(), silenceTimeout: .seconds(10), seed: 1)
    return try SourceRig(loop, session) {
      ModemManagerLine(loop: loop, bus: "unix:path=\(path)", handlers: $0)
    } report: {
      log.append($0)
    }
  }

  private let directory: TemporaryDirectory
  private var path: String { directory("bus") }

  init() throws {
    directory = try TemporaryDirectory()
  }

  @Test("a missing D-Bus system bus is reported, and the connection is retried")
  func absent() throws {
    let loop = try EventLoop()
    let log = SourceLog()
    let source = try source(loop, path, log)
    try source.start()
    expect(try loop.runs { !log.lost.isEmpty })
    expectEqual(log.lost, ["ModemManager cannot be reached without the D-Bus system bus: systemctl status dbus"])
    expect(source.nextDeadline != nil)
    source.stop()
    expect(source.nextDeadline == nil && log.count == log.lost.count)
  }

  @Test(
    "a closed bus connection is reported, and a stopped source reports nothing more", arguments: [false, true])
  func closed(isStopped: Bool) throws {
    let loop = try EventLoop()
    let listener = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | O_CLOEXEC, 0)
    defer { close(listener) }
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
    let isListening = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(listener, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0 && listen(listener, 8) == 0
      }
    }
    try #require(isListening)
    let log = SourceLog()
    let source = try source(loop, path, log)
    try source.start()
    try loop.runUntilIdle()
    expect(log.lost.isEmpty)
    // The connection is established; nothing has been reported yet.
    close(accept(listener, nil, nil))
    if isStopped {
      source.stop()
      try loop.runUntilIdle()
      expect(log.lost.isEmpty)
    } else {
      expect(try loop.runs { log.lost.last?.contains("closed the connection") == true })
      expect(source.nextDeadline != nil)
      source.stop()
    }
    expectEqual(log.count, log.lost.count)
  }
}
