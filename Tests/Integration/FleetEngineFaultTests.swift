// SPDX-License-Identifier: Apache-2.0
import Expectations
import FileTesting
import Foundation
import Glibc
import Testing

/// Errors of Fleet Engine, and responses of servers that are not Fleet Engine.
struct FleetEngineFaultTests {
  struct Case: CustomTestStringConvertible {
    let testDescription: String
    let fault: String
    let category: String
    /// Expected in the status: the message of Fleet Engine, libcurl or the daemon.
    let says: String
    /// Whether the update is retried soon enough for this test.
    var recovers = false
    /// The number of requests that fail. If the form of the update may be the cause, the daemon tries the other form at
    /// once.
    var times = 1
  }

  static let cases = [
    Case(testDescription: "400", fault: #""status": 400"#, category: "rejected", says: "INVALID_ARGUMENT", times: 2),
    Case(
      testDescription: "401", fault: #""status": 401"#, category: "unauthenticated", says: "UNAUTHENTICATED",
      recovers: true),
    Case(
      testDescription: "403", fault: #""status": 403"#, category: "denied", says: "PERMISSION_DENIED", recovers: true,
      times: 2),
    Case(testDescription: "404", fault: #""status": 404"#, category: "missing", says: "NOT_FOUND"),
    Case(testDescription: "429", fault: #""status": 429"#, category: "throttled", says: "RESOURCE_EXHAUSTED"),
    Case(
      testDescription: "500", fault: #""status": 500"#, category: "unavailable", says: "INTERNAL", recovers: true,
      times: 2),
    Case(
      testDescription: "503", fault: #""status": 503"#, category: "unavailable", says: "UNAVAILABLE", recovers: true),
    Case(
      testDescription: "a reset connection", fault: #""reset": true"#, category: "network", says: "127.0.0.1:",
      recovers: true),
    Case(
      testDescription: "silence beyond the deadline", fault: #""drop": true"#, category: "network", says: "imed out",
      recovers: true),
    Case(
      testDescription: "half a response", fault: #""body": "truncated""#, category: "network", says: "closed",
      recovers: true),
    Case(testDescription: "no JSON", fault: #""body": "not-json""#, category: "untrusted", says: "not Fleet Engine"),
    Case(testDescription: "a web page", fault: #""body": "html""#, category: "untrusted", says: "captive portal"),
    Case(testDescription: "an empty body", fault: #""body": "empty""#, category: "untrusted", says: "empty body"),
  ]

  @Test("the status and the journal report why an update failed, and its position is queued", arguments: cases)
  func answer(_ example: Case) throws {
    let bench = try TestBench()
    let receiver = try bench.receiver()
    if example.fault.contains("drop") { bench.settings["fleet_engine.deadline"] = "\"1s\"" }
    // This is longer than the backoff after a server error.
    bench.settings["source.silence_timeout"] = "\"60s\""
    try bench.emulator?.fault("{\"target\": \"update\", \(example.fault), \"times\": \(example.times)}")
    let daemon = try bench.start(reading: receiver)
    var drive = NMEADrive()
    receiver.send(drive.next())
    let category = "(\(example.category)): "
    try bench.wait("the status says so") {
      daemon.statuses.contains {
        $0.hasPrefix("Offline") && $0.contains(category) && $0.contains(example.says) && $0.hasSuffix("backlog 1")
      }
    }
    expect(daemon.log.contains { $0.contains("warning: Offline \(category)") && $0.contains(example.says) })
    guard example.recovers else { return }
    try bench.wait("an update", within: .seconds(40)) { bench.emulator?.accepted.count == 1 }
    try bench.wait("the status says so") { daemon.statuses.last?.hasPrefix("Online") == true }
    expectEqual(daemon.statuses.last?.hasSuffix("backlog 0"), true)
  }

  @Test(
    "after a second rejection of compact updates, the first in a previous run, plain ones are sent without an outage",
    arguments: [("compressed", 415), ("no-sensor", 400), ("response-mask", 400), ("pretty-print", 400)])
  func refusedForm(part: String, status: Int) throws {
    let bench = try TestBench()
    let receiver = try bench.receiver()
    try bench.emulator?.fault(#"{"target": "update", "status": \#(status), "for": "\#(part)", "times": 1000}"#)
    let program = try ChildProcess("fleet-locationd", ["--version"])
    try expectEqual(program.finish(), 0)
    let release = try #require(program.output.lines.first?.split(separator: " ").last)
    let port = try #require(bench.emulator).port
    func text(refusals: Int) -> String {
      "fleet-locationd update form 1\nserver http://127.0.0.1:\(port)\nrelease \(release)\nrefusals \(refusals)\n"
        + "status \(status)\nend\n"
    }
    // The first rejection was in a previous run.
    try FileManager.default.createDirectory(atPath: bench.directory("state"), withIntermediateDirectories: false)
    let file = try bench.directory.write(text(refusals: 1), to: "state/update-form")
    let daemon = try bench.start(reading: receiver, environment: ["STATE_DIRECTORY": bench.directory("state")])
    var drive = NMEADrive()
    receiver.send(drive.next())
    try bench.wait("an update") { bench.emulator?.accepted.count == 1 }
    try bench.wait("the journal says so") { daemon.logs("compact ones were refused (HTTP \(status))") }
    try expectEqual(String(contentsOfFile: file, encoding: .utf8), text(refusals: 2))
    expect(!daemon.shows("Offline"))
    expectEqual(bench.emulator?.updates.count, 2)
  }

  @Test("Retry-After is the minimum wait after 429")
  func retryAfter() throws {
    let bench = try TestBench()
    let receiver = try bench.receiver()
    try bench.emulator?.fault(#"{"target": "update", "status": 429, "times": 1, "retry_after": "60"}"#)
    let daemon = try bench.start(reading: receiver, environment: ["RUNTIME_DIRECTORY": bench.directory.path])
    var drive = NMEADrive()
    receiver.send(drive.next())
    try bench.wait("it is offline") { daemon.shows("(throttled)") }
    let text = try bench.control("status", "--json").output.text
    let status = try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any]
    let next = try #require(status?["nextUpdate"] as? [String: Any])
    // The usual backoff alone is at most 20 s.
    expect(try #require(next["due"] as? Int) > 40, "\(next)")
  }

  @Test("a response of 200 MB is cancelled, and memory use grows by less than 4 MB")
  func huge() throws {
    let bench = try TestBench()
    let receiver = try bench.receiver()
    let daemon = try bench.start(reading: receiver)
    var drive = NMEADrive()
    receiver.send(drive.next())
    try bench.wait("an update") { bench.emulator?.accepted.count == 1 }
    let before = try daemon.process.statusField("VmHWM")
    try bench.emulator?.fault(#"{"target": "update", "body": "huge", "times": 1}"#)
    receiver.send(drive.next())
    try bench.wait("it is offline") { daemon.shows("(untrusted)") }
    expect(try daemon.process.statusField("VmHWM") - before < 4096, "KiB")
  }

  @Test("after an outage, all its positions arrive as past locations, oldest first")
  func outage() throws {
    let bench = try TestBench()
    let receiver = try bench.receiver()
    let daemon = try bench.start(reading: receiver)
    let track = LiveTrack(receiver, period: 0.2)
    track.sendFirst()
    try bench.wait("an update") { bench.emulator?.accepted.count == 1 }
    let first = try #require(track.sent.first)
    try bench.emulator?.fault(#"{"target": "update", "reset": true, "for_ms": 3600000}"#)
    // Positions are read in order: five others are queued then.
    try bench.wait("the refusal of a sixth position", within: .seconds(40)) {
      track.pump()
      return bench.emulator?.updates.last?.live.map { $0.time.timeIntervalSince(first) > 1.1 } == true
        && daemon.logs("Offline (network)")
    }
    try bench.emulator?.clearFaults()
    try bench.wait("the backlog has gone", within: .seconds(60)) {
      track.pump()
      return daemon.logs("past positions delivered")
    }
    try bench.wait("every position") {
      let accepted = bench.emulator?.accepted ?? []
      return Set(accepted.flatMap(\.past) + accepted.compactMap(\.live)).count == track.sent.count
    }
    let accepted = bench.emulator?.accepted ?? []
    let past = accepted.flatMap(\.past)
    expect(past.count >= 5)
    expectEqual(past.map(\.time), past.map(\.time).sorted())
    expectEqual(Set(past).count, past.count)
    expectEqual(accepted.compactMap(\.live?.time), accepted.compactMap(\.live?.time).sorted())
    for update in accepted {
      expectEqual(
        update.query, "updateMask=lastLocation\(update.past.isEmpty ? "" : "%2CpastLocations")&prettyPrint=false")
    }
  }

  @Test("if Fleet Engine restarts with a different signing key, it still gets the positions of the outage")
  func restart() throws {
    let bench = try TestBench()
    let receiver = try bench.receiver()
    let daemon = try bench.start(reading: receiver)
    var drive = NMEADrive()
    drive.period = 0.2
    let before = drive.date
    receiver.send(drive.next())
    try bench.wait("an update") { bench.emulator?.accepted.count == 1 }
    let between = drive.date
    let port = try #require(bench.emulator).port
    try bench.emulator?.stop()
    receiver.send(drive.next())
    try bench.wait("it is offline") { daemon.shows("(network)") }
    // The new emulator continues the record of the previous one.
    bench.emulator = try Emulator(in: bench.directory, port: port)
    expectEqual(bench.emulator?.accepted.count, 1)
    try bench.wait("an update, after 401 and a fresh token") { bench.emulator?.accepted.count ?? 0 > 1 }
    try bench.wait("the status says so") { daemon.statuses.last?.hasPrefix("Online") == true }
    let accepted = bench.emulator?.accepted ?? []
    func tenths(_ date: Date) -> Double { (date.timeIntervalSince1970 * 10).rounded() }
    let positions = accepted.flatMap(\.past) + accepted.compactMap(\.live)
    expectEqual(Set(positions.map { tenths($0.time) }), [tenths(before), tenths(between)])
    expect(daemon.logs("(unauthenticated)"))
  }
}
