// SPDX-License-Identifier: Apache-2.0
import Expectations
import FileTesting
import Foundation
import Glibc
import Testing

/// When the next run uses the cached token, and when it requests a new one.
struct TokenAfterRestartTests {
  private let bench: TestBench
  private let receiver: Receiver
  private let runtime: String
  private var file: String { runtime + "/token" }

  init() throws {
    bench = try TestBench()
    receiver = try bench.receiver()
    runtime = bench.directory("run")
    mkdir(runtime, 0o755)
    bench.settings["log.level"] = "\"debug\""
  }

  /// Starts the daemon, drives until an update is accepted, and stops it.
  ///
  /// - Returns: the daemon's journal, and the output of `status`.
  @discardableResult
  private func run(endingWith signal: Int32 = SIGTERM) throws -> (journal: String, status: String) {
    // An update of a daemon that was killed may still be in the emulator's socket.
    try bench.emulator?.settle()
    let before = bench.emulator?.accepted.count ?? 0
    let daemon = try bench.start(reading: receiver, environment: ["RUNTIME_DIRECTORY": runtime])
    // The receiver sends in real time: the next run knows the time, and would reject a fix from the future.
    let track = LiveTrack(receiver)
    try bench.wait("an update", within: .seconds(30)) {
      track.pump()
      return bench.emulator?.accepted.count ?? 0 > before
    }
    let control = try ChildProcess("fleet-locationctl", ["status", "--socket", runtime + "/control.sock"])
    // The receiver continues: after some seconds without a position, the status would report that.
    try bench.wait("status") {
      track.pump()
      return control.hasEnded
    }
    try control.finish()
    expectEqual(control.exitCode, 0, "\(control.errors.text)")
    daemon.process.signal(signal)
    try expectEqual(bench.exitCode(), (signal == SIGKILL ? 128 + SIGKILL : 0))
    return (daemon.transcript, control.output.text + control.errors.text)
  }

  private func requests() throws -> Int {
    try #require(bench.emulator?.stats()["token_requests"] as? Int)
  }

  private func content() throws -> String { try String(contentsOfFile: file, encoding: .utf8) }

  @Test("after a stop or a kill, the next run uses the cached token, which is never logged")
  func restart() throws {
    var runs = [try run()]
    let token = try #require(content().split(separator: " ").last.map { String($0.dropLast()) })
    expect(token.hasPrefix("ey"))
    let mode = try FileManager.default.attributesOfItem(atPath: file)[.posixPermissions] as? Int
    expectEqual(mode, 0o600)
    runs += [try run(endingWith: SIGKILL), try run()]
    try expectEqual(requests(), 1)
    expectEqual(
      runs.map { $0.journal.contains("The token of the previous run is still used, valid for") }, [false, true, true])
    let said = runs.map { $0.journal + $0.status }.joined()
    for secret in [token] + token.split(separator: ".").map(String.init) { expect(!said.contains(secret)) }
  }

  @Test(
    "a damaged, expired or exposed cached token, or one of another boot or vehicle, is reported and not used",
    arguments: ["boot", "cut", "noise", "vehicle", "expired", "open", "link"])
  func useless(how: String) throws {
    try run()
    let text = try content()
    var says = "it is damaged"
    func change(_ new: String) throws { try new.write(toFile: file, atomically: false, encoding: .utf8) }
    switch how {
    case "boot":
      says = "it was stored before the last reboot"
      let boot = text.split(separator: "\n")[1]
      try change(text.replacingOccurrences(of: boot, with: "boot \(String(repeating: "0", count: 32))"))
    case "cut": try change(String(text.dropLast(5)))
    case "noise":
      says = "this is not a text of this program"
      try Data([0xFF, 0x00, 0xFE]).write(to: URL(fileURLWithPath: file))
    case "vehicle":
      says = "it is for another vehicle, or the settings of the token provider have changed"
      bench.settings["vehicle.vehicle_id"] = "\"truck-18\""
    case "expired":
      says = "it has expired"
      let ends = text.split(separator: "\n")[4]
      let received = text.split(separator: "\n")[3].split(separator: " ")[1]
      try change(text.replacingOccurrences(of: ends, with: "ends \((Int64(received) ?? 0) + 1)"))
    case "open":
      says = "users other than its owner have access (mode 0644)"
      chmod(file, 0o644)
    default:
      says = "it is a link"
      rename(file, runtime + "/elsewhere")
      symlink(runtime + "/elsewhere", file)
    }
    let said = try run().journal
    expect(said.contains("The cached token is discarded: ") && said.contains(says), "\(said)")
    try expectEqual(requests(), 2)
    expect(try content() != text)
    // The next run uses the token that was fetched instead.
    expect(try run().journal.contains("The token of the previous run is still used"))
    try expectEqual(requests(), 2)
  }

  @Test("a token that Fleet Engine rejects is removed from disk before a new one is fetched")
  func refused() throws {
    try run()
    let emulator = try #require(bench.emulator)
    try emulator.fault(#"{"target": "update", "status": 401, "times": 1}"#)
    try emulator.fault(#"{"target": "token", "status": 503, "times": 1000}"#)
    let daemon = try bench.start(reading: receiver, environment: ["RUNTIME_DIRECTORY": runtime])
    let track = LiveTrack(receiver)
    try bench.wait("the token is refused") {
      track.pump()
      return daemon.logs("Offline (unauthenticated)")
    }
    try bench.wait("the file is gone") { access(file, F_OK) != 0 }
    daemon.process.signal(SIGKILL)
    _ = try bench.exitCode()
    try emulator.clearFaults()
    expect(!(try run()).journal.contains("is still used"))
  }

  @Test("with token.cache = false, nothing is cached, and the cached token of an earlier run is removed")
  func off() throws {
    try run()
    bench.settings["token.cache"] = "false"
    expect(!(try run()).journal.contains("is still used"))
    expect(access(file, F_OK) != 0)
    try expectEqual(requests(), 2)
  }

  @Test("a token that cannot be cached causes a warning, and updates are sent all the same")
  func notWritable() throws {
    let obstacle = runtime + "/token.new"
    mkdir(obstacle, 0o700)
    expect(
      try run().journal.contains(
        "The token cannot be cached for the next start: \(file): cannot be written: File exists"))
  }
}
