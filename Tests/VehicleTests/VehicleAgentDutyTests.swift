// SPDX-License-Identifier: Apache-2.0
import Delivery
import AgentTesting
import Authorization
import Expectations
import FleetEngine
import HTTPMessages
import Testing
import Timekeeping

@testable import Vehicle

/// A vehicle of on-demand trips, whose state follows the driver's duty.
struct VehicleAgentDutyTests {
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
    expectEqual(fixture.handle(.pause(nil), at: 5).brief, [Self.paused, "drop connections", "send 2 OFFLINE"])
    let effects = fixture.handle(.updateEnded(id: 2, AgentFixture.accepted), at: 5.2)
    expectEqual(effects.brief, [Self.settled])
    expectEqual(effects.events, [.stateOffline])
    expect(fixture.isPauseSettled)
    expectEqual(fixture.snapshot().vehicleState, .offline)
    expectEqual(fixture.handle(.resume, at: 20).brief, ["keep pause no more"])
    try expectEqual(fixture.drive(to: 21).brief.last, "send 3")
  }

  @Test("a position in flight at the start of a pause may still arrive, so OFFLINE is sent again after its deadline")
  func inFlight() throws {
    var fixture = try fixture()
    try fixture.comeOnline()
    for second in 1...11 { _ = try fixture.drive(to: Double(second)) }
    expect(fixture.agent.delivery.sentAt != nil)
    let sentAt = try #require(fixture.agent.delivery.sentAt)
    expectEqual(fixture.handle(.pause(nil), at: 12).brief.suffix(2), ["drop connections", "send 3 OFFLINE"])
    expect(fixture.handle(.updateEnded(id: 3, AgentFixture.accepted), at: 12.2).brief.isEmpty)
    let due = sentAt + .seconds(15)
    expectEqual(fixture.agent.plan(at: .boot + .seconds(13)).next, .offline(due))
    let second = Double((due - .boot).nanoseconds) / 1e9
    expectEqual(fixture.handle(.deadline, at: second).brief, ["send 4 OFFLINE"])
    expectEqual(
      fixture.handle(.updateEnded(id: 4, AgentFixture.accepted), at: second + 0.2).brief,
      ["keep pause 2026-12-01T00:00:12Z\noffline trips/p/truck-1"])
    expect(fixture.isPauseSettled)
  }

  @Test("OFFLINE does not wait for the minimum interval after a position, and does not delay the next position")
  func spacing() throws {
    var fixture = try fixture()
    try fixture.comeOnline()
    // OFFLINE is sent 1 s after a position; the next position is due 5 s after the previous position.
    expectEqual(fixture.handle(.pause(nil), at: 1.5).brief.last, "send 2 OFFLINE")
    _ = fixture.handle(.updateEnded(id: 2, AgentFixture.accepted), at: 1.6)
    _ = fixture.handle(.resume, at: 2)
    _ = try fixture.drive(to: 3)
    expectEqual(fixture.agent.plan(at: .boot + .seconds(3)).next, .report(.boot + .milliseconds(5200)))
  }

  @Test("after a restart in a pause OFFLINE is sent unless it was accepted for this vehicle before the restart")
  func restored() throws {
    func effects(_ text: String) throws -> [String] {
      var fixture = try fixture()
      _ = fixture.handle(.pause(PauseRecord(text: text)), at: 0)
      return fixture.handle(.tokenEnded(id: 1, fixture.token()), at: 0.1).brief
    }
    try expectEqual(effects("2026-12-01T00:00:05Z\noffline trips/p/truck-1\n"), [])
    try expectEqual(effects("2026-12-01T00:00:05Z\noffline trips/p/truck-2\n"), ["send 1 OFFLINE"])
    try expectEqual(effects("2026-12-01T00:00:05Z\noffline deliveries/p/truck-1\n"), ["send 1 OFFLINE"])
    try expectEqual(effects(""), ["send 1 OFFLINE"])
  }

  @Test(
    "delivery vehicles, and trip vehicles whose state another system sets, send nothing during a pause",
    arguments: [true, false])
  func noState(isDelivery: Bool) throws {
    var fixture = try fixture {
      if isDelivery {
        if let configuration = try? AgentFixture.configuration() { $0 = configuration }
      } else {
        $0.delivery.endpoint.reportsState = false
      }
    }
    try fixture.comeOnline()
    expectEqual(fixture.handle(.pause(nil), at: 5).brief, [Self.paused, "drop connections"])
    expect(fixture.isPauseSettled)
    expectNil(fixture.snapshot().vehicleState)
  }

  @Test("after a reload to report_state = false, an OFFLINE from before it does not keep queued positions waiting")
  func stateNoLongerReported() throws {
    var fixture = try fixture()
    try fixture.comeOnline()
    _ = fixture.handle(.pause(nil), at: 5)
    _ = fixture.handle(.updateEnded(id: 2, AgentFixture.accepted), at: 5.2)
    expectEqual(fixture.snapshot().vehicleState, .offline)
    var configuration = fixture.agent.configuration
    configuration.delivery.endpoint.reportsState = false
    _ = fixture.handle(.configure(configuration), at: 6)
    _ = fixture.handle(.resume, at: 7)
    expect(!fixture.agent.delivery.isOffline)
    expectNil(fixture.snapshot().vehicleState)
  }

  @Test("a vehicle with the same ID in the other service is a different vehicle, and gets no position of the first")
  func otherService() throws {
    var fixture = try AgentFixture()
    try fixture.comeOnline()
    for second in 1...4 { _ = try fixture.drive(to: Double(second)) }
    let trips = try AgentFixture.tripsConfiguration()
    let before = fixture.agent.configuration.delivery.endpoint
    expect(!before.isSameVehicle(as: trips.delivery.endpoint))
    let effects = fixture.handle(.configure(trips), at: 5)
    expect(effects.brief.filter { $0.hasPrefix("send") }.isEmpty)
    expectNil(fixture.agent.delivery.delivered)
    expectEqual(StoredRunState.name(of: before.vehicle), "deliveries/p/truck-1")
    expectEqual(StoredRunState.name(of: trips.delivery.endpoint.vehicle), "trips/p/truck-1")
  }

  @Test("if a pause ends while OFFLINE is in flight, ONLINE follows the response, and OFFLINE is not reported")
  func resumeInFlight() throws {
    var fixture = try fixture()
    try fixture.comeOnline()
    _ = fixture.handle(.pause(nil), at: 5)
    expectEqual(fixture.handle(.resume, at: 6).brief, ["keep pause no more"])
    try expectEqual(fixture.drive(to: 7).brief, ["keep 7.0"])
    let effects = fixture.handle(.updateEnded(id: 2, AgentFixture.accepted), at: 7.5)
    expect(effects.brief == ["send 3"] && effects.events.isEmpty)
    _ = fixture.handle(.updateEnded(id: 3, AgentFixture.accepted), at: 7.7)
    expectEqual(fixture.snapshot().vehicleState, .online)
  }

  @Test(
    "an abandoned or unanswered OFFLINE delays no position; ONLINE is sent again when OFFLINE can no longer arrive",
    arguments: [true, false])
  func lateOffline(isAbandoned: Bool) throws {
    var fixture = try fixture()
    try fixture.comeOnline()
    _ = fixture.handle(.pause(nil), at: 5)
    _ = fixture.handle(.resume, at: 6)
    if isAbandoned {
      expectEqual(fixture.handle(.resumed(after: .seconds(1)), at: 7).brief, ["cancel update 2", "drop connections"])
    } else {
      let broken = HTTPOutcome.failure(TransportFailure(.broken, "reset"))
      expectEqual(fixture.handle(.updateEnded(id: 2, broken), at: 7).events, [.offline])
    }
    // The backoff after a failure is random, and at most 2 s here.
    let sent = try (8...12).first { try fixture.drive(to: Double($0), speed: 0).brief.contains("send 3") }
    let second = Double(try #require(sent))
    _ = fixture.handle(.updateEnded(id: 3, AgentFixture.accepted), at: second + 0.2)
    // While the vehicle is parked, nothing else is due for a minute.
    let until = BootInstant.boot + .seconds(20)
    expectEqual(fixture.agent.plan(at: .boot + .seconds(13)).next, .report(until))
    expectEqual(fixture.agent.plan(at: .boot + .seconds(13)).until, until)
    expectEqual(fixture.handle(.deadline, at: 20).brief, ["send 4"])
    _ = fixture.handle(.updateEnded(id: 4, AgentFixture.accepted), at: 20.2)
    expectNil(fixture.agent.delivery.onlineDue)
  }

  @Test("an OFFLINE that was rejected or could not be sent cannot arrive later: ONLINE is sent with the first fix")
  func certain() throws {
    for outcome in [AgentFixture.error(503, "UNAVAILABLE"), AgentFixture.unreachable] {
      var fixture = try fixture()
      try fixture.comeOnline()
      _ = fixture.handle(.pause(nil), at: 5)
      _ = fixture.handle(.updateEnded(id: 2, outcome), at: 6)
      _ = fixture.handle(.resume, at: 8)
      expect(try fixture.drive(to: 9).brief.contains("send 3"))
    }
  }

  @Test(
    "an unanswered position just before a pause may arrive later, even on a closed connection: OFFLINE is sent twice",
    arguments: [TransportFailure.Kind.broken, .unanswered, .timedOut])
  func unansweredBefore(kind: TransportFailure.Kind) throws {
    var fixture = try fixture()
    try fixture.comeOnline()
    for second in 1...10 { _ = try fixture.drive(to: Double(second)) }
    let sentAt = try #require(fixture.agent.delivery.sentAt)
    _ = fixture.handle(.updateEnded(id: 2, .failure(TransportFailure(kind, "reset"))), at: 10.5)
    expectEqual(fixture.handle(.pause(nil), at: 10.6).brief.last, "drop connections")
    expectEqual(fixture.handle(.deadline, at: 13).brief.last, "send 3 OFFLINE")
    expect(fixture.handle(.updateEnded(id: 3, AgentFixture.accepted), at: 13.2).brief.isEmpty)
    expectEqual(fixture.agent.plan(at: .boot + .seconds(14)).next, .offline(sentAt + .seconds(15)))
  }

  @Test("a position that the server refused before processing it cannot arrive later: one OFFLINE is enough")
  func refusedBefore() throws {
    var fixture = try fixture()
    try fixture.comeOnline()
    for second in 1...10 { _ = try fixture.drive(to: Double(second)) }
    _ = fixture.handle(.updateEnded(id: 2, .failure(TransportFailure(.unprocessed, "REFUSED_STREAM"))), at: 10.5)
    expectEqual(fixture.handle(.pause(nil), at: 10.6).brief.last, "drop connections")
    expectEqual(fixture.handle(.deadline, at: 13).brief.last, "send 3 OFFLINE")
    expectEqual(fixture.handle(.updateEnded(id: 3, AgentFixture.accepted), at: 13.2).brief.count, 1)
    let isSettled = fixture.isPauseSettled
    expect(isSettled)
  }

  @Test(
    "an unanswered position may still arrive after the next one was accepted, and after a restart: OFFLINE is not final"
  )
  func unansweredAndResent() throws {
    var fixture = try fixture { $0.boot = "b1" }
    try fixture.comeOnline()
    for second in 1...10 { _ = try fixture.drive(to: Double(second)) }
    _ = fixture.handle(.updateEnded(id: 2, .failure(TransportFailure(.unanswered, "closed"))), at: 10.5)
    expect(fixture.handle(.deadline, at: 11).brief.contains("send 3"))
    let effects = fixture.handle(.updateEnded(id: 3, AgentFixture.accepted), at: 11.2)
    var next = try self.fixture { $0.boot = "b1" }
    for case .storeRunState(let text) in effects { _ = next.handle(.runStateFound(text), at: 13) }
    expect(next.agent.delivery.onlineMayArriveUntil > .boot + .seconds(20))
    expectEqual(fixture.handle(.pause(nil), at: 13.5).brief.last, "send 4 OFFLINE")
    expect(fixture.handle(.updateEnded(id: 4, AgentFixture.accepted), at: 13.7).brief.isEmpty)
    let isSettled = fixture.isPauseSettled
    expect(!isSettled)
  }

  @Test("offline_on_stop: a last position that hangs is abandoned and its connection closed before OFFLINE is sent")
  func offlineOnStop() throws {
    var fixture = try fixture { $0.goesOfflineOnStop = true }
    try fixture.comeOnline()
    for second in 1...11 { _ = try fixture.drive(to: Double(second)) }
    expectEqual(fixture.handle(.stop(within: .seconds(4), signal: "SIGTERM"), at: 12).brief, ["stopping"])
    expectEqual(fixture.handle(.deadline, at: 14).brief, ["cancel update 2", "drop connections", "send 3 OFFLINE"])
    // Once the position's outcome is known, there is no connection to close.
    fixture = try self.fixture { $0.goesOfflineOnStop = true }
    try fixture.comeOnline()
    for second in 1...11 { _ = try fixture.drive(to: Double(second)) }
    _ = fixture.handle(.stop(within: .seconds(4), signal: "SIGTERM"), at: 12)
    expectEqual(
      fixture.handle(.updateEnded(id: 2, AgentFixture.accepted), at: 12.5).brief,
      ["drop [10.0] delivered", "send 3 OFFLINE"])
    // OFFLINE is not sent before a restart, because the next run begins at once.
    fixture = try self.fixture { $0.goesOfflineOnStop = true }
    try fixture.comeOnline()
    let restart = fixture.handle(.directoryDeleted("/run/x", within: .seconds(4)), at: 5)
    expectEqual(restart.brief, ["stopping", "finished 0"])
    expect(restart.contains(.event(.stopping(.directoryDeleted("/run/x")))))
  }

  @Test("a rejected position does not delay the OFFLINE of a pause")
  func rejected() throws {
    var fixture = try fixture()
    try fixture.comeOnline()
    for second in 1...11 { _ = try fixture.drive(to: Double(second)) }
    _ = fixture.handle(.updateEnded(id: 2, AgentFixture.error(400, "INVALID_ARGUMENT")), at: 11.5)
    expect(fixture.handle(.pause(nil), at: 13).brief.contains("send 3 OFFLINE"))
  }

  // MARK: - Off duty without a pause

  private static let off = "keep duty 2026-12-01T00:00:05Z\nvehicle trips/p/truck-1"

  @Test(
    "off duty, OFFLINE is sent at once and with each position; on duty again, ONLINE is sent with the newest position")
  func offDuty() throws {
    var fixture = try fixture()
    try fixture.comeOnline()
    let effects = fixture.handle(.goOffline(nil), at: 5)
    expectEqual(effects.brief, [Self.off, "send 2 OFFLINE"])
    expectEqual(effects.events, [.offDuty])
    expect(fixture.snapshot().vehicleState == .online && fixture.snapshot().duty == .offline)
    let accepted = fixture.handle(.updateEnded(id: 2, AgentFixture.accepted), at: 5.2)
    expectEqual(accepted.brief, [Self.off + "\naccepted"])
    expectEqual(accepted.events, [.stateOffline])
    expect(fixture.snapshot().vehicleState == .offline && !fixture.snapshot().isOfflinePending)
    for second in 6...9 { expect(try fixture.drive(to: Double(second)).brief.isEmpty) }
    expect(try fixture.drive(to: 10).brief.contains("send 3 with OFFLINE"))
    expectEqual(fixture.handle(.updateEnded(id: 3, AgentFixture.accepted), at: 10.2).events, [.updateAccepted])
    // Only Fleet Engine's minimum interval delays ONLINE.
    let online = fixture.handle(.goOnline, at: 12)
    expect(online.brief == ["keep duty no more"] && online.events == [.onDuty])
    expectEqual(fixture.agent.plan(at: .boot + .seconds(12)).next, .report(.boot + .milliseconds(15_200)))
    expectEqual(fixture.handle(.deadline, at: 15.2).brief, ["send 4"])
    _ = fixture.handle(.updateEnded(id: 4, AgentFixture.accepted), at: 15.4)
    expect(fixture.snapshot().vehicleState == .online && fixture.snapshot().duty == .online)
  }

  @Test(
    "if a driver goes off duty while a position with ONLINE is in flight, OFFLINE follows its response, and is final")
  func offDutyInFlight() throws {
    var fixture = try fixture()
    try fixture.comeOnline()
    for second in 1...11 { _ = try fixture.drive(to: Double(second)) }
    expectEqual(
      fixture.handle(.goOffline(nil), at: 11.5).brief, ["keep duty 2026-12-01T00:00:11.500Z\nvehicle trips/p/truck-1"]
    )
    expectEqual(fixture.handle(.updateEnded(id: 2, AgentFixture.accepted), at: 12).brief.last, "send 3 OFFLINE")
    expectEqual(fixture.handle(.updateEnded(id: 3, AgentFixture.accepted), at: 12.2).events, [.stateOffline])
  }

  @Test("after an unanswered position with ONLINE, OFFLINE is sent, and again when the position can no longer arrive")
  func offDutyUnanswered() throws {
    var fixture = try fixture()
    try fixture.comeOnline()
    for second in 1...10 { _ = try fixture.drive(to: Double(second)) }
    let sentAt = try #require(fixture.agent.delivery.sentAt)
    _ = fixture.handle(.goOffline(nil), at: 11)
    _ = fixture.handle(.updateEnded(id: 2, .failure(TransportFailure(.broken, "reset"))), at: 11.5)
    // The backlog has the position, which is sent with OFFLINE.
    let retried = fixture.handle(.deadline, at: 14).brief
    expectEqual(retried.last, "send 3 with OFFLINE", "\(retried)")
    expectEqual(
      fixture.handle(.updateEnded(id: 3, AgentFixture.accepted), at: 14.2).events.contains(.stateOffline), false)
    expect(fixture.snapshot().isOfflinePending)
    expectEqual(fixture.agent.plan(at: .boot + .seconds(15)).next, .offline(sentAt + .seconds(15)))
    expectEqual(fixture.handle(.deadline, at: 25).brief.last, "send 4 OFFLINE")
    expect(fixture.handle(.updateEnded(id: 4, AgentFixture.accepted), at: 25.2).events.contains(.stateOffline))
  }

  @Test("a failed OFFLINE is reported, and sent again alone or with the next position")
  func offDutyRefused() throws {
    var fixture = try fixture()
    try fixture.comeOnline()
    _ = fixture.handle(.goOffline(nil), at: 5)
    expectEqual(
      fixture.handle(.updateEnded(id: 2, AgentFixture.error(503, "UNAVAILABLE")), at: 5.2).events,
      [
        .stateOfflineFailed
      ])
    expect(fixture.snapshot().isOfflinePending)
    var sent: [String] = []
    for second in 6...40 {
      sent += try fixture.drive(to: Double(second)).brief.filter { $0.hasPrefix("send") }
      if !sent.isEmpty { break }
    }
    expect(sent == ["send 3 OFFLINE"] || sent.first?.hasPrefix("send 3 with OFFLINE") == true, "\(sent)")
    expect(
      fixture.handle(.updateEnded(id: 3, AgentFixture.accepted), at: fixture.now + 0.2).events.contains(.stateOffline))
  }

  @Test("a position that Fleet Engine rejects does not prevent OFFLINE from being sent alone")
  func rejectedOffDuty() throws {
    var fixture = try fixture()
    try fixture.comeOnline()
    for second in 1...11 { _ = try fixture.drive(to: Double(second)) }
    _ = fixture.handle(.goOffline(nil), at: 11.2)
    _ = fixture.handle(.updateEnded(id: 2, AgentFixture.error(400, "INVALID_ARGUMENT")), at: 11.5)
    var sent: [String] = []
    for second in 12...60 where sent.isEmpty {
      sent += try fixture.drive(to: Double(second)).brief.filter { $0.hasPrefix("send") }
    }
    expectEqual(sent, ["send 3 OFFLINE"])
  }

  @Test(
    "a pause while off duty sends nothing; afterwards the last duty command applies, even one given during the pause")
  func pauseOffDuty() throws {
    var fixture = try fixture()
    try fixture.comeOnline()
    _ = fixture.handle(.goOffline(nil), at: 5)
    _ = fixture.handle(.updateEnded(id: 2, AgentFixture.accepted), at: 5.2)
    expectEqual(
      fixture.handle(.pause(nil), at: 7).brief,
      ["keep pause 2026-12-01T00:00:07Z\noffline trips/p/truck-1", "drop connections"])
    _ = fixture.handle(.resume, at: 8)
    expect(try fixture.drive(to: 9).brief.contains("send 3 with OFFLINE"))
    _ = fixture.handle(.updateEnded(id: 3, AgentFixture.accepted), at: 9.2)
    _ = fixture.handle(.pause(nil), at: 20)
    expectEqual(fixture.handle(.goOnline, at: 21).brief, ["keep duty no more"])
    expect(fixture.isPauseSettled)
    _ = fixture.handle(.resume, at: 22)
    expect(try fixture.drive(to: 23).brief.contains("send 4"))
  }

  @Test("after a restart off duty OFFLINE is sent twice, unless it was accepted; another vehicle's duty is dropped")
  func restoredOffDuty() throws {
    func effects(_ text: String) throws -> (AgentFixture, [String]) {
      var fixture = try self.fixture()
      let restored = fixture.handle(.goOffline(DutyRecord(text: text)), at: 0).brief.filter { !$0.hasPrefix("fetch") }
      let sent = fixture.handle(.tokenEnded(id: 1, fixture.token()), at: 0.1).brief
      return (fixture, restored + sent)
    }
    var (fixture, sent) = try effects("2026-12-01T00:00:05Z\nvehicle trips/p/truck-1\naccepted\n")
    expectEqual(sent, [])
    // Positions need a token, which is requested with the first fix.
    _ = try fixture.drive(to: 1)
    expect(fixture.handle(.tokenEnded(id: 1, fixture.token()), at: 1.2).brief.contains("send 1 with OFFLINE"))
    for text in ["2026-12-01T00:00:05Z\nvehicle trips/p/truck-1\n", ""] {
      (fixture, sent) = try effects(text)
      expectEqual(sent, ["send 1 OFFLINE"])
      _ = fixture.handle(.updateEnded(id: 1, AgentFixture.accepted), at: 0.3)
      expectEqual(fixture.agent.plan(at: .boot + .seconds(1)).next, .offline(.boot + .seconds(15)))
    }
    (fixture, sent) = try effects("2026-12-01T00:00:05Z\nvehicle trips/p/truck-2\naccepted\n")
    expect(sent == ["keep duty no more"] && fixture.snapshot().duty == .online)
  }

  @Test(
    "an unreadable duty file means OFFLINE, and is not overwritten until the next duty command",
    arguments: [true, false])
  func unreadableDuty(goesOnline: Bool) throws {
    var fixture = try fixture()
    _ = fixture.handle(.goOffline(DutyRecord(text: "?")), at: 0)
    _ = fixture.handle(.tokenEnded(id: 1, fixture.token()), at: 0.1)
    _ = fixture.handle(.updateEnded(id: 1, AgentFixture.accepted), at: 0.3)
    _ = fixture.handle(.deadline, at: 15)
    let accepted = fixture.handle(.updateEnded(id: 2, AgentFixture.accepted), at: 15.2)
    expect(accepted.events == [.stateOffline] && accepted.brief.isEmpty)
    expect(!fixture.snapshot().isOfflinePending && fixture.snapshot().vehicleState == .offline)
    expectEqual(
      fixture.handle(goesOnline ? .goOnline : .goOffline(nil), at: 20).brief,
      [goesOnline ? "keep duty no more" : "keep duty 2026-12-01T00:00:20Z\nvehicle trips/p/truck-1\naccepted"])
  }

  @Test(
    "after a reload to another vehicle, that vehicle is on duty, and a missing OFFLINE of the previous one is reported")
  func otherVehicleOffDuty() throws {
    var fixture = try fixture()
    try fixture.comeOnline()
    _ = fixture.handle(.goOffline(nil), at: 5)
    let effects = fixture.handle(.configure(try AgentFixture.tripsConfiguration(vehicle: "truck-2")), at: 6)
    expect(effects.brief.contains("keep duty no more"))
    expect(effects.events.contains(.stateOfflineMissing))
    expectEqual(fixture.snapshot().duty, .online)
  }

  @Test("delivery vehicles, and trip vehicles whose state another system sets, have no duty", arguments: [true, false])
  func noDuty(isDelivery: Bool) throws {
    var fixture = try fixture {
      if isDelivery {
        if let configuration = try? AgentFixture.configuration() { $0 = configuration }
      } else {
        $0.delivery.endpoint.reportsState = false
      }
    }
    try fixture.comeOnline()
    expectEqual(fixture.agent.dutyRefusal, (isDelivery ? .noState : .setElsewhere))
    expectNil(fixture.snapshot().duty)
    // Only an unreadable duty file leads to this input.
    expect(fixture.handle(.goOffline(DutyRecord(since: nil)), at: 5).brief.isEmpty)
    for second in 6...9 { _ = try fixture.drive(to: Double(second)) }
    expect(try fixture.drive(to: 10).brief.contains("send 2"))
  }

  @Test("a stop while off duty sends nothing if OFFLINE was accepted, and otherwise OFFLINE as the last request")
  func stopOffDuty() throws {
    var fixture = try fixture { $0.goesOfflineOnStop = true }
    try fixture.comeOnline()
    _ = fixture.handle(.goOffline(nil), at: 5)
    _ = fixture.handle(.updateEnded(id: 2, AgentFixture.accepted), at: 5.2)
    let last = fixture.handle(.stop(within: .seconds(4), signal: "SIGTERM"), at: 6).brief
    expectEqual(last, ["stopping", "finished 0"])
    fixture = try self.fixture()
    try fixture.comeOnline()
    _ = fixture.handle(.goOffline(nil), at: 5)
    _ = fixture.handle(.updateEnded(id: 2, AgentFixture.error(503, "UNAVAILABLE")), at: 5.2)
    _ = fixture.handle(.stop(within: .seconds(4), signal: "SIGTERM"), at: 7)
    let accepted = fixture.handle(.updateEnded(id: 3, AgentFixture.accepted), at: 7.5)
    expect(accepted.events.contains(.stateOffline) && accepted.brief.last == "finished 0")
  }

  @Test("if ONLINE was unanswered and the last OFFLINE fails, an event says that the vehicle may not be OFFLINE")
  func stopAfterLostOnline() throws {
    var fixture = try fixture { $0.goesOfflineOnStop = true }
    try fixture.comeOnline()
    _ = fixture.handle(.pause(nil), at: 5)
    _ = fixture.handle(.updateEnded(id: 2, AgentFixture.accepted), at: 5.2)
    _ = fixture.handle(.resume, at: 20)
    try expectEqual(fixture.drive(to: 21).brief.last, "send 3")
    _ = fixture.handle(.updateEnded(id: 3, .failure(TransportFailure(.timedOut, "no response in 15 s"))), at: 36)
    _ = fixture.handle(.stop(within: .seconds(4), signal: "SIGTERM"), at: 37)
    let last = fixture.handle(.deadline, at: 41)
    expect(last.events.contains(.stateOfflineMissing) && last.brief.last == "finished 1")
  }

  @Test(
    "when the driver goes on duty while the daemon is stopping, OFFLINE is no longer pending", arguments: [true, false])
  func onDutyWhileStopping(isInFlight: Bool) throws {
    var fixture = try fixture()
    try fixture.comeOnline()
    _ = fixture.handle(.goOffline(nil), at: 5)
    _ = fixture.handle(.updateEnded(id: 2, AgentFixture.error(503, "UNAVAILABLE")), at: 5.2)
    let stop = fixture.handle(.stop(within: .seconds(4), signal: "SIGTERM"), at: isInFlight ? 7 : 5.5).brief
    expectEqual(stop.contains { $0.hasPrefix("send 3") }, isInFlight)
    let effects = fixture.handle(.goOnline, at: isInFlight ? 7.3 : 5.7)
    expect(effects.brief.contains("keep duty no more") && effects.brief.last == "finished 0")
    expect(!effects.events.contains(.stateOfflineMissing))
  }

  @Test("after a kill in the same boot, the next run knows until when OFFLINE and ONLINE may still arrive")
  func arrivalsRestored() throws {
    var fixture = try fixture { $0.boot = "b1" }
    try fixture.comeOnline()
    _ = fixture.handle(.goOffline(nil), at: 5)
    _ = fixture.handle(.updateEnded(id: 2, .failure(TransportFailure(.broken, "reset"))), at: 5.5)
    _ = fixture.handle(.goOnline, at: 6)
    var text: String?
    for second in 7...16 where text == nil {
      let effects = try fixture.drive(to: Double(second))
      guard effects.brief.contains(where: { $0.hasPrefix("send") }) else { continue }
      for case .storeRunState(let stored) in effects { text = stored }
    }
    var next = try self.fixture { $0.boot = "b1" }
    _ = next.handle(.runStateFound(try #require(text)), at: fixture.now + 1)
    expectEqual(next.agent.delivery.offlineMayArriveUntil, .boot + .seconds(20))
    expectEqual(next.agent.delivery.onlineMayArriveUntil, .boot + .seconds(Int64(fixture.now) + 15))
  }
}

extension AgentFixture {
  /// Whether the vehicle is paused, and OFFLINE is not pending.
  fileprivate var isPauseSettled: Bool {
    if case .paused(_, offline: nil) = agent.plan(at: moment.boot).cause { true } else { false }
  }
}
