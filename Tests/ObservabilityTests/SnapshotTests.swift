// SPDX-License-Identifier: Apache-2.0
import Expectations
import PositionBacklog
import ClockEstimation
import FixSources
import AgentTesting
import Authorization
import Connectivity
import Vehicle
import HTTPMessages
import Observability
import Positioning
import Testing
import Timekeeping

/// The status line and the status report of a vehicle in given situations.
struct SnapshotTests {
  @Test("the status line states the problem first, then ages, and never coordinates")
  func status() throws {
    var fixture = try AgentFixture()
    expectEqual(fixture.snapshot(at: 0).statusLine, "Waiting for a fix; no token yet; backlog 0")
    try fixture.comeOnline()
    _ = try fixture.drive(to: 4)
    expectEqual(
      fixture.snapshot(at: 5).statusLine,
      "Online; fix 3D, ±3 m, 9 satellites, 1 s old; last update 4 s ago; token 59 min; backlog 0")
    _ = try fixture.drive(to: 10.2)
    _ = fixture.handle(.updateEnded(id: 2, AgentFixture.unreachable), at: 10.3)
    expectEqual(
      fixture.snapshot(at: 11).statusLine,
      "Offline (network): no route to host; fix 3D, ±3 m, 9 satellites, 0 s old; last update 10 s ago; "
        + "token 59 min; backlog 1")
    _ = fixture.handle(.source(0, .lost("/dev/gps0 is not there")), at: 12)
    expect(fixture.snapshot(at: 12).statusLine.hasPrefix("No source: /dev/gps0 is not there; fix"))
    expect(!fixture.snapshot(at: 12).statusLine.contains("48."))
  }

  @Test("the status says that the token provider is down, and for how long, even while the current token is valid")
  func providerDown() throws {
    var fixture = try AgentFixture()
    _ = try fixture.drive(to: 0)
    _ = fixture.handle(.tokenEnded(id: 1, fixture.token(life: 600)), at: 0.1)
    _ = fixture.handle(.updateEnded(id: 1, AgentFixture.accepted), at: 0.2)
    var updates: UInt64 = 1
    var tokens: UInt64 = 1
    for second in 1...900 {
      for effect in try fixture.drive(to: Double(second)) {
        switch effect {
        case .sendUpdate(let id, _):
          updates = id
          expect(second < 601)
          _ = fixture.handle(.updateEnded(id: id, AgentFixture.accepted), at: Double(second) + 0.1)
        case .fetchToken(let id, _):
          tokens = id
          _ = fixture.handle(
            .tokenEnded(id: id, .http(.failure(TransportFailure(.refused, "refused")))), at: Double(second) + 0.1)
        default: break
        }
      }
      let status = fixture.snapshot().statusLine
      if second == 300 { expect(status.hasPrefix("Online") && !status.contains("no new one")) }
      if second == 550 {
        expect(status.hasPrefix("Online"))
        expect(
          status.contains("no new one for ") && status.contains("the token provider cannot be reached: refused"))
      }
      if second == 890 {
        expect(status.hasPrefix("No token for 6 min: the token provider cannot be reached: refused"), "\(status)")
      }
    }
    expect(updates > 50 && tokens > 10)
    expectEqual(StatusReport(fixture.snapshot()).tokenTroubleSince.map { $0 > 300 }, true)
  }

  @Test("a clock error is in the status and the report, with its size, until the clock is set")
  func wrongClock() throws {
    var fixture = try AgentFixture()
    _ = try fixture.drive(to: 0)
    _ = fixture.handle(.tokenEnded(id: 1, fixture.token()), at: 0.1)
    func answer(_ time: String) -> HTTPOutcome {
      .response(
        HTTPResponse(
          status: 200, headers: [("Date", "Tue, 01 Dec 2026 \(time) GMT")], body: [UInt8](#"{"name":"v"}"#.utf8)))
    }
    // The receiver and the clock agree: a single reference is not enough.
    expect(!fixture.handle(.updateEnded(id: 1, answer("02:00:10")), at: 0.2).events.contains(.clockWrong))
    _ = try fixture.drive(to: 10.2)
    let effects = fixture.handle(.updateEnded(id: 2, answer("02:00:20")), at: 10.3)
    expect(effects.events.contains(.clockWrong))
    let now = fixture.moment
    expect(
      fixture.agent.snapshot(at: now).statusLine
        .hasSuffix("this machine's clock is 2 h behind, according to Fleet Engine"))
    expectEqual(StatusReport(fixture.agent.snapshot(at: now)).clockOffset, -7209)
    // NTP sets the clock.
    let later = Moment(boot: now.boot + .seconds(1), wall: now.wall + .seconds(7211))
    expect(fixture.agent.handle(.clockStepped(.seconds(7211)), at: later).events.contains(.clockRight))
    expectNil(StatusReport(fixture.agent.snapshot(at: later)).clockOffset)
  }

  @Test("a clock before the build date is reported as not set until its error is known")
  func clockUnset() throws {
    var fixture = try AgentFixture()
    let reset = Timestamp(seconds: 0)
    let line = fixture.agent.snapshot(at: Moment(boot: fixture.moment.boot, wall: reset)).statusLine
    expect(line.hasSuffix("; this machine's clock is not set"))
    expect(!fixture.snapshot().statusLine.contains("clock"))
    _ = try fixture.drive(to: 1)
    let known = fixture.agent.snapshot(at: Moment(boot: fixture.moment.boot, wall: reset)).statusLine
    expect(known.hasSuffix("behind, according to the receiver") && !known.contains("not set"))
  }

  @Test("the status has the start time of a pause, if it is known", arguments: ["2026-12-01T00:00:05Z", nil])
  func pause(since: String?) throws {
    var fixture = try AgentFixture()
    _ = fixture.handle(.pause(PauseRecord(text: "\(since ?? "unknown")\n")), at: 10)
    let start = since.map { "Paused since \($0), " } ?? "Paused, "
    expect(fixture.snapshot().statusLine.hasPrefix("\(start)fleet-locationctl resume ends it; "))
    let report = StatusReport(fixture.snapshot())
    expect(report.isPaused && report.pausedSince == since)
    expectEqual(report.explanation.reason, "paused")
  }

  @Test("without a network, the status says for how long")
  func noNetwork() throws {
    var fixture = try AgentFixture()
    try fixture.comeOnline()
    _ = fixture.handle(.network(NetworkState()), at: 5)
    for second in 6...60 { _ = try fixture.drive(to: Double(second)) }
    expect(fixture.snapshot(at: 60).statusLine.hasPrefix("No network for 55 s; "))
    let report = StatusReport(fixture.snapshot(at: 60))
    expect(report.withoutNetwork == 55 && !report.isOnline)
    expectEqual(report.state?.advice?.contains("SIM"), true)
    var isolated = NetworkState()
    isolated.isIsolated = true
    _ = fixture.handle(.network(isolated), at: 61)
    let line = fixture.snapshot(at: 65).statusLine
    expect(line.hasPrefix("No network for 60 s: the service has no interface but lo; "), "\(line)")
    expectEqual(StatusReport(fixture.snapshot(at: 65)).state?.advice?.contains("PrivateNetwork="), true)
  }

  @Test("a backlog whose file has not been read is not shown as empty, even if the file has been written")
  func unreadStore() throws {
    var fixture = try AgentFixture()
    _ = fixture.handle(.store(.unread), at: 0)
    expect(fixture.snapshot(at: 0).statusLine.hasSuffix("backlog not read yet"))
    _ = fixture.handle(.store(.healthy), at: 1)
    expect(fixture.snapshot(at: 1).statusLine.hasSuffix("backlog not read yet"))
    expectEqual(StatusReport(fixture.snapshot(at: 1)).backlog.store, "unread")
    _ = fixture.handle(.deadline, at: 3)
    _ = fixture.handle(.restored([]), at: 3)
    expect(fixture.snapshot(at: 3).statusLine.hasSuffix("backlog 0"))
    expectEqual(StatusReport(fixture.snapshot(at: 3)).backlog.store, "disk")
  }

  @Test("a backlog in memory only is shown with the reason")
  func store() throws {
    var fixture = try AgentFixture()
    let why = "/var/lib/x/backlog.sqlite: the disk is full"
    _ = fixture.handle(.store(.memoryOnly(why)), at: 0)
    expect(fixture.snapshot().statusLine.hasSuffix("backlog 0 (in memory only: \(why))"))
    let memory = StatusReport(fixture.snapshot(), storeBytes: 4096).backlog
    expect(memory.store == "memory" && memory.storeTrouble == why && memory.bytes == 4096)
    _ = fixture.handle(.store(.healthy), at: 1)
    let disk = StatusReport(fixture.snapshot()).backlog
    expect(disk.store == "disk" && disk.storeTrouble == nil && disk.bytes == nil)
  }

  @Test("a clock error of any size can be printed", arguments: [Int64.min, -1, 0, Int64.max])
  func clockExtremes(milliseconds: Int64) {
    let error = TimeEstimator.ClockError(offset: .milliseconds(milliseconds), reference: .gnss)
    expect(Event.clockWrong(error).sentence.hasSuffix(", according to the receiver"))
    expectEqual(Event.clockStepped(.milliseconds(milliseconds), suppressed: 0).fields.count, 1)
  }
}
