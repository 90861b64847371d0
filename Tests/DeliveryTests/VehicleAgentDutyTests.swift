// SPDX-License-Identifier: Apache-2.0
import AgentTesting
import Authorization
import FleetEngine
import HTTPMessages
import Testing
import Timekeeping

@testable import Delivery

/// A vehicle of on-demand trips: the state that goes with the duty.
@Suite struct VehicleAgentDutyTests {
  private static let paused = "keep pause 2026-12-01T00:00:05Z"
  private static let settled = "\(paused)\noffline trips/p/truck-1"

  private func fixture(
    _ change: (inout VehicleAgent.Configuration) -> Void = { _ in }
  ) throws -> AgentFixture {
    try AgentFixture {
      $0 = try AgentFixture.tripsConfiguration()
      change(&$0)
    }
  }

  @Test("a pause is stored, then OFFLINE is sent at once, and its acceptance is stored too")
  func pause() throws {
    var fixture = try fixture()
    try fixture.comeOnline()
    #expect(fixture.handle(.pause(nil), at: 5).brief == [Self.paused, "drop connections", "send 2 OFFLINE"])
    let effects = fixture.handle(.updateEnded(id: 2, AgentFixture.accepted), at: 5.2)
    #expect(effects.brief == [Self.settled])
    #expect(effects.events == [.stateOffline])
    #expect(fixture.isPausedForGood)
    #expect(fixture.snapshot().vehicleState == .offline)
    #expect(fixture.handle(.resume, at: 20).brief == ["keep pause no more"])
    #expect(try fixture.drive(to: 21).brief.last == "send 3")
  }

  @Test("a position that was in flight may still arrive: OFFLINE is sent once more after its deadline")
  func inFlight() throws {
    var fixture = try fixture()
    try fixture.comeOnline()
    for second in 1...11 { _ = try fixture.drive(to: Double(second)) }
    #expect(fixture.agent.delivery.sentAt != nil)
    let sentAt = try #require(fixture.agent.delivery.sentAt)
    #expect(fixture.handle(.pause(nil), at: 12).brief.suffix(2) == ["drop connections", "send 3 OFFLINE"])
    #expect(fixture.handle(.updateEnded(id: 3, AgentFixture.accepted), at: 12.2).brief.isEmpty)
    let due = sentAt + .seconds(15)
    #expect(fixture.agent.plan(at: .boot + .seconds(13)).next == .offline(due))
    let second = Double((due - .boot).nanoseconds) / 1e9
    #expect(fixture.handle(.deadline, at: second).brief == ["send 4 OFFLINE"])
    #expect(
      fixture.handle(.updateEnded(id: 4, AgentFixture.accepted), at: second + 0.2).brief
        == ["keep pause 2026-12-01T00:00:12Z\noffline trips/p/truck-1"])
    #expect(fixture.isPausedForGood)
  }

  @Test("OFFLINE is not held apart from a position as positions are from each other, and is no position of its own")
  func spacing() throws {
    var fixture = try fixture()
    try fixture.comeOnline()
    // 1 s after the position, and the next position 5 s after the one before.
    #expect(fixture.handle(.pause(nil), at: 1.5).brief.last == "send 2 OFFLINE")
    _ = fixture.handle(.updateEnded(id: 2, AgentFixture.accepted), at: 1.6)
    _ = fixture.handle(.resume, at: 2)
    _ = try fixture.drive(to: 3)
    #expect(fixture.agent.plan(at: .boot + .seconds(3)).next == .report(.boot + .milliseconds(5200)))
  }

  @Test(
    "a pause that was OFFLINE for good before a restart sends nothing; one for another vehicle, or not accepted, does")
  func restored() throws {
    func effects(_ note: String) throws -> [String] {
      var fixture = try fixture()
      _ = fixture.handle(.pause(PauseRecord(text: note)), at: 0)
      return fixture.handle(.tokenEnded(id: 1, fixture.token()), at: 0.1).brief
    }
    #expect(try effects("2026-12-01T00:00:05Z\noffline trips/p/truck-1\n") == [])
    #expect(try effects("2026-12-01T00:00:05Z\noffline trips/p/truck-2\n") == ["send 1 OFFLINE"])
    #expect(try effects("2026-12-01T00:00:05Z\noffline deliveries/p/truck-1\n") == ["send 1 OFFLINE"])
    #expect(try effects("") == ["send 1 OFFLINE"])
  }

  @Test("deliveries, and trips whose state another sets, send nothing in a pause", arguments: [true, false])
  func noState(isDelivery: Bool) throws {
    var fixture = try fixture {
      if isDelivery {
        if let configuration = try? AgentFixture.configuration() { $0 = configuration }
      } else {
        $0.delivery.endpoint.reportsState = false
      }
    }
    try fixture.comeOnline()
    #expect(fixture.handle(.pause(nil), at: 5).brief == [Self.paused, "drop connections"])
    #expect(fixture.isPausedForGood)
    #expect(fixture.snapshot().vehicleState == nil)
  }

  @Test("the same ID in the other service is another vehicle: nothing of the first is sent for it")
  func otherService() throws {
    var fixture = try AgentFixture()
    try fixture.comeOnline()
    for second in 1...4 { _ = try fixture.drive(to: Double(second)) }
    let trips = try AgentFixture.tripsConfiguration()
    let before = fixture.agent.configuration.delivery.endpoint
    #expect(!before.isSameVehicle(as: trips.delivery.endpoint))
    let effects = fixture.handle(.configure(trips), at: 5)
    #expect(effects.brief.filter { $0.hasPrefix("send") }.isEmpty)
    #expect(fixture.agent.delivery.delivered == nil)
    #expect(StoredRunState.name(of: before.vehicle) == "deliveries/p/truck-1")
    #expect(StoredRunState.name(of: trips.delivery.endpoint.vehicle) == "trips/p/truck-1")
  }

  @Test(
    "resumed while OFFLINE is in flight: ONLINE is sent after its outcome, and the journal has only the end of the pause"
  )
  func resumeUnderWay() throws {
    var fixture = try fixture()
    try fixture.comeOnline()
    _ = fixture.handle(.pause(nil), at: 5)
    #expect(fixture.handle(.resume, at: 6).brief == ["keep pause no more"])
    #expect(try fixture.drive(to: 7).brief == ["keep 7.0"])
    let effects = fixture.handle(.updateEnded(id: 2, AgentFixture.accepted), at: 7.5)
    #expect(effects.brief == ["send 3"] && effects.events.isEmpty)
    _ = fixture.handle(.updateEnded(id: 3, AgentFixture.accepted), at: 7.7)
    #expect(fixture.snapshot().vehicleState == .online)
  }

  @Test(
    "OFFLINE without a response, or given up for another network, may arrive until its deadline: ONLINE goes after that"
  )
  func lateOffline() throws {
    for isGivenUp in [true, false] {
      var fixture = try fixture()
      try fixture.comeOnline()
      _ = fixture.handle(.pause(nil), at: 5)
      _ = fixture.handle(.resume, at: 6)
      if isGivenUp {
        #expect(fixture.handle(.resumed(after: .seconds(1)), at: 7).brief == ["cancel update 2", "drop connections"])
      } else {
        let broken = HTTPOutcome.failure(TransportFailure(.broken, "reset"))
        #expect(fixture.handle(.updateEnded(id: 2, broken), at: 7).events == [.offline])
      }
      for second in 8...19 { #expect(!(try fixture.drive(to: Double(second)).brief.contains("send 3"))) }
      #expect(fixture.agent.delivery.earliest == (.boot + .seconds(20), by: .offline))
      #expect(try fixture.drive(to: 20).brief.contains("send 3 with past"))
    }
  }

  @Test("OFFLINE that was refused, or had no connection, cannot arrive: ONLINE goes with the first fix after it")
  func certain() throws {
    for outcome in [AgentFixture.error(503, "UNAVAILABLE"), AgentFixture.unreachable] {
      var fixture = try fixture()
      try fixture.comeOnline()
      _ = fixture.handle(.pause(nil), at: 5)
      _ = fixture.handle(.updateEnded(id: 2, outcome), at: 6)
      _ = fixture.handle(.resume, at: 8)
      #expect(try fixture.drive(to: 9).brief.contains("send 3"))
    }
  }

  @Test(
    "a position without a response shortly before the pause may follow too, also if it was sent on a reused connection that was closed without any data: OFFLINE is sent once more",
    arguments: [TransportFailure.Kind.broken, .unanswered, .timedOut])
  func unansweredBefore(kind: TransportFailure.Kind) throws {
    var fixture = try fixture()
    try fixture.comeOnline()
    for second in 1...10 { _ = try fixture.drive(to: Double(second)) }
    let sentAt = try #require(fixture.agent.delivery.sentAt)
    _ = fixture.handle(.updateEnded(id: 2, .failure(TransportFailure(kind, "reset"))), at: 10.5)
    #expect(fixture.handle(.pause(nil), at: 10.6).brief.last == "drop connections")
    #expect(fixture.handle(.deadline, at: 13).brief.last == "send 3 OFFLINE")
    #expect(fixture.handle(.updateEnded(id: 3, AgentFixture.accepted), at: 13.2).brief.isEmpty)
    #expect(fixture.agent.plan(at: .boot + .seconds(14)).next == .offline(sentAt + .seconds(15)))
  }

  @Test("a position that the server has refused unread cannot follow: one OFFLINE is enough")
  func refusedBefore() throws {
    var fixture = try fixture()
    try fixture.comeOnline()
    for second in 1...10 { _ = try fixture.drive(to: Double(second)) }
    _ = fixture.handle(.updateEnded(id: 2, .failure(TransportFailure(.unprocessed, "REFUSED_STREAM"))), at: 10.5)
    #expect(fixture.handle(.pause(nil), at: 10.6).brief.last == "drop connections")
    #expect(fixture.handle(.deadline, at: 13).brief.last == "send 3 OFFLINE")
    #expect(fixture.handle(.updateEnded(id: 3, AgentFixture.accepted), at: 13.2).brief.count == 1)
    let isSettled = fixture.isPausedForGood
    #expect(isSettled)
  }

  @Test("an unanswered position may follow although the next one was accepted, also after a restart")
  func unansweredAndResent() throws {
    var fixture = try fixture { $0.boot = "b1" }
    try fixture.comeOnline()
    for second in 1...10 { _ = try fixture.drive(to: Double(second)) }
    _ = fixture.handle(.updateEnded(id: 2, .failure(TransportFailure(.unanswered, "closed"))), at: 10.5)
    #expect(fixture.handle(.deadline, at: 11).brief.contains("send 3"))
    let effects = fixture.handle(.updateEnded(id: 3, AgentFixture.accepted), at: 11.2)
    var next = try self.fixture { $0.boot = "b1" }
    for case .storeRunState(let text) in effects { _ = next.handle(.runStateFound(text), at: 13) }
    #expect(next.agent.delivery.positionMayArriveUntil > .boot + .seconds(20))
    #expect(fixture.handle(.pause(nil), at: 13.5).brief.last == "send 4 OFFLINE")
    #expect(fixture.handle(.updateEnded(id: 4, AgentFixture.accepted), at: 13.7).brief.isEmpty)
    let isSettled = fixture.isPausedForGood
    #expect(!isSettled)
  }

  @Test("offline_on_stop: a last position that hangs is given up with its connection before OFFLINE is sent")
  func leave() throws {
    var fixture = try fixture { $0.goesOfflineOnStop = true }
    try fixture.comeOnline()
    for second in 1...11 { _ = try fixture.drive(to: Double(second)) }
    #expect(fixture.handle(.stop(within: .seconds(4), signal: "SIGTERM"), at: 12).brief == ["stopping"])
    #expect(fixture.handle(.deadline, at: 14).brief == ["cancel update 2", "drop connections", "send 3 OFFLINE"])
    // With its outcome known there is nothing to close.
    fixture = try self.fixture { $0.goesOfflineOnStop = true }
    try fixture.comeOnline()
    for second in 1...11 { _ = try fixture.drive(to: Double(second)) }
    _ = fixture.handle(.stop(within: .seconds(4), signal: "SIGTERM"), at: 12)
    #expect(
      fixture.handle(.updateEnded(id: 2, AgentFixture.accepted), at: 12.5).brief
        == ["drop [10.0] delivered", "send 3 OFFLINE"])
  }

  @Test("what was wrong with a position puts off OFFLINE no longer than its limit")
  func rejected() throws {
    var fixture = try fixture()
    try fixture.comeOnline()
    for second in 1...11 { _ = try fixture.drive(to: Double(second)) }
    _ = fixture.handle(.updateEnded(id: 2, AgentFixture.error(400, "INVALID_ARGUMENT")), at: 11.5)
    #expect(fixture.handle(.pause(nil), at: 13).brief.contains("send 3 OFFLINE"))
  }
}

extension AgentFixture {
  /// Whether the pause waits for nothing but its end.
  fileprivate var isPausedForGood: Bool {
    if case .paused(_, offline: nil) = agent.plan(at: moment.boot).cause { true } else { false }
  }
}
