// SPDX-License-Identifier: Apache-2.0
import Expectations
import FileTesting
import Foundation
import Glibc
import Testing

/// A damaged backlog file or a failing disk: the daemon continues, reports the fault, and recovers.
struct BacklogFileTests {
  private static let outage = #"{"target": "update", "reset": true, "for_ms": 3600000}"#

  /// A vehicle without a network, with a backlog on disk.
  private func vehicle() throws -> (TestBench, LiveTrack, state: String) {
    let bench = try TestBench()
    let track = LiveTrack(try bench.receiver())
    bench.settings["backlog.commit_interval"] = "\"200ms\""
    bench.settings["reporting.stop_timeout"] = "\"1s\""
    try bench.emulator?.fault(Self.outage)
    let state = bench.directory("state")
    mkdir(state, 0o700)
    return (bench, track, state)
  }

  @discardableResult
  private func start(_ bench: TestBench, _ state: String) throws -> Daemon {
    try bench.start(environment: ["STATE_DIRECTORY": state, "RUNTIME_DIRECTORY": bench.directory.path])
  }

  private func wait(
    _ what: String, _ bench: TestBench, _ track: LiveTrack, within limit: Duration = .seconds(20),
    until condition: () throws -> Bool
  ) throws {
    try bench.wait(what, within: limit) {
      track.pump()
      return try condition()
    }
  }

  /// Drives until this number of positions is queued, according to the daemon's status.
  private func wait(backlog count: Int, _ bench: TestBench, _ track: LiveTrack) throws {
    var asked = ContinuousClock.now
    try wait("a backlog of \(count)", bench, track) {
      guard asked + .milliseconds(300) < .now else { return false }
      asked = .now
      let text = try status(bench)
      guard let line = text.split(separator: "\n").first(where: { $0.hasPrefix("Backlog") }) else { return false }
      return line.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0 >= count
    }
  }

  /// The number of positions in a file that is not in use.
  private func count(in state: String) throws -> Int {
    let shell = try ChildProcess(
      "/usr/bin/sqlite3", ["\(state)/backlog.sqlite", "PRAGMA integrity_check; SELECT count(*) FROM positions"])
    try shell.finish()
    guard shell.output.lines.first == "ok", let count = shell.output.lines.last.flatMap({ Int($0) }) else {
      throw TestFailure(shell.output.text + shell.errors.text)
    }
    return count
  }

  private func stop(_ bench: TestBench) throws {
    bench.daemon?.process.signal(SIGTERM)
    try expectEqual(bench.exitCode(), 0)
  }

  private func status(_ bench: TestBench) throws -> String {
    let process = try ChildProcess("fleet-locationctl", ["status", "--socket", bench.directory("control.sock")])
    try process.finish()
    return process.output.text
  }

  @Test("a damaged backlog file is renamed and reported, and a new file is used")
  func damaged() throws {
    let (bench, track, state) = try vehicle()
    try Data((0..<9000).map { UInt8(truncatingIfNeeded: $0 &* 31) }).write(
      to: URL(fileURLWithPath: "\(state)/backlog.sqlite"))
    let daemon = try start(bench, state)
    try wait(backlog: 9, bench, track)
    expect(daemon.logs("not a database); it was renamed to backlog.sqlite.corrupt-1"))
    try stop(bench)
    expect(try count(in: state) >= 9)
    try expectEqual(Data(contentsOf: URL(fileURLWithPath: "\(state)/backlog.sqlite.corrupt-1")).count, 9000)
  }

  @Test("the daemon continues, and can be restarted, after its backlog file was overwritten while in use")
  func damagedInUse() throws {
    let (bench, track, state) = try vehicle()
    try start(bench, state)
    try wait(backlog: 9, bench, track)
    for name in ["backlog.sqlite", "backlog.sqlite-wal"] {
      let handle = try #require(FileHandle(forWritingAtPath: "\(state)/\(name)"))
      let size = try handle.seekToEnd()
      try handle.seek(toOffset: 0)
      handle.write(Data(repeating: 0xA5, count: Int(size)))
      try handle.close()
    }
    try wait(backlog: 40, bench, track)
    try stop(bench)
    let again = try start(bench, state)
    try wait("it runs again", bench, track) { again.notifications.states.contains("READY") }
    try bench.emulator?.clearFaults()
    try wait("an update", bench, track) { again.shows("Online") }
    try stop(bench)
    // The file is a valid database again, whatever it contains.
    _ = try count(in: state)
  }

  @Test("a second daemon with the same backlog.directory reports the conflict, and the first is not affected")
  func twoDaemons() throws {
    let (bench, track, state) = try vehicle()
    try start(bench, state)
    try wait(backlog: 3, bench, track)
    let second = try TestBench(emulator: nil)
    _ = try second.receiver(isPluggedIn: false)
    second.settings["backlog.directory"] = "\"\(state)\""
    let other = try second.start()
    try second.wait("what it says") { other.logs("is used by another process; stop the other fleet-locationd") }
    try second.wait("it is ready") { other.notifications.states.contains("READY") }
    // The first daemon is not affected.
    try wait(backlog: 20, bench, track)
    other.process.signal(SIGTERM)
    try expectEqual(second.exitCode(), 0)
    try stop(bench)
    expect(try count(in: state) >= 20)
  }

  @Test(
    "while the disk is full, the backlog is kept in memory; it is written to disk once there is space",
    .enabled(if: ChildProcess.canMount))
  func fullDisk() throws {
    let (bench, track, state) = try vehicle()
    // A small file system in the daemon's mount namespace, filled completely; the test reaches it through the daemon's
    // root directory.
    let script = """
      mount -t tmpfs -o size=256k,mode=0700 none "$1" && dd if=/dev/zero of="$1/filling" bs=1k count=400 2>/dev/null
      "$2" --config "$3" &
      trap "kill -TERM $!" TERM
      until wait $!; code=$?; [ $code -lt 128 ]; do :; done
      cp -r "$1" "$4"
      exit $code
      """
    let notifications = try NotifySocket(path: bench.directory("notify"))
    let process = try ChildProcess(
      "/usr/bin/unshare",
      [
        "--mount", "/bin/sh", "-c", script, "sh", state, "\(ChildProcess.products)/fleet-locationd",
        try bench.writeSettings(), bench.directory("copy"),
      ],
      environment: [
        "STATE_DIRECTORY": state, "RUNTIME_DIRECTORY": bench.directory.path,
        "NOTIFY_SOCKET": bench.directory("notify"),
      ])
    bench.otherReadables = process.sources + [notifications]
    try wait("it says so", bench, track) {
      process.errors.lines.contains { $0.contains("The backlog is in memory only") && $0.contains("room") }
    }
    expect(try status(bench).contains("in memory only"))
    try wait(backlog: 30, bench, track)
    let inside = "/proc/\(process.processID)/root\(state)"
    expectEqual(unlink("\(inside)/filling"), 0)
    try wait("it is on disk again", bench, track) {
      process.errors.lines.contains { $0.contains("The backlog is on disk again") }
    }
    process.signal(SIGTERM)
    try bench.wait("the end") { process.hasEnded }
    expectEqual(process.exitCode, 0)
    expect(try count(in: bench.directory("copy")) >= 30)
  }

  @Test(
    "while the backlog's directory is not writable, the backlog is in memory, and afterwards it is written to disk",
    // Without root no directory can be another user's.
    arguments: ["read-only"] + (getuid() == 0 ? ["another user's"] : []))
  func denied(why: String) throws {
    let (bench, track, state) = try vehicle()
    // Permissions do not apply to root, so the daemon runs as another user.
    let isRoot = getuid() == 0
    if why == "read-only" {
      chmod(state, 0o500)
      if isRoot { chown(state, 65_534, 65_534) }
    }
    let settings = try bench.writeSettings()
    chmod(bench.directory.path, 0o755)
    chmod(settings, 0o644)
    chmod("/dev/pts", 0o755)
    chmod(bench.directory("gps0"), 0o666)
    let process = try ChildProcess(
      "fleet-locationd", ["--config", settings], environment: ["STATE_DIRECTORY": state],
      user: isRoot ? 65_534 : nil)
    bench.otherReadables = process.sources
    func says(_ text: String) -> Bool { process.errors.lines.contains { $0.contains(text) } }
    try wait("it says so", bench, track) {
      says("in memory only: \(state)/backlog.sqlite cannot be made or opened")
    }
    expect(says("Permission denied") && says("backlog.directory"))
    chmod(state, 0o700)
    if isRoot { chown(state, 65_534, 65_534) }
    try wait("it is on disk again", bench, track) { says("The backlog is on disk again") }
    let end = ContinuousClock.now + .seconds(2)
    try wait("more positions", bench, track) { .now >= end }
    process.signal(SIGTERM)
    try bench.wait("the end") { process.hasEnded }
    expectEqual(process.exitCode, 0)
    // If it is unknown whether the service was paused, no position is queued.
    let stored = try count(in: state)
    expect(why == "read-only" ? stored >= 2 : stored == 0, "\(stored)")
  }

  @Test("with neither backlog.directory nor STATE_DIRECTORY, the status says that the backlog is in memory")
  func off() throws {
    let (bench, track, _) = try vehicle()
    try bench.start(environment: ["RUNTIME_DIRECTORY": bench.directory.path])
    try wait(backlog: 3, bench, track)
    expect(try status(bench).contains("in memory: backlog.directory is not set"))
  }

  @Test("a reload with a changed backlog.directory moves all queued positions there")
  func otherDirectory() throws {
    let (bench, track, state) = try vehicle()
    let daemon = try start(bench, state)
    try wait(backlog: 12, bench, track)
    let new = bench.directory("elsewhere")
    bench.settings["backlog.directory"] = "\"\(new)\""
    try bench.writeSettings()
    daemon.process.signal(SIGHUP)
    try wait("the reload", bench, track) { daemon.notifications.count(of: "RELOADING") == 1 }
    try wait(backlog: 20, bench, track)
    try stop(bench)
    expect(try count(in: new) >= 20)
  }
}
