// SPDX-License-Identifier: Apache-2.0
import AgentTesting
import FleetEngine
import HTTPMessages
import Positioning
import Testing
import Timekeeping

@testable import Delivery

/// What waits on disk is delivered whether there is a fix or not.
@Suite struct StoredPositionTests {
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

  @Test("without a fix the newest goes as the live position with its own time after an interval, the others with it")
  func withoutFix() throws {
    var fixture = try AgentFixture()
    _ = fixture.tell(.restored(try StoredPositionTests.records([-300, -200, -100])), at: 1)
    #expect(fixture.agent.nextDeadline(at: fixture.moment.boot) == .boot + .seconds(11))
    #expect(fixture.tell(.deadline, at: 11).brief == ["fetch 1 https://t.test/truck-1"])
    let token = fixture.token()
    let sent = fixture.tell(.tokenEnded(id: 1, token), at: 11.2)
    #expect(sent.brief == ["send 1 with past"])
    let body = try #require(StoredPositionTests.body(sent))
    #expect(body.hasPrefix(#"{"lastLocation":{"#) && !body.contains("timeSinceUpdate"))
    #expect(body.contains(String((AgentFixture.start - .seconds(100)).rfc3339.dropLast(5))))
    let last = fixture.tell(.updateEnded(id: 1, AgentFixture.accepted), at: 11.4)
    #expect(last.brief == ["drop [-300.0, -200.0, -100.0] delivered"])
    // What is missing is a fix, which is reported after a minute.
    #expect(fixture.agent.nextDeadline(at: fixture.moment.boot) == .boot + .seconds(60))
    // The next fix is the first of all: it waits for the floor only.
    #expect(try fixture.drive(to: 13).brief.isEmpty)
    #expect(fixture.agent.nextDeadline(at: fixture.moment.boot) == .boot + .milliseconds(16_400))
  }

  @Test("more than fits into a request follows an interval apart, with the same live position")
  func batches() throws {
    var fixture = try AgentFixture { $0.delivery.batch = 2 }
    _ = fixture.tell(.restored(try StoredPositionTests.records(Array(-60 ..< -55))), at: 1)
    _ = fixture.tell(.deadline, at: 11)
    let token = fixture.token()
    #expect(fixture.tell(.tokenEnded(id: 1, token), at: 11).brief == ["send 1 with past"])
    #expect(
      fixture.tell(.updateEnded(id: 1, AgentFixture.accepted), at: 11).brief == ["drop [-60.0, -59.0, -56.0] delivered"]
    )
    #expect(fixture.agent.nextDeadline(at: fixture.moment.boot) == .boot + .seconds(21))
    #expect(fixture.tell(.deadline, at: 21).brief == ["send 2 with past"])
    #expect(fixture.tell(.updateEnded(id: 2, AgentFixture.accepted), at: 21).brief == ["drop [-58.0, -57.0] delivered"])
    #expect(fixture.agent.delivery.backlog.isEmpty)
  }

  @Test("a fix that comes before goes first, with what is stored")
  func fixFirst() throws {
    var fixture = try AgentFixture()
    _ = fixture.tell(.restored(try StoredPositionTests.records([-300, -200])), at: 1)
    #expect(try fixture.drive(to: 2).brief.contains("fetch 1 https://t.test/truck-1"))
    let token = fixture.token()
    let sent = fixture.tell(.tokenEnded(id: 1, token), at: 2.2)
    #expect(sent.brief == ["send 1 with past"])
    #expect(
      fixture.tell(.updateEnded(id: 1, AgentFixture.accepted), at: 2.4).brief == [
        "drop [-300.0, -200.0, 2.0] delivered"
      ])
  }

  @Test("a failed attempt is made again; a source that is lost changes nothing")
  func failure() throws {
    var fixture = try AgentFixture()
    _ = fixture.tell(.source(0, .lost("unplugged")), at: 0.5)
    _ = fixture.tell(.restored(try StoredPositionTests.records([-100])), at: 1)
    _ = fixture.tell(.deadline, at: 11)
    let token = fixture.token()
    #expect(fixture.tell(.tokenEnded(id: 1, token), at: 11.2).brief == ["send 1"])
    _ = fixture.tell(.updateEnded(id: 1, AgentFixture.unreachable), at: 11.3)
    let again = try #require(fixture.agent.nextDeadline(at: fixture.moment.boot))
    #expect(again <= .boot + .seconds(13))
    #expect(fixture.tell(.deadline, at: (again - .boot).inSeconds).brief == ["send 2"])
    _ = fixture.tell(.updateEnded(id: 2, AgentFixture.accepted), at: 15)
    #expect(fixture.agent.delivery.backlog.isEmpty)
  }

  @Test("not during a pause")
  func pause() throws {
    var fixture = try AgentFixture()
    _ = fixture.tell(.pause(PauseNote(since: nil)), at: 0.5)
    _ = fixture.tell(.restored(try StoredPositionTests.records([-100])), at: 1)
    #expect(fixture.tell(.deadline, at: 100).brief.isEmpty)
    _ = fixture.tell(.resume, at: 200)
    #expect(fixture.tell(.deadline, at: 210).brief == ["fetch 1 https://t.test/truck-1"])
  }

  @Test("a recording that ends without a fix takes along what was stored")
  func recording() throws {
    var fixture = try AgentFixture()
    _ = fixture.tell(.restored(try StoredPositionTests.records([-200, -100])), at: 1)
    #expect(fixture.tell(.source(0, .ended), at: 2).brief == ["stopping", "fetch 1 https://t.test/truck-1"])
    let token = fixture.token()
    #expect(fixture.tell(.tokenEnded(id: 1, token), at: 2.2).brief == ["send 1 with past"])
    let end = fixture.tell(.updateEnded(id: 1, AgentFixture.accepted), at: 2.4)
    #expect(end.brief == ["drop [-200.0, -100.0] delivered", "finished 0"])
  }
}
