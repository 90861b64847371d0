// SPDX-License-Identifier: Apache-2.0
import Expectations
import Reporting
import Delivery
import SourceSelection
import PositionBacklog
import FixSources
import AgentTesting
import HTTPMessages
import Positioning
import Testing
import Timekeeping

@testable import Vehicle

struct VehicleAgentTests {
  @Test("at the first fix the position is queued, a token fetched, and the update sent; then the record is removed")
  func firstUpdate() throws {
    var fixture = try AgentFixture()
    let first = try fixture.drive(to: 0)
    expectEqual(first.brief, ["fetch 1 https://t.test/truck-1", "keep 0.0"])
    expectEqual(first.events, [.firstFix])
    let token = fixture.token()
    expectEqual(fixture.handle(.tokenEnded(id: 1, token), at: 0.1).brief, ["send 1"])
    let last = fixture.handle(.updateEnded(id: 1, AgentFixture.accepted), at: 0.2)
    expectEqual(last.brief, ["drop [0.0] delivered"])
    expectEqual(last.events, [.online, .updateAccepted])
  }

  @Test("positions that become due while a request is in flight are queued, and sent after it")
  func oneInFlight() throws {
    var fixture = try AgentFixture()
    try fixture.comeOnline()
    try expectEqual(fixture.drive(to: 10.2).brief, ["keep 10.2", "send 2"])
    try expectEqual(fixture.drive(to: 15).brief, [])
    try expectEqual(fixture.drive(to: 20.2).brief, ["keep 20.2"])
    expectEqual(fixture.handle(.updateEnded(id: 2, AgentFixture.accepted), at: 24).brief, ["drop [10.2] delivered"])
    expectEqual(fixture.agent.nextDeadline(at: fixture.moment.boot), .boot + .seconds(29))
    try expectEqual(fixture.drive(to: 25).brief, [])
    expectEqual(fixture.handle(.deadline, at: 29).brief, ["send 3 with past"])
    expectEqual(fixture.handle(.updateEnded(id: 3, AgentFixture.accepted), at: 29.2).brief, ["drop [20.2] delivered"])
  }

  @Test("a requested position is sent at once, or after the minimum interval; during an outage it is queued")
  func sendNow() throws {
    var fixture = try AgentFixture()
    expectEqual(fixture.agent.sendRefusal, .noFix)
    try fixture.comeOnline()
    for second in 1...3 { _ = try fixture.drive(to: Double(second)) }
    expectNil(fixture.agent.sendRefusal)
    expectEqual(fixture.handle(.sendNow, at: 3.2).brief, [])
    expectEqual(fixture.agent.nextDeadline(at: fixture.moment.boot), .boot + .milliseconds(5200))
    try expectEqual(fixture.drive(to: 5).brief, [])
    expectEqual(fixture.handle(.deadline, at: 5.2).brief, ["keep 5.0", "send 2"])
    _ = fixture.handle(.updateEnded(id: 2, AgentFixture.accepted), at: 5.4)
    for second in 6...11 { try expectEqual(fixture.drive(to: Double(second)).brief, []) }
    expectEqual(fixture.handle(.sendNow, at: 11.5).brief, ["keep 11.0", "send 3"])
    _ = fixture.handle(.updateEnded(id: 3, AgentFixture.unreachable), at: 12)
    _ = try fixture.drive(to: 13)
    _ = fixture.handle(.sendNow, at: 17.5)
    expectEqual(fixture.agent.delivery.backlog.count, 2)
    _ = fixture.handle(.pause(nil), at: 18)
    expectEqual(fixture.agent.sendRefusal, .paused)
  }

  @Test("a position that is requested while it is in flight does not delay the heartbeat")
  func sendNowInFlight() throws {
    var fixture = try AgentFixture()
    try fixture.comeOnline()
    try expectEqual(fixture.drive(to: 10.2).brief, ["keep 10.2", "send 2"])
    expectEqual(fixture.handle(.sendNow, at: 18).brief, [])
    expectEqual(fixture.handle(.updateEnded(id: 2, AgentFixture.accepted), at: 20).brief, ["drop [10.2] delivered"])
    expectEqual(fixture.agent.policy.next?.at, .boot + .milliseconds(60_200))
  }

  @Test("a position that is to be repeated while it is in flight does not delay the next heartbeat")
  func heartbeatInFlight() throws {
    var fixture = try AgentFixture()
    try fixture.comeOnline()
    _ = try fixture.drive(to: 10.2)
    _ = fixture.handle(.updateEnded(id: 2, AgentFixture.unreachable), at: 50)
    let sentAt = try #require(fixture.agent.nextDeadline(at: fixture.moment.boot))
    expectEqual(fixture.handle(.deadline, at: (sentAt - .boot).inSeconds).brief, ["send 3"])
    expectEqual(fixture.handle(.deadline, at: 60.2).brief, [])
    expectEqual(fixture.agent.policy.next?.at, sentAt + .seconds(50))
  }

  @Test("a position that is in flight for longer than the heartbeat is due once in each heartbeat")
  func shortHeartbeat() throws {
    var fixture = try AgentFixture { $0.reporting.heartbeat = .seconds(4) }
    try fixture.comeOnline()
    _ = try fixture.drive(to: 10.2)
    for due in [14_200, 18_200] {
      expectEqual(fixture.agent.policy.next?.at, .boot + .milliseconds(due))
      expectEqual(fixture.handle(.deadline, at: Double(due) / 1000).brief, [])
    }
  }

  @Test("during an outage each due position is queued once, and updates are retried")
  func outage() throws {
    var fixture = try AgentFixture()
    try fixture.comeOnline()
    var id: UInt64 = 1
    var queued = 0
    for second in 1...120 {
      var effects = try fixture.drive(to: Double(second))
      if let deadline = fixture.agent.nextDeadline(at: fixture.moment.boot),
        deadline < fixture.moment.boot + .seconds(1)
      {
        effects += fixture.handle(.deadline, at: (deadline - .boot).inSeconds)
      }
      for effect in effects {
        if case .sendUpdate(let sent, _) = effect {
          id = sent
          queued += fixture.handle(.updateEnded(id: id, AgentFixture.unreachable), at: fixture.now).brief.count
        }
      }
      queued += effects.brief.count { $0.hasPrefix("keep") }
    }
    expectEqual(queued, 12)
    expectEqual(fixture.agent.delivery.backlog.count, queued)
    expectEqual(id, 24)
  }

  @Test("after a 401 the update is sent again with a fresh token; a second 401 is reported, and attempts slow down")
  func unauthenticated() throws {
    var fixture = try AgentFixture()
    try fixture.comeOnline()
    _ = try fixture.drive(to: 10.2)
    let refused = AgentFixture.error(401, "UNAUTHENTICATED")
    expectEqual(fixture.handle(.updateEnded(id: 2, refused), at: 10.3).events, [.offline])
    expectEqual(fixture.agent.nextDeadline(at: fixture.moment.boot), .boot + .milliseconds(11_300))
    expectEqual(fixture.handle(.deadline, at: 11.3).brief, ["fetch 2 https://t.test/truck-1"])
    let token = fixture.token()
    expectEqual(fixture.handle(.tokenEnded(id: 2, token), at: 11.4).brief, ["send 3"])
    let again = fixture.handle(.updateEnded(id: 3, refused), at: 11.5)
    expect(again.events.contains(.tokenRefused))
    for second in 12..<70 {
      expect(try fixture.drive(to: Double(second)).brief.allSatisfy { $0.hasPrefix("keep") })
    }
  }

  @Test("an update that is denied with past positions is sent again without them, and with the same token")
  func pastDenied() throws {
    var fixture = try AgentFixture()
    try fixture.comeOnline()
    _ = try fixture.drive(to: 10.2)
    _ = fixture.handle(.updateEnded(id: 2, AgentFixture.unreachable), at: 10.3)
    expectEqual(fixture.agent.delivery.backlog.count, 1)
    let effects = try fixture.drive(to: 12)
    expectEqual(effects.brief, ["send 3 with past"])
    let denied = fixture.handle(.updateEnded(id: 3, AgentFixture.error(403, "PERMISSION_DENIED")), at: 12.1)
    expectEqual(denied.events, [])
    expectEqual(fixture.handle(.deadline, at: 13.2).brief, ["send 4"])
    let accepted = fixture.handle(.updateEnded(id: 4, AgentFixture.accepted), at: 13.3).events
    expectEqual(accepted.first, .backfillRefused)
    expect(accepted.contains(.online))
    // After a gap the first fix needs a second one to confirm it.
    expect(try fixture.drive(to: 23).brief.isEmpty)
    try expectEqual(fixture.drive(to: 24).brief, ["keep 24.0", "send 5"])
    expectEqual(fixture.agent.statistics.tokenFetches, 1)
    expectEqual(fixture.agent.delivery.pendingCount, 1)
  }

  @Test(
    "a reload to another vehicle cancels the request in flight, leaves the backlog in the store, and fetches a token")
  func otherVehicle() throws {
    var fixture = try AgentFixture()
    try fixture.comeOnline()
    _ = try fixture.drive(to: 10.2)
    _ = fixture.handle(.updateEnded(id: 2, AgentFixture.unreachable), at: 10.3)
    _ = try fixture.drive(to: 12)
    let effects = fixture.handle(.configure(try AgentFixture.configuration(vehicle: "truck-2")), at: 12.5)
    expect(effects.brief.contains("cancel update 3"))
    expect(!effects.brief.contains { $0.hasPrefix("drop") })
    expect(fixture.agent.delivery.backlog.isEmpty)
    // The minimum spacing of attempts applies to the new vehicle too.
    expect(fixture.handle(.updateEnded(id: 3, AgentFixture.accepted), at: 12.6).events.isEmpty)
    let next = fixture.handle(.deadline, at: 13.1)
    expect((effects + next).brief.contains("fetch 2 https://t.test/truck-2"))
  }

  @Test("a vehicle that is configured again within five seconds keeps its minimum interval; each vehicle has its own")
  func thereAndBack() throws {
    var fixture = try AgentFixture()
    try fixture.comeOnline()
    _ = fixture.handle(.configure(try AgentFixture.configuration(vehicle: "truck-2")), at: 1.2)
    let other = fixture.token(vehicle: "truck-2")
    _ = fixture.handle(.deadline, at: 1.3)
    expectEqual(fixture.handle(.tokenEnded(id: 2, other), at: 1.4).brief, ["send 2"])
    expect(
      !fixture.handle(.configure(try AgentFixture.configuration()), at: 2.5).brief.contains { $0.hasPrefix("fetch") })
    expectEqual(fixture.agent.nextDeadline(at: fixture.moment.boot), .boot + .milliseconds(5200))
    expect(fixture.handle(.deadline, at: 5.2).brief.contains("fetch 3 https://t.test/truck-1"))
    let token = fixture.token()
    expect(fixture.handle(.tokenEnded(id: 3, token), at: 5.3).brief.contains("send 3"))
    // The update of the other vehicle was cancelled in flight at 2.5 s, and may have arrived.
    _ = fixture.handle(.configure(try AgentFixture.configuration(vehicle: "truck-2")), at: 5.5)
    expectEqual(fixture.agent.nextDeadline(at: fixture.moment.boot), .boot + .milliseconds(7500))
  }

  @Test("a reload with the same vehicle keeps token, backlog and requests in flight")
  func sameVehicle() throws {
    var fixture = try AgentFixture()
    try fixture.comeOnline()
    _ = try fixture.drive(to: 10.2)
    var settings = try AgentFixture.configuration()
    settings.reporting.interval = .seconds(20)
    expectEqual(fixture.handle(.configure(settings), at: 10.3).brief, [])
    expectEqual(fixture.handle(.updateEnded(id: 2, AgentFixture.accepted), at: 10.4).events, [.updateAccepted])
    try expectEqual(fixture.drive(to: 21).brief, [])
    try expectEqual(fixture.drive(to: 30.2).brief, ["keep 30.2", "send 3"])
  }

  @Test("a stop with everything delivered takes effect at once; a second request to stop changes nothing")
  func stopDelivered() throws {
    var fixture = try AgentFixture()
    try fixture.comeOnline()
    expectEqual(fixture.handle(.stop(within: .seconds(3), signal: "SIGTERM"), at: 4).brief, ["stopping", "finished 0"])
    expect(fixture.handle(.stop(within: .seconds(3), signal: "SIGTERM"), at: 5).isEmpty)
    expect(try fixture.drive(to: 6).isEmpty)
    expectNil(fixture.agent.nextDeadline(at: fixture.moment.boot))
  }

  @Test("a stop waits for the minimum interval of five seconds if there is time, and sends the newest position")
  func stopWaits() throws {
    var fixture = try AgentFixture()
    try fixture.comeOnline()
    _ = try fixture.drive(to: 3)
    expectEqual(fixture.handle(.stop(within: .seconds(3), signal: "SIGTERM"), at: 3.5).brief, ["stopping"])
    expectEqual(fixture.agent.nextDeadline(at: fixture.moment.boot), .boot + .milliseconds(5200))
    expectEqual(fixture.handle(.deadline, at: 5.2).brief, ["keep 3.0", "send 2"])
    expectEqual(
      fixture.handle(.updateEnded(id: 2, AgentFixture.accepted), at: 5.3).brief,
      [
        "drop [3.0] delivered", "finished 0",
      ])
  }

  @Test("at the stop timeout the request in flight is cancelled, and its position stays in the store")
  func stopInFlight() throws {
    var fixture = try AgentFixture()
    try fixture.comeOnline()
    _ = try fixture.drive(to: 10.2)
    expectEqual(fixture.handle(.stop(within: .seconds(3), signal: "SIGTERM"), at: 11).brief, ["stopping"])
    expectEqual(fixture.agent.nextDeadline(at: fixture.moment.boot), .boot + .seconds(14))
    expectEqual(fixture.handle(.deadline, at: 14).brief, ["cancel update 2", "finished 1"])
  }

  @Test("a request that has not ended half a minute after its deadline is treated as a hang")
  func progress() throws {
    var fixture = try AgentFixture()
    try fixture.comeOnline()
    _ = try fixture.drive(to: 10.2)
    expect(fixture.agent.isProgressing(at: .boot + .seconds(30)))
    expect(!fixture.agent.isProgressing(at: .boot + .seconds(70)))
  }

  @Test("with no request in flight, a deadline that is not handled within half a minute is treated as a hang")
  func progressWithoutRequest() throws {
    var fixture = try AgentFixture()
    try fixture.comeOnline()
    let due = try #require(fixture.agent.nextDeadline(at: fixture.moment.boot))
    expect(fixture.agent.isProgressing(at: due - .seconds(1)))
    expect(fixture.agent.isProgressing(at: due + .seconds(29)))
    expect(!fixture.agent.isProgressing(at: due + .seconds(31)))
  }

  @Test("a source that waits may report its next fix once the previous one is delivered or rejected")
  func readyForNextFix() throws {
    var fixture = try AgentFixture {
      $0.reporting.interval = .zero
      $0.delivery.floor = .zero
      $0.delivery.backfillInterval = .zero
    }
    var source = AgentFixture.source
    source.waitsAfterFix = true
    _ = fixture.handle(.sources([source]), at: 0)
    expect(try !fixture.drive(to: 0).brief.contains("ready"))
    let token = fixture.token()
    expect(!fixture.handle(.tokenEnded(id: 1, token), at: 0.001).brief.contains("ready"))
    expectEqual(fixture.handle(.updateEnded(id: 1, AgentFixture.accepted), at: 0.002).brief.last, "ready")
    // The source is notified once for each fix.
    expect(!fixture.handle(.deadline, at: 0.003).brief.contains("ready"))
    // The rate is not limited on the loopback: a hundred updates in a tenth of a second.
    for step in 1...100 {
      try expectEqual(fixture.drive(to: 0.01 + Double(step) / 1000, speed: 0.5).brief.last, "send \(step + 1)")
      let effects = fixture.handle(.updateEnded(id: UInt64(step + 1), AgentFixture.accepted), at: fixture.now + 0.0005)
      expectEqual(effects.brief.last, "ready")
    }
    // A rejected fix, here a duplicate, is not sent.
    try expectEqual(fixture.drive(to: 0.11, speed: 0.5).brief, ["ready"])
    // During a pause a recording waits.
    _ = fixture.handle(.pause(nil), at: 1)
    try expectEqual(fixture.drive(to: 2).brief, [])
    expectEqual(fixture.handle(.resume, at: 3).brief.last, "ready")
  }

  @Test("two recordings at pace 0 may both continue after an update")
  func twoWait() throws {
    var fixture = try AgentFixture()
    let sources = (0...1).map {
      SourceSelector.ConfiguredSource(
        id: $0, label: "recording \($0)", silenceTimeout: .seconds(10), waitsAfterFix: true)
    }
    _ = fixture.handle(.sources(sources), at: 0)
    _ = try fixture.drive(to: 0)
    let coordinate = try #require(Coordinate(latitude: 48, longitude: 11))
    let fix = Fix(coordinate: coordinate, time: .utc(fixture.moment.wall))
    expectEqual(fixture.handle(.source(1, .fix(fix)), at: 0.05).brief, [])
    let token = fixture.token()
    _ = fixture.handle(.tokenEnded(id: 1, token), at: 0.1)
    let effects = fixture.handle(.updateEnded(id: 1, AgentFixture.accepted), at: 0.2)
    expectEqual(effects.filter { [.readyForNextFix(0), .readyForNextFix(1)].contains($0) }.count, 2)
  }

  @Test("a real-time source is not notified that it may report its next fix")
  func clocked() throws {
    var fixture = try AgentFixture()
    try fixture.comeOnline()
    try expectEqual(fixture.drive(to: 1).brief, [])
  }

  @Test("a jump of the clock that dates positions is a segment break, across which nothing is thinned")
  func clockJump() throws {
    var fixture = try AgentFixture()
    var records = [Backlog.Record]()
    for second in 0...60 {
      let place = try #require(Coordinate(latitude: 48 + Double(second) * 14 / 111_200, longitude: 11))
      fixture.now = Double(second)
      var fix = Fix(coordinate: place, time: .utc(fixture.moment.wall + .seconds(second > 20 ? 18 : 0)))
      fix.speed = 14
      fix.horizontalAccuracy = 3
      for case .backlog(.added(let record)) in fixture.handle(.source(0, .fix(fix)), at: Double(second)) {
        records.append(record)
      }
    }
    expectEqual(records.count, 7)
    expectEqual(records.filter { $0.interpolationError == .infinity }.map { AgentFixture.second($0.id) }, [48])
  }
}
