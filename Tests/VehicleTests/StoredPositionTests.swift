// SPDX-License-Identifier: Apache-2.0
import Delivery
import Expectations
import PositionBacklog
import FixSources
import AgentTesting
import Authorization
import FleetEngine
import HTTPMessages
import Positioning
import Testing
import Timekeeping

@testable import Vehicle

/// Positions on disk are delivered whether there is a fix or not.
struct StoredPositionTests {
  private static func records(_ seconds: [Int]) throws -> [Backlog.Record] {
    try seconds.map { second in
      let place = try #require(Coordinate(latitude: 48 + Double(second) / 10_000, longitude: 11))
      return Backlog.Record(VehicleLocation(Fix(coordinate: place), time: AgentFixture.start + .seconds(second)))
    }
  }

  private static func body(_ effects: [VehicleAgent.Effect]) -> String? {
    effects.compactMap {
      if case .sendUpdate(_, let request) = $0 { String(decoding: request.body, as: UTF8.self) } else { nil }
    }.first
  }

  @Test("without a fix the newest stored position is sent as the live one after an interval, together with the others")
  func withoutFix() throws {
    var fixture = try AgentFixture()
    _ = fixture.handle(.restored(try StoredPositionTests.records([-300, -200, -100])), at: 1)
    expectEqual(fixture.agent.nextDeadline(at: fixture.moment.boot), .boot + .seconds(11))
    expectEqual(fixture.handle(.deadline, at: 11).brief, ["fetch 1 https://t.test/truck-1"])
    let token = fixture.token()
    let sent = fixture.handle(.tokenEnded(id: 1, token), at: 11.2)
    expectEqual(sent.brief, ["send 1 with past"])
    let body = try #require(StoredPositionTests.body(sent))
    expect(body.hasPrefix(#"{"lastLocation":{"#) && !body.contains("timeSinceUpdate"))
    expect(body.contains(String((AgentFixture.start - .seconds(100)).rfc3339.dropLast(5))))
    let last = fixture.handle(.updateEnded(id: 1, AgentFixture.accepted), at: 11.4)
    expectEqual(last.brief, ["drop [-300.0, -200.0, -100.0] delivered"])
    // The missing fix is reported after a minute.
    expectEqual(fixture.agent.nextDeadline(at: fixture.moment.boot), .boot + .seconds(60))
    // The next fix is treated as the first one: it waits only for the minimum interval.
    expect(try fixture.drive(to: 13).brief.isEmpty)
    expectEqual(fixture.agent.nextDeadline(at: fixture.moment.boot), .boot + .milliseconds(16_400))
  }

  @Test("stored positions that do not fit into a request are sent with the next one, an interval later")
  func batches() throws {
    var fixture = try AgentFixture { $0.delivery.batch = 2 }
    _ = fixture.handle(.restored(try StoredPositionTests.records(Array(-60 ..< -55))), at: 1)
    _ = fixture.handle(.deadline, at: 11)
    let token = fixture.token()
    expectEqual(fixture.handle(.tokenEnded(id: 1, token), at: 11).brief, ["send 1 with past"])
    expectEqual(
      fixture.handle(.updateEnded(id: 1, AgentFixture.accepted), at: 11).brief,
      [
        "drop [-60.0, -59.0, -56.0] delivered"
      ]
    )
    expectEqual(fixture.agent.nextDeadline(at: fixture.moment.boot), .boot + .seconds(21))
    expectEqual(fixture.handle(.deadline, at: 21).brief, ["send 2 with past"])
    expectEqual(
      fixture.handle(.updateEnded(id: 2, AgentFixture.accepted), at: 21).brief, ["drop [-58.0, -57.0] delivered"])
    expect(fixture.agent.delivery.backlog.isEmpty)
  }

  @Test("a fix that arrives within the interval is sent at once, with the stored positions")
  func fixFirst() throws {
    var fixture = try AgentFixture()
    _ = fixture.handle(.restored(try StoredPositionTests.records([-300, -200])), at: 1)
    expect(try fixture.drive(to: 2).brief.contains("fetch 1 https://t.test/truck-1"))
    let token = fixture.token()
    let sent = fixture.handle(.tokenEnded(id: 1, token), at: 2.2)
    expectEqual(sent.brief, ["send 1 with past"])
    expectEqual(
      fixture.handle(.updateEnded(id: 1, AgentFixture.accepted), at: 2.4).brief,
      [
        "drop [-300.0, -200.0, 2.0] delivered"
      ])
  }

  @Test("after a failed attempt the stored position is sent again, even if the source is lost")
  func failure() throws {
    var fixture = try AgentFixture()
    _ = fixture.handle(.source(0, .lost("unplugged")), at: 0.5)
    _ = fixture.handle(.restored(try StoredPositionTests.records([-100])), at: 1)
    _ = fixture.handle(.deadline, at: 11)
    let token = fixture.token()
    expectEqual(fixture.handle(.tokenEnded(id: 1, token), at: 11.2).brief, ["send 1"])
    _ = fixture.handle(.updateEnded(id: 1, AgentFixture.unreachable), at: 11.3)
    let again = try #require(fixture.agent.nextDeadline(at: fixture.moment.boot))
    expect(again <= .boot + .seconds(13))
    expectEqual(fixture.handle(.deadline, at: (again - .boot).inSeconds).brief, ["send 2"])
    _ = fixture.handle(.updateEnded(id: 2, AgentFixture.accepted), at: 15)
    expect(fixture.agent.delivery.backlog.isEmpty)
  }

  @Test("stored positions are not sent during a pause")
  func pause() throws {
    var fixture = try AgentFixture()
    _ = fixture.handle(.pause(PauseRecord(since: nil)), at: 0.5)
    _ = fixture.handle(.restored(try StoredPositionTests.records([-100])), at: 1)
    expect(fixture.handle(.deadline, at: 100).brief.isEmpty)
    _ = fixture.handle(.resume, at: 200)
    expectEqual(fixture.handle(.deadline, at: 210).brief, ["fetch 1 https://t.test/truck-1"])
  }

  @Test("when a recording ends without a fix, the stored positions are delivered")
  func recording() throws {
    var fixture = try AgentFixture()
    _ = fixture.handle(.restored(try StoredPositionTests.records([-200, -100])), at: 1)
    expectEqual(fixture.handle(.source(0, .ended), at: 2).brief, ["stopping", "fetch 1 https://t.test/truck-1"])
    let token = fixture.token()
    expectEqual(fixture.handle(.tokenEnded(id: 1, token), at: 2.2).brief, ["send 1 with past"])
    let end = fixture.handle(.updateEnded(id: 1, AgentFixture.accepted), at: 2.4)
    expectEqual(end.brief, ["drop [-200.0, -100.0] delivered", "finished 0"])
  }

  private static func dated(_ outcome: HTTPOutcome, _ date: String) -> HTTPOutcome {
    guard case .response(var response) = outcome else { return outcome }
    response.headers.append(("Date", date))
    return .response(response)
  }

  private static func dated(_ token: TokenOutcome, _ date: String) -> TokenOutcome {
    if case .http(let outcome) = token { .http(dated(outcome, date)) } else { token }
  }

  @Test("a single time from the provider that is half an hour behind loses no position, and delays none for long")
  func providerBehind() throws {
    var fixture = try AgentFixture()
    _ = fixture.handle(.restored(try StoredPositionTests.records([-300, -200, -100])), at: 1)
    _ = fixture.handle(.deadline, at: 11)
    let token = StoredPositionTests.dated(fixture.token(), "Mon, 30 Nov 2026 23:30:11 GMT")
    // By the provider's time all positions are from the future: the oldest is sent, and Fleet Engine's response has the
    // right time.
    expectEqual(fixture.handle(.tokenEnded(id: 1, token), at: 11.2).brief, ["send 1"])
    let answer = StoredPositionTests.dated(AgentFixture.accepted, "Tue, 01 Dec 2026 00:00:11 GMT")
    expectEqual(fixture.handle(.updateEnded(id: 1, answer), at: 11.4).brief, ["drop [-300.0] delivered"])
    expectEqual(fixture.handle(.deadline, at: 17).brief, ["send 2 with past"])
    expectEqual(
      fixture.handle(.updateEnded(id: 2, AgentFixture.accepted), at: 17.2).brief, ["drop [-200.0, -100.0] delivered"])
  }

  @Test("a server time that was reported only once is not stored for the next run, so it removes no position there")
  func singleServerTimeAndRestart() throws {
    var fixture = try AgentFixture { $0.boot = "b1" }
    _ = fixture.handle(.restored(try StoredPositionTests.records([-300, -200, -100])), at: 1)
    _ = fixture.handle(.deadline, at: 11)
    let token = StoredPositionTests.dated(fixture.token(), "Mon, 30 Nov 2026 23:30:11 GMT")
    let sent = fixture.handle(.tokenEnded(id: 1, token), at: 11.2)
    let text = try #require(sent.compactMap { if case .storeRunState(let text) = $0 { text } else { nil } }.last)
    var next = try AgentFixture { $0.boot = "b1" }
    _ = next.handle(.runStateFound(text), at: 12)
    let restored = next.handle(.restored(try StoredPositionTests.records([-300, -200, -100])), at: 12)
    expect(!restored.brief.contains { $0.contains("misdated") })
    expectEqual(next.agent.delivery.backlog.count, 3)
  }

  @Test("a single time from Fleet Engine that is hours behind suppresses requests for a minute at most")
  func singleFleetEngineTime() throws {
    var fixture = try AgentFixture()
    _ = fixture.handle(.restored(try StoredPositionTests.records([-9000, -200, -100])), at: 1)
    _ = fixture.handle(.deadline, at: 11)
    let token = fixture.token()
    expectEqual(fixture.handle(.tokenEnded(id: 1, token), at: 11.2).brief, ["send 1 with past"])
    let refused = StoredPositionTests.dated(AgentFixture.error(503, "UNAVAILABLE"), "Mon, 30 Nov 2026 20:00:00 GMT")
    _ = fixture.handle(.updateEnded(id: 1, refused), at: 11.4)
    expectEqual(fixture.agent.nextDeadline(at: fixture.moment.boot).map { $0 <= .boot + .milliseconds(71_400) }, true)
    var sent = false
    var second = 11.4
    while !sent, second < 80, let deadline = fixture.agent.nextDeadline(at: fixture.moment.boot) {
      second = max((deadline - .boot).inSeconds, second)
      sent = fixture.handle(.deadline, at: second).brief.contains { $0.hasPrefix("send 2") }
    }
    expect(sent && second < 73)
    // No queued position was removed.
    expectEqual(fixture.agent.delivery.backlog.count, 3)
  }

  @Test("a stored position from the future is not used as live position, and is removed when two time sources agree")
  func future() throws {
    var fixture = try AgentFixture()
    _ = fixture.handle(.restored(try StoredPositionTests.records([-100, 9000])), at: 1)
    _ = fixture.handle(.deadline, at: 11)
    let token = fixture.token()
    let sent = fixture.handle(.tokenEnded(id: 1, token), at: 11.2)
    expectEqual(sent.brief, ["send 1"])
    let time = String((AgentFixture.start - .seconds(100)).rfc3339.dropLast(5))
    expect(try #require(StoredPositionTests.body(sent)).contains(time))
    let first = StoredPositionTests.dated(AgentFixture.accepted, "Tue, 01 Dec 2026 00:00:11 GMT")
    expectEqual(fixture.handle(.updateEnded(id: 1, first), at: 11.4).brief, ["drop [-100.0] delivered"])
    expect(!fixture.handle(.deadline, at: 16).brief.contains("send 2"))
    // The receiver confirms Fleet Engine's time.
    let fix = try fixture.drive(to: 17).brief
    expect(fix.contains("send 2") && fix.contains("drop [9000.0] misdated"))
    _ = fixture.handle(.updateEnded(id: 2, AgentFixture.accepted), at: 17.2)
    expect(fixture.agent.delivery.backlog.isEmpty)
  }

  @Test("restored positions are checked against a time on which two servers already agree")
  func restoredLate() throws {
    var fixture = try AgentFixture()
    _ = try fixture.drive(to: 0)
    let token = StoredPositionTests.dated(fixture.token(), "Tue, 01 Dec 2026 00:00:00 GMT")
    _ = fixture.handle(.tokenEnded(id: 1, token), at: 0.1)
    let answer = StoredPositionTests.dated(AgentFixture.accepted, "Tue, 01 Dec 2026 00:00:00 GMT")
    _ = fixture.handle(.updateEnded(id: 1, answer), at: 0.2)
    let restored = fixture.handle(.restored(try StoredPositionTests.records([-100, 9000])), at: 1)
    expect(restored.brief.contains("drop [9000.0] misdated"))
    expectEqual(fixture.agent.delivery.backlog.count, 1)
  }

  @Test("Fleet Engine may ignore a live position older than the previous run's last: the next update contains it again")
  func newerBefore() throws {
    let vehicle = FleetEngineVehicle(service: .deliveries, providerID: "p", vehicleID: "truck-1")
    let limits = StoredRunState(
      boot: "b1", vehicle: vehicle, attempts: [], inFlight: nil, floorStart: nil, bounds: nil,
      delivered: AgentFixture.start - .seconds(50))
    var fixture = try AgentFixture { $0.boot = "b1" }
    _ = fixture.handle(.runStateFound(limits.text), at: 0.5)
    _ = fixture.handle(.restored(try StoredPositionTests.records([-300, -200, -100])), at: 1)
    _ = fixture.handle(.deadline, at: 11)
    let token = fixture.token()
    expectEqual(fixture.handle(.tokenEnded(id: 1, token), at: 11.2).brief, ["send 1 with past"])
    expectEqual(
      fixture.handle(.updateEnded(id: 1, AgentFixture.accepted), at: 11.4).brief, ["drop [-300.0, -200.0] delivered"])
    expect(fixture.handle(.deadline, at: 40).brief.isEmpty)
    expect(try fixture.drive(to: 41).brief.contains("send 2 with past"))
    _ = fixture.handle(.updateEnded(id: 2, AgentFixture.accepted), at: 41.2)
    expect(fixture.agent.delivery.backlog.isEmpty)
  }
}
