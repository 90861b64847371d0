// SPDX-License-Identifier: Apache-2.0
import Expectations
import FileTesting
import Foundation
import Glibc
import Testing

/// Queued positions survive the end of the process, by SIGTERM or SIGKILL.
struct DurableBacklogTests {
  private static let outage = #"{"target": "update", "reset": true, "for_ms": 3600000}"#

  /// A vehicle whose backlog is on disk, and its state directory.
  private func vehicle(commitInterval: String = "200ms") throws -> (TestBench, LiveTrack, state: String) {
    let bench = try TestBench()
    let track = LiveTrack(try bench.receiver())
    bench.settings["backlog.commit_interval"] = "\"\(commitInterval)\""
    bench.settings["backlog.batch"] = "20"
    return (bench, track, bench.directory("state"))
  }

  /// Starts the daemon with the directories that its unit sets, and waits until it has a fix.
  private func start(_ bench: TestBench, _ track: LiveTrack, _ state: String) throws -> Daemon {
    try track.replug()
    let daemon = try bench.start(
      reading: track.receiver,
      environment: [
        "STATE_DIRECTORY": state, "RUNTIME_DIRECTORY": bench.directory.path, "WATCHDOG_USEC": "100000",
      ])
    track.sendFirst()
    try bench.wait("a fix") { daemon.logs("First fix") }
    return daemon
  }

  /// Drives until `isOver`, which gets the number of positions that must be on disk by now.
  ///
  /// The time is measured in the daemon's watchdog pings, at least 50 ms apart, so that only time counts in which it
  /// ran. A position is read within 100 ms, is complete within 160 ms of silence, and is committed within 200 ms. At a
  /// ping all that was due before the previous one has been done, so these take at most 3, 5 and 5 pings.
  @discardableResult
  private func drive(_ bench: TestBench, _ track: LiveTrack, until isOver: (Int) -> Bool) throws -> Int {
    let notifications = try #require(bench.daemon).notifications
    // The number of positions that had been sent when this number of pings had arrived.
    var sent: [Int: Int] = [:]
    var stored = 0
    try bench.wait("the drive") {
      track.pump()
      // Only pings from after the positions may count for them.
      notifications.drain()
      let pings = notifications.count(of: "WATCHDOG")
      sent[pings] = track.sent.count
      stored = sent.filter { $0.key + 14 <= pings }.values.max() ?? 0
      return isOver(stored)
    }
    return stored
  }

  private func kill(_ daemon: Daemon, in bench: TestBench) throws {
    daemon.process.signal(SIGKILL)
    try expectEqual(bench.exitCode(), 128 + SIGKILL)
  }

  /// The result of SQLite's integrity check of a copy of the file and its write-ahead log.
  private func integrity(of state: String, in bench: TestBench) throws -> String {
    let copy = bench.directory("copy")
    try? FileManager.default.removeItem(atPath: copy)
    try FileManager.default.copyItem(atPath: state, toPath: copy)
    let shell = try ChildProcess("/usr/bin/sqlite3", ["\(copy)/backlog.sqlite", "PRAGMA integrity_check"])
    try shell.finish()
    return shell.output.lines.joined() + shell.errors.text
  }

  /// The positions' times in milliseconds, so that times compare equal after they were formatted and parsed.
  private func stamps(_ positions: some Sequence<Emulator.Position>) -> [Int64] {
    positions.map { Int64(($0.time.timeIntervalSince1970 * 1000).rounded()) }
  }

  private func stamp(_ date: Date) -> Int64 { Int64((date.timeIntervalSince1970 * 1000).rounded()) }

  @Test("positions that were queued in an outage survive SIGKILL, and are sent in order as past locations")
  func survivesKill() throws {
    let (bench, track, state) = try vehicle()
    var daemon = try start(bench, track, state)
    try bench.wait("an update") {
      track.pump()
      return bench.emulator?.accepted.isEmpty == false
    }
    try bench.emulator?.fault(Self.outage)
    let stored = try drive(bench, track) { $0 > 20 }
    let before = track.sent.prefix(stored)
    let text = try bench.control("status").output.text
    expect(text.contains("on disk ("), "\(text)")
    expect(!text.contains("Backlog       0"))
    try kill(daemon, in: bench)
    try expectEqual(integrity(of: state, in: bench), "ok")

    let seen = try #require(bench.emulator?.accepted.count)
    try bench.emulator?.clearFaults()
    daemon = try start(bench, track, state)
    try bench.wait("the backlog has gone") {
      track.pump()
      return daemon.logs("past positions delivered")
    }
    expect(daemon.log.contains { $0.contains("positions of an earlier run found on disk, to be delivered now") })
    let after = try #require(bench.emulator?.accepted.dropFirst(seen))
    expect(after.contains { $0.past.count > 10 })
    for update in after {
      let stamps = stamps(update.past + [try #require(update.live)])
      expectEqual(stamps, stamps.sorted())
    }
    let past = stamps(after.flatMap(\.past))
    expectEqual(past, past.sorted())
    let arrived = Set(stamps((bench.emulator?.accepted ?? []).flatMap { $0.past + [$0.live].compactMap { $0 } }))
    expect(before.allSatisfy { arrived.contains(stamp($0)) })
    // No position remains, in memory or on disk.
    try bench.wait("an empty backlog") { try bench.control("status", "--json").output.text.contains(#""count":0"#) }
    daemon.process.signal(SIGTERM)
    try expectEqual(bench.exitCode(), 0)
    let shell = try ChildProcess("/usr/bin/sqlite3", ["\(state)/backlog.sqlite", "SELECT count(*) FROM positions"])
    try shell.finish()
    expectEqual(shell.output.lines, ["0"])
  }

  @Test("a stop during an outage leaves all queued positions on disk, including the newest")
  func stop() throws {
    let (bench, track, state) = try vehicle(commitInterval: "60s")
    bench.settings["reporting.stop_timeout"] = "\"1s\""
    try bench.emulator?.fault(Self.outage)
    let daemon = try start(bench, track, state)
    try drive(bench, track) { _ in track.sent.count >= 20 }
    try bench.wait("all are read") { try bench.fixCount() >= track.sent.count }
    daemon.process.signal(SIGTERM)
    try expectEqual(bench.exitCode(), 0)
    expect(daemon.logs("undelivered, stored for the next start"))
    let shell = try ChildProcess(
      "/usr/bin/sqlite3", ["\(state)/backlog.sqlite", "SELECT count(*), max(time) FROM positions"])
    try shell.finish()
    let parts = shell.output.text.split { $0 == "|" || $0 == "\n" }.compactMap { Int64($0) }
    expectEqual(parts.count, 2)
    expectEqual(parts.first, Int64(track.sent.count))
    // The times are rounded, but the last but one is 100 ms older.
    expect(parts.last ?? 0 > stamp(track.sent.last ?? Date()) - 50)
  }

  @Test("kills at random moments lose at most the positions of the last commit interval, and never damage the file")
  func crashes() throws {
    let rounds = ProcessInfo.processInfo.environment["CRASH_ROUNDS"].flatMap(Int.init) ?? 15
    let (bench, track, state) = try vehicle()
    let front = try TLSFront(.good, before: try #require(bench.emulator).port)
    bench.settings["fleet_engine.endpoint"] = "\"https://localhost:\(front.port)\""
    bench.settings["fleet_engine.ca_file"] = "\"\(front.authority)\""
    bench.settings["backlog.batch"] = "5"
    var expected: [Date] = []
    for round in 0..<rounds {
      // Two rounds without a network, then two in which the backlog is sent to a slow server: the kill hits requests
      // that were applied but not answered, and removals that are not written yet.
      let isOut = round % 4 < 2
      try bench.emulator?.clearFaults()
      try bench.emulator?.fault(isOut ? Self.outage : #"{"target": "update", "delay_ms": 60, "for_ms": 3600000}"#)
      let daemon = try start(bench, track, state)
      let end = ContinuousClock.now + .milliseconds(isOut ? Int.random(in: 600...1800) : Int.random(in: 50...700))
      let stored = try drive(bench, track) { _ in ContinuousClock.now >= end }
      try kill(daemon, in: bench)
      expected += track.sent.prefix(stored)
      try expectEqual(integrity(of: state, in: bench), "ok", "round \(round)")
    }
    try bench.emulator?.clearFaults()
    let daemon = try start(bench, track, state)
    try bench.wait("all has arrived", within: .seconds(60)) {
      track.pump()
      return daemon.shows("Online") && daemon.statuses.last?.hasSuffix("backlog 0") == true
    }
    let status = try bench.control("status", "--json")
    expectEqual(status.exitCode, 0)
    expect(status.output.text.contains("\"HTTP\\/2\"") || status.output.text.contains("\"HTTP/2\""))
    var times: [Int64: Int] = [:]
    for update in bench.emulator?.accepted ?? [] {
      for stamp in stamps(update.past + [update.live].compactMap { $0 }) { times[stamp, default: 0] += 1 }
    }
    let lost = expected.filter { times[stamp($0)] == nil }
    expect(expected.count > rounds)
    expect(lost.isEmpty, "\(lost.count) of \(expected.count) are lost\n\(daemon.transcript)")
    let repeated = times.values.count { $0 > 1 }
    print(
      "\(rounds) kills: \(expected.count) positions expected, \(lost.count) lost, \(repeated) of \(times.count) arrived more than once"
    )
    expect(!FileManager.default.fileExists(atPath: "\(state)/backlog.sqlite.corrupt-1"))
  }
}
