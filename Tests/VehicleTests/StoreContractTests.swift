// SPDX-License-Identifier: Apache-2.0
import Delivery
import Expectations
import PositionBacklog
import ClockEstimation
import FixSources
import AgentTesting
import FleetEngine
import HTTPMessages
import Positioning
import Testing
import Timekeeping

@testable import Vehicle

/// What the agent and a store on disk require of each other.
struct StoreContractTests {
  /// Records with these times, in seconds since the fixture's start; negative times are before the start.
  private func records(_ seconds: [Double]) throws -> [Backlog.Record] {
    let place = try #require(Coordinate(latitude: 48, longitude: 11))
    return seconds.map {
      Backlog.Record(VehicleLocation(coordinate: place, time: AgentFixture.start + .milliseconds(Int64($0 * 1000))))
    }
  }

  @Test("a due position is queued before it is sent, and is pending again after the request has failed")
  func writeAhead() throws {
    var fixture = try AgentFixture()
    try fixture.comeOnline()
    try expectEqual(fixture.drive(to: 10.2).brief, ["keep 10.2", "send 2"])
    expectEqual(fixture.agent.delivery.backlog.count, 1)
    // The position is not pending while it is in flight.
    expectEqual(fixture.snapshot().pendingCount, 0)
    expectEqual(fixture.handle(.updateEnded(id: 2, AgentFixture.unreachable), at: 12).brief, [])
    expectEqual(fixture.snapshot().pendingCount, 1)
  }

  @Test("positions of the previous run are sent with the first update, and removed after its delivery")
  func restored() throws {
    var fixture = try AgentFixture()
    let effects = fixture.handle(.restored(try records([-20, -40, -30])), at: 0)
    expectEqual(effects.brief, [])
    expectEqual(effects.events, [.backlogRestored])
    _ = try fixture.drive(to: 0)
    let token = fixture.token()
    expectEqual(fixture.handle(.tokenEnded(id: 1, token), at: 0.1).brief, ["send 1 with past"])
    expectEqual(
      fixture.handle(.updateEnded(id: 1, AgentFixture.accepted), at: 0.2).brief,
      [
        "drop [-40.0, -30.0, -20.0, 0.0] delivered"
      ])
    expect(fixture.agent.delivery.isIdle && !fixture.agent.delivery.hasOverduePosition)
  }

  @Test("the store is read when the first request ends, and its positions are sent with the next request")
  func readAfterFirstRequest() throws {
    var fixture = try AgentFixture()
    expectEqual(fixture.handle(.store(.unread), at: 0).brief, [])
    try expectEqual(fixture.drive(to: 0).brief, ["fetch 1 https://t.test/truck-1", "keep 0.0"])
    let token = fixture.token()
    expectEqual(fixture.handle(.tokenEnded(id: 1, token), at: 0.1).brief, ["send 1"])
    expectEqual(
      fixture.handle(.updateEnded(id: 1, AgentFixture.accepted), at: 0.2).brief,
      [
        "drop [0.0] delivered", "read store",
      ])
    expectEqual(fixture.handle(.restored(try records([-30, -20])), at: 0.3).brief, [])
    expectEqual(fixture.handle(.store(.healthy), at: 0.3).brief, [])
    expectEqual(fixture.handle(.deadline, at: 4).brief, [])
    try expectEqual(fixture.drive(to: 10.2).brief, ["keep 10.2", "send 2 with past"])
  }

  @Test("if no request is made, the store is read after three seconds, which do not prolong the wait for a fix")
  func readWithoutRequest() throws {
    var fixture = try AgentFixture()
    expectEqual(fixture.handle(.store(.unread), at: 1).brief, [])
    expectEqual(fixture.agent.nextDeadline(at: fixture.moment.boot), .boot + .seconds(4))
    expectEqual(fixture.handle(.deadline, at: 4).brief, ["read store"])
    _ = fixture.handle(.restored(try records([-30])), at: 4)
    expectEqual(fixture.agent.nextDeadline(at: fixture.moment.boot), .boot + .seconds(11))
  }

  @Test("after the end of a recording the agent waits until the store is read, unless it cannot be read")
  func readAtTheEnd() throws {
    for answer in [.restored([]), .store(.memoryOnly("it is full")), .store(.off)] as [VehicleAgent.Input] {
      var fixture = try AgentFixture()
      _ = fixture.handle(.store(.unread), at: 0)
      try fixture.comeOnline()
      expectEqual(fixture.handle(.source(0, .ended), at: 0.3).brief, ["stopping"])
      expectEqual(fixture.handle(answer, at: 0.4).brief, ["finished 0"])
    }
    var fixture = try AgentFixture()
    _ = fixture.handle(.store(.unread), at: 0)
    expectEqual(fixture.handle(.source(0, .ended), at: 0.1).brief, ["stopping", "read store"])
    let left = try records([-30])
    expectEqual(fixture.handle(.restored(left), at: 0.2).brief, ["fetch 1 https://t.test/truck-1"])
    // A reload just after the start has turned the store off, before it was due to be read.
    fixture = try AgentFixture()
    _ = fixture.handle(.store(.unread), at: 0)
    _ = fixture.handle(.store(.off), at: 0)
    try fixture.comeOnline()
    expectEqual(fixture.handle(.source(0, .ended), at: 0.3).brief, ["stopping", "finished 0"])
  }

  @Test("a live position that is rejected alone is replaced by the newest accepted one until the next fix")
  func rejectedLive() throws {
    var fixture = try AgentFixture()
    try fixture.comeOnline()
    let refusal = AgentFixture.error(400, "INVALID_ARGUMENT")
    func live(_ effects: [VehicleAgent.Effect], isAt second: Int) -> Bool {
      effects.contains {
        guard case .sendUpdate(_, let request) = $0 else { return false }
        let body = String(decoding: request.body, as: UTF8.self)
        let stamp = (AgentFixture.start + .seconds(second)).rfc3339.prefix(19)
        return body.prefix { $0 != "[" }.contains(stamp) || !body.contains("pastLocations") && body.contains(stamp)
      }
    }
    _ = fixture.handle(.restored(try records([-40])), at: 1)
    expect(live(try fixture.drive(to: 10), isAt: 10))
    expectEqual(fixture.handle(.updateEnded(id: 2, refusal), at: 11).brief, [])
    expect(live(fixture.handle(.deadline, at: 12.1), isAt: 10))
    expect(fixture.handle(.updateEnded(id: 3, refusal), at: 13).events.contains(.offline))
    // Fleet Engine has accepted the position of second 0, which is newer than the pending ones.
    let again = fixture.handle(.deadline, at: 55)
    expectEqual(again.brief, ["send 4 with past"])
    expect(live(again, isAt: 0))
    expectEqual(fixture.handle(.updateEnded(id: 4, AgentFixture.accepted), at: 56).brief, ["drop [-40.0] delivered"])
    for second in 57...100 { expectEqual(fixture.handle(.deadline, at: Double(second)).brief, []) }
    let next = try fixture.drive(to: 101)
    expectEqual(next.brief, ["keep 101.0", "send 5 with past"])
    expect(live(next, isAt: 101))
  }

  @Test("a stored position that was already delivered is removed")
  func knownDelivered() throws {
    var fixture = try AgentFixture()
    try fixture.comeOnline()
    expectEqual(fixture.handle(.restored(try records([-5, 0])), at: 1).brief, ["drop [0.0] delivered"])
    // A store that is read late also has positions that are in memory.
    expectEqual(fixture.handle(.restored(try records([-5])), at: 2).events, [])
    expectEqual(fixture.agent.delivery.backlog.count, 1)
  }

  @Test("a backlog above its limit, in positions or bytes, is thinned", arguments: [true, false])
  func tooMuch(isByBytes: Bool) throws {
    var fixture = try AgentFixture {
      if isByBytes { $0.delivery.maxBytes = 2 * Backlog.recordSize + 255 } else { $0.delivery.maxLocations = 2 }
    }
    expect(MemoryLayout<Backlog.Record>.stride <= Backlog.recordSize)
    expectEqual(fixture.handle(.restored(try records([-5, -6, -7])), at: 1).brief, ["drop [-6.0] thinned"])
  }

  @Test(
    "positions expire once timestamps have agreed with elapsed time for five minutes; old ones stay unsent until then")
  func age() throws {
    var fixture = try AgentFixture { $0.delivery.maxAge = .seconds(1000) }
    _ = fixture.handle(.restored(try records([-2000, -1200, -900, 50_000])), at: 0)
    expectEqual(fixture.handle(.deadline, at: 5).brief, [])
    var past: String?
    for second in 10...330 {
      var effects = try fixture.drive(to: Double(second))
      while !effects.isEmpty {
        switch effects.removeFirst() {
        case .fetchToken(let id, _): effects += fixture.handle(.tokenEnded(id: id, fixture.token()), at: fixture.now)
        case .sendUpdate(let id, let request):
          if request.url.contains("past") { past = past ?? String(decoding: request.body, as: UTF8.self) }
          effects += fixture.handle(.updateEnded(id: id, AgentFixture.accepted), at: fixture.now)
        default: break
        }
      }
      if second < 310 { expect(fixture.agent.delivery.backlog.contains(AgentFixture.start - .seconds(2000))) }
    }
    expect(fixture.agent.delivery.backlog.isEmpty)
    expectEqual(fixture.agent.statistics.removed[.expired], 2)
    expectEqual(fixture.agent.statistics.removed[.misdated], 1)
    let stamps = (past ?? "").components(after: "pastLocations")
    expect(stamps.contains((AgentFixture.start - .seconds(900)).rfc3339.prefix(19)))
    expect(!stamps.contains((AgentFixture.start - .seconds(1200)).rfc3339.prefix(19)))
  }

  @Test("a receiver's time is not used until steady for five minutes, and a position from the future is not sent")
  func coldStart() throws {
    var time = SteadyTime()
    time.observe(Timestamp(seconds: 2_000_000_000), at: .boot)
    expectNil(time.time)
    for second in 1...299 {
      time.observe(Timestamp(seconds: 1_800_000_000 + Int64(second)), at: .boot + .seconds(second))
      expectNil(time.time)
    }
    time.observe(Timestamp(seconds: 1_800_000_301), at: .boot + .seconds(301))
    expectEqual(time.time, Timestamp(seconds: 1_800_000_301))
    for second in 302...601 {
      time.observe(Timestamp(seconds: 1_900_000_000 + Int64(second)), at: .boot + .seconds(second))
      expectNil(time.time)
    }
    time.observe(Timestamp(seconds: 1_900_000_602), at: .boot + .seconds(602))
    expectEqual(time.time, Timestamp(seconds: 1_900_000_602))

    var fixture = try AgentFixture()
    _ = fixture.handle(.restored(try records([90_000])), at: 0)
    try fixture.comeOnline()
    expect(fixture.agent.delivery.isIdle && !fixture.agent.delivery.hasOverduePosition)
  }

  @Test(
    "another vehicle's positions are dropped from memory but not from disk, and restored when it is configured again")
  func otherVehicle() throws {
    var fixture = try AgentFixture()
    try fixture.comeOnline()
    _ = fixture.handle(.restored(try records([-50, -40])), at: 1)
    expect(
      !fixture.handle(.configure(try AgentFixture.configuration(vehicle: "truck-2")), at: 2).brief.contains {
        $0.hasPrefix("drop") || $0.contains("past")
      })
    expect(fixture.agent.delivery.backlog.records.allSatisfy { $0.id >= AgentFixture.start })
    _ = fixture.handle(.configure(try AgentFixture.configuration()), at: 3)
    _ = fixture.handle(.restored(try records([-50, -40])), at: 3)
    for second in [40, 50] { expect(fixture.agent.delivery.backlog.contains(AgentFixture.start - .seconds(second))) }
  }

  @Test("the store is asked to drop other vehicles' old positions only once the time is certain, and then rarely")
  func others() throws {
    var fixture = try AgentFixture()
    var removals = 0
    for second in 0...700 {
      removals += try fixture.drive(to: Double(second)).count { if case .forgetOthers = $0 { true } else { false } }
      if second < 300 { expectEqual(removals, 0) }
    }
    expectEqual(removals, 1)
  }

  @Test("a store failure is reported once, and is in the snapshot until the store works again")
  func state() throws {
    var fixture = try AgentFixture()
    expectEqual(fixture.handle(.store(.healthy), at: 0).events, [])
    let why = "/var/lib/x/backlog.sqlite: the disk is full"
    expectEqual(fixture.handle(.store(.memoryOnly(why)), at: 1).events, [.backlogInMemory])
    expectEqual(fixture.handle(.store(.memoryOnly(why)), at: 2).events, [])
    expectEqual(fixture.snapshot().store, .memoryOnly(why))
    expectEqual(fixture.handle(.store(.healthy), at: 3).events, [.backlogOnDisk])
    expectEqual(fixture.handle(.store(.healthy), at: 4).events, [])
    expectEqual(fixture.snapshot().store, .healthy)
    expectEqual(
      fixture.handle(.storeSetAside(name: "backlog.sqlite.corrupt-1", why: "x"), at: 5).events, [.storeSetAside])
  }

  @Test("a store that starts over gets all positions in memory, even after the end of the run")
  func startsOver() throws {
    var fixture = try AgentFixture()
    _ = fixture.handle(.restored(try records([-20, -10])), at: 0)
    expectEqual(fixture.handle(.storeStartsOver, at: 1).brief, ["keep all [-20.0, -10.0]"])
    _ = fixture.handle(.stop(within: .zero, signal: "SIGTERM"), at: 2)
    expect(fixture.handle(.deadline, at: 3).isEmpty)
    expectEqual(fixture.handle(.storeStartsOver, at: 4).brief, ["keep all [-20.0, -10.0]"])
  }
}

extension String {
  fileprivate func components(after mark: String) -> Substring {
    var rest = self[...]
    while !rest.isEmpty, !rest.hasPrefix(mark) { rest = rest.dropFirst() }
    return rest
  }
}
