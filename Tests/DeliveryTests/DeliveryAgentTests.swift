// SPDX-License-Identifier: Apache-2.0
import Expectations
import ExternalInput
import Authorization
import FleetEngine
import HTTPMessages
import Positioning
import Testing
import Timekeeping

@testable import PositionBacklog
@testable import Delivery

/// Each test passes inputs to the agent, and compares their effects with the expected ones.
struct DeliveryAgentTests {
  private struct Bench {
    static let start = Timestamp(seconds: 1_796_083_200)

    var agent: DeliveryAgent
    var token: AccessToken

    init(_ change: (inout DeliveryAgent.Configuration) -> Void = { _ in }) throws {
      agent = DeliveryAgent(Bench.configuration(change), seed: 1)
      token = try Bench.token(1)
    }

    static func configuration(
      vehicle: String = "v", _ change: (inout DeliveryAgent.Configuration) -> Void = { _ in }
    ) -> DeliveryAgent.Configuration {
      var configuration = DeliveryAgent.Configuration(
        endpoint: FleetEngineEndpoint(
          origin: "https://e.test",
          vehicle: FleetEngineVehicle(service: .deliveries, providerID: "p", vehicleID: vehicle)))
      change(&configuration)
      return configuration
    }

    static func token(_ serial: Int) throws -> AccessToken {
      AccessToken(
        secret: Secret("t\(serial)"),
        context: try #require(AuthorizationContext(providerID: "p", scope: .deliveryVehicle("v"))), receivedAt: .boot,
        lifetime: .seconds(3600), lifetimeSource: .relative)
    }

    static func location(_ second: Int) throws -> VehicleLocation {
      let coordinate = try #require(Coordinate(latitude: 48 + Double(second) / 10_000, longitude: 11))
      return VehicleLocation(coordinate: coordinate, time: start + .seconds(second))
    }

    static func failure(_ category: UpdateFailure.Category, retryAfter: Duration? = nil) -> UpdateOutcome {
      .failed(UpdateFailure(category, "no", from: .deliveries, retryAfter: retryAfter))
    }

    /// The effects in short form; seconds are since the start.
    mutating func handle(_ input: DeliveryAgent.Input, at second: Double) -> [String] {
      agent.handle(input, at: .boot + .milliseconds(Int64(second * 1000))).map { effect in
        func second(_ time: Timestamp) -> Int64 { (time - Bench.start).wholeSeconds }
        return switch effect {
        case .send(let id, let request):
          "send \(id)\(request.url.contains("past") ? " with past" : "")\(request.contentCoding == .gzip ? "" : ", plain")"
        case .cancel(let id): "cancel \(id)"
        case .backlog(.added(let record)): "add \(second(record.id))"
        case .backlog(.changed(let records)): "change \(records.map { second($0.id) })"
        case .backlog(.removed(let ids, let reason)): "remove \(ids.map(second)) \(reason)"
        case .accepted(let live, _, _, let past): "accepted \(second(live.time)) and \(past)"
        case .failed(let failure, _): "failed \(failure.category)"
        case .wentOffline: "went offline"
        case .readStore: "read store"
        case .forgetOthers(let time): "forget others before \(second(time))"
        case .offlineFailed(let failure, _): "offline failed \(failure.category)"
        case .resends(let failure): "resends \(failure.category)"
        case .suspectsBacklog(let failure): "suspects backlog \(failure.category)"
        case .rejectsBacklog(let failure): "rejects backlog \(failure.category)"
        case .updateForm: "update form"
        }
      }
    }

    mutating func send(_ second: Int, isDue: Bool = true, at now: Double? = nil) throws -> [String] {
      handle(.send(try Bench.location(second), isDue: isDue, token: token), at: now ?? Double(second))
    }
  }

  @Test("a due position is in the backlog before it is sent, and is removed when it is delivered")
  func accepted() throws {
    var bench = try Bench()
    try expectEqual(bench.send(0), ["add 0", "send 1"])
    expect(!bench.agent.isIdle)
    expectEqual(bench.agent.pendingCount, 0)
    expectEqual(bench.handle(.ended(id: 1, .accepted), at: 1), ["remove [0] delivered", "accepted 0 and 0"])
    expect(bench.agent.isIdle && !bench.agent.hasOverduePosition && bench.agent.backlog.isEmpty)
    expectEqual(bench.agent.delivered, (try Bench.location(0)))
    // A position that Fleet Engine has is not queued again.
    expectEqual(bench.handle(.due(try Bench.location(0)), at: 50), [])
  }

  @Test("a full backlog is thinned only if the position that was sent is not delivered")
  func full() throws {
    var bench = try Bench { $0.maxLocations = 3 }
    for second in 0..<3 { _ = bench.handle(.due(try Bench.location(second)), at: Double(second)) }
    try expectEqual(bench.send(10), ["add 10", "send 1 with past"])
    expectEqual(bench.agent.pendingCount, 3)
    expectEqual(
      bench.handle(.ended(id: 1, .accepted), at: 11), ["remove [0, 1, 2, 10] delivered", "accepted 10 and 3"])
    for second in 20..<23 { _ = bench.handle(.due(try Bench.location(second)), at: Double(second)) }
    try expectEqual(bench.send(30), ["add 30", "send 2 with past"])
    let effects = bench.handle(.ended(id: 2, Bench.failure(.unavailable)), at: 31)
    expectEqual(effects.prefix(2), ["failed unavailable", "remove [21, 22] thinned"])
    // After a cancelled request too, the backlog is thinned to the limit.
    _ = bench.handle(.due(try Bench.location(31)), at: 31)
    try expectEqual(bench.send(40), ["add 40", "send 3 with past"])
    expectEqual(bench.handle(.cancel, at: 41).prefix(2), ["cancel 3", "remove [30, 31] thinned"])
    expectEqual(bench.agent.backlog.count, 2)
  }

  @Test("a position that becomes due while an unqueued one is about to be sent again counts toward the limit")
  func fullBesideAnother() throws {
    var bench = try Bench { $0.maxLocations = 1 }
    _ = bench.handle(.due(try Bench.location(0)), at: 0)
    try expectEqual(bench.send(10, isDue: false), ["send 1 with past"])
    // The 400 may be due to the compact form, so the position is to be sent again in the plain form.
    let refusal = UpdateOutcome.failed(UpdateFailure(.rejected, "no", from: .deliveries, httpStatus: 400))
    expectEqual(bench.handle(.ended(id: 1, refusal), at: 11), ["resends rejected"])
    try expectEqual(bench.send(12).prefix(2), ["add 12", "remove [0] full"])
    expectEqual(bench.agent.pendingCount, 1)
  }

  @Test("with a limit of zero nothing is queued")
  func none() throws {
    var bench = try Bench { $0.maxLocations = 0 }
    try expectEqual(bench.send(10), ["send 1"])
    expectEqual(bench.handle(.ended(id: 1, Bench.failure(.unavailable)), at: 11), ["failed unavailable"])
  }

  @Test("the outcome of a request other than the one in flight is ignored")
  func unknownRequest() throws {
    var bench = try Bench()
    expectEqual(bench.handle(.ended(id: 1, .accepted), at: 0), [])
    _ = try bench.send(0)
    expectEqual(bench.handle(.ended(id: 2, Bench.failure(.network)), at: 1), [])
    expect(bench.agent.failure == nil && !bench.agent.isIdle)
  }

  @Test(
    "after a failure the position is queued and sent with the next one; the failure lasts until an update is accepted")
  func failed() throws {
    var bench = try Bench()
    _ = try bench.send(0)
    expectEqual(bench.handle(.ended(id: 1, Bench.failure(.network)), at: 1), ["failed network"])
    expect(bench.agent.hasOverduePosition && bench.agent.pendingCount == 1)
    expectEqual(bench.agent.failingSince, .boot + .seconds(1))
    let earliest = bench.agent.earliest
    expect(earliest.by == nil || earliest.by == .attempts)
    expect((.boot + .seconds(2)...(.boot + .seconds(11))).contains(earliest.at))
    try expectEqual(bench.send(10), ["add 10", "send 2 with past"])
    expectEqual(bench.handle(.ended(id: 2, Bench.failure(.unavailable)), at: 11), ["failed unavailable"])
    expectEqual(bench.agent.failingSince, .boot + .seconds(1))
    try expectEqual(bench.send(20, at: 60), ["add 20", "send 3 with past, plain"])
    expectEqual(bench.handle(.ended(id: 3, .accepted), at: 61), ["remove [0, 10, 20] delivered", "accepted 20 and 2"])
    expect(bench.agent.failure == nil && bench.agent.failingSince == nil)
  }

  @Test("a request that the server has not processed is repeated once after the minimum spacing, and is not an outage")
  func unprocessed() throws {
    var bench = try Bench()
    _ = try bench.send(0)
    _ = bench.handle(.ended(id: 1, .accepted), at: 0.2)
    var failure = UpdateFailure(.network, "refused", from: .deliveries)
    failure.transport = .unprocessed
    _ = try bench.send(10)
    expectEqual(bench.handle(.ended(id: 2, .failed(failure)), at: 10.1), ["resends network"])
    expect(bench.agent.wasLastAttemptAccepted && bench.agent.hasOverduePosition && bench.agent.failure == nil)
    expectEqual(bench.agent.earliest.at, .boot + .seconds(11))
    try expectEqual(bench.send(11), ["add 11", "send 3 with past"])
    // The second in a row is an ordinary failure.
    expectEqual(bench.handle(.ended(id: 3, .failed(failure)), at: 11.1), ["failed network"])
    expect(!bench.agent.wasLastAttemptAccepted)
    _ = try bench.send(30)
    expectEqual(
      bench.handle(.ended(id: 4, .accepted), at: 30.1), ["remove [10, 11, 30] delivered", "accepted 30 and 2"])
    _ = try bench.send(40)
    expectEqual(bench.handle(.ended(id: 5, .failed(failure)), at: 40.1), ["resends network"])
  }

  @Test("a rejected compact update is sent again in the plain form, without an outage, and no position is suspected")
  func refusedForm() throws {
    for status in [400, 403, 413] {
      var bench = try Bench()
      let refusal = UpdateOutcome.failed(
        UpdateFailure(status == 403 ? .permissionDenied : .rejected, "no", from: .deliveries, httpStatus: status))
      _ = bench.handle(.due(try Bench.location(0)), at: 0)
      try expectEqual(bench.send(10), ["add 10", "send 1 with past"])
      let category = status == 403 ? "permissionDenied" : "rejected"
      expectEqual(bench.handle(.ended(id: 1, refusal), at: 10.1), ["resends \(category)"])
      expect(bench.agent.failure == nil && bench.agent.earliest.at == .boot + .seconds(11))
      // The same positions are sent, although there is a newer one.
      try expectEqual(bench.send(11, isDue: false), ["send 2 with past, plain"])
      expectEqual(
        bench.handle(.ended(id: 2, .accepted), at: 11.1),
        [
          "remove [0, 10] delivered", "accepted 10 and 1", "update form",
        ])
      try expectEqual(bench.send(20), ["add 20", "send 3, plain"])
    }
  }

  @Test("a position that is found to be from the future after its compact update was rejected is not sent again")
  func refusedFromFuture() throws {
    var bench = try Bench()
    let refusal = UpdateOutcome.failed(UpdateFailure(.rejected, "no", from: .deliveries, httpStatus: 400))
    try expectEqual(bench.send(3600, at: 10), ["add 3600", "send 1"])
    expectEqual(bench.handle(.ended(id: 1, refusal), at: 10.1), ["resends rejected"])
    try expectEqual(bench.send(11), ["add 11", "send 2, plain"])
    expectEqual(
      bench.handle(.ended(id: 2, .accepted), at: 11.1),
      ["change [3600]", "remove [11] delivered", "accepted 11 and 0", "update form"])
  }

  @Test("when the plain update is rejected as well, the past positions are suspected as usual")
  func refusedInBothForms() throws {
    var bench = try Bench()
    let refusal = UpdateOutcome.failed(UpdateFailure(.rejected, "no", from: .deliveries, httpStatus: 400))
    _ = bench.handle(.due(try Bench.location(0)), at: 0)
    _ = try bench.send(10)
    expectEqual(bench.handle(.ended(id: 1, refusal), at: 10.1), ["resends rejected"])
    try expectEqual(bench.send(11, isDue: false), ["send 2 with past, plain"])
    expectEqual(bench.handle(.ended(id: 2, refusal), at: 11.1), ["suspects backlog rejected"])
    try expectEqual(bench.send(12, isDue: false), ["send 3, plain"])
  }

  @Test("a request is retried within a second after a first reset; after further resets it backs off as after 503")
  func resets() throws {
    for kind in [TransportFailure.Kind.broken, .unprocessed] {
      var bench = try Bench()
      var failure = UpdateFailure(.network, "reset", from: .deliveries)
      failure.transport = kind
      failure.isConnectionOpen = true
      var waits: [Double] = []
      var now = 0.0
      for id in UInt64(1)...60 {
        _ = try bench.send(Int(now), at: now)
        _ = bench.handle(.ended(id: id, .failed(failure)), at: now)
        let wait = (bench.agent.earliest.at - .boot).inSeconds - now
        waits.append(wait)
        now = (now + wait + 1).rounded(.up)
      }
      expect(waits[0] <= 1)
      // Uniformly distributed up to 30 s, as after 503; after a network failure the maximum is 10 s.
      let mean = waits.dropFirst(3).reduce(0, +) / Double(waits.count - 3)
      expect((11...19).contains(mean), "\(kind): \(mean)")
      _ = try bench.send(Int(now), at: now)
      _ = bench.handle(.ended(id: 61, .accepted), at: now)
      _ = try bench.send(Int(now) + 10, at: now + 10)
      _ = bench.handle(.ended(id: 62, .failed(failure)), at: now + 10)
      expect((bench.agent.earliest.at - .boot).inSeconds - now - 10 <= 1)
    }
  }

  @Test("two stream resets with another failure between them do not count as two in a row")
  func resetsApart() throws {
    var bench = try Bench()
    var reset = UpdateFailure(.network, "reset", from: .deliveries)
    reset.transport = .broken
    reset.isConnectionOpen = true
    var closed = reset
    closed.isConnectionOpen = false
    var now = 0.0
    for id in UInt64(1)...40 {
      _ = try bench.send(Int(now), at: now)
      _ = bench.handle(.ended(id: id, .failed(id % 2 == 0 ? closed : reset)), at: now)
      let wait = (bench.agent.earliest.at - .boot).inSeconds - now
      expect(wait <= 10)
      now = (now + wait + 1).rounded(.up)
    }
  }

  @Test("a position that becomes due during a request is pending after that request, without another fix")
  func dueMeanwhile() throws {
    var bench = try Bench()
    _ = try bench.send(0)
    expectEqual(bench.handle(.due(try Bench.location(5)), at: 5), ["add 5"])
    _ = bench.handle(.ended(id: 1, .accepted), at: 6)
    expect(bench.agent.hasOverduePosition)
    expect(bench.agent.earliest == (.boot + .seconds(11), .floor))
  }

  @Test(
    "a pause or a cancellation ends the request in flight, and its position is queued; a pause also ends the outage",
    arguments: [true, false])
  func abandoned(isPause: Bool) throws {
    var bench = try Bench()
    _ = try bench.send(0)
    _ = bench.handle(.ended(id: 1, Bench.failure(.network)), at: 1)
    _ = try bench.send(20)
    expectEqual(bench.handle(isPause ? .paused : .cancel, at: 21), ["cancel 2"])
    expect(bench.agent.isIdle && bench.agent.pendingCount == 2)
    expectEqual((bench.agent.failingSince == nil), isPause)
    expectEqual(bench.handle(.cancel, at: 22), [])
  }

  @Test("a network that comes up resets the backoff, but not a wait that the server requested")
  func networkUp() throws {
    var bench = try Bench()
    _ = try bench.send(0)
    _ = bench.handle(.ended(id: 1, Bench.failure(.unavailable)), at: 1)
    _ = bench.handle(.networkUp, at: 1.5)
    expect(bench.agent.earliest.at <= .boot + .milliseconds(1500))
    _ = try bench.send(2)
    _ = bench.handle(.ended(id: 2, Bench.failure(.throttled, retryAfter: .seconds(100))), at: 3)
    _ = bench.handle(.networkUp, at: 40)
    expect(bench.agent.earliest.at > .boot + .seconds(103))
    expect(bench.agent.earliest.at <= .boot + .seconds(103 + 40))
  }

  @Test("a live position that is rejected alone is replaced by the newest pending one")
  func rejectedLive() throws {
    var bench = try Bench()
    _ = bench.handle(.restored([Backlog.Record(try Bench.location(-10))]), at: 0)
    try expectEqual(bench.send(0), ["add 0", "send 1 with past"])
    expectEqual(bench.handle(.ended(id: 1, Bench.failure(.rejected)), at: 1), ["suspects backlog rejected"])
    try expectEqual(bench.send(0, isDue: false, at: 2), ["send 2"])
    expectEqual(bench.handle(.ended(id: 2, Bench.failure(.rejected)), at: 3), ["failed rejected"])
    expect(!bench.agent.mayBeLive(try Bench.location(0)))
    try expectEqual(bench.send(0, isDue: false, at: 300), ["send 3, plain"])
    expectEqual(bench.handle(.ended(id: 3, .accepted), at: 301).last, "accepted -10 and 0")
  }

  @Test("past positions are reported as rejected if the update without them is accepted, but not if it is denied too")
  func backlogRejection() throws {
    for isTokenDenied in [false, true] {
      var bench = try Bench()
      _ = bench.handle(.restored([Backlog.Record(try Bench.location(-10))]), at: 0)
      try expectEqual(bench.send(0), ["add 0", "send 1 with past"])
      let denial = Bench.failure(.permissionDenied)
      expectEqual(bench.handle(.ended(id: 1, denial), at: 1), ["suspects backlog permissionDenied"])
      try expectEqual(bench.send(0, isDue: false, at: 2), ["send 2"])
      if isTokenDenied {
        expectEqual(bench.handle(.ended(id: 2, denial), at: 3), ["failed permissionDenied"])
        try expectEqual(bench.send(0, isDue: false, at: 4), ["send 3, plain"])
        expectEqual(bench.handle(.ended(id: 3, .accepted), at: 5), ["remove [0] delivered", "accepted 0 and 0"])
      } else {
        expectEqual(
          bench.handle(.ended(id: 2, .accepted), at: 3),
          ["remove [0] delivered", "rejects backlog permissionDenied", "accepted 0 and 0"])
      }
    }
  }

  @Test("past positions are reported if updates with them fail without a reason, and those without them are accepted")
  func unexplainedFailures() throws {
    var bench = try Bench()
    _ = bench.handle(.restored([Backlog.Record(try Bench.location(-10))]), at: 0)
    for id in 1...4 as ClosedRange<UInt64> {
      // Two failures may be due to the compact form.
      try expectEqual(bench.send(Int(id) * 40).last, "send \(id) with past\(id > 2 ? ", plain" : "")")
      expectEqual(
        bench.handle(.ended(id: id, Bench.failure(.unavailable)), at: Double(id) * 40 + 1), ["failed unavailable"])
    }
    // The wait is the usual one.
    expect(bench.agent.earliest.at > .boot + .seconds(161))
    try expectEqual(bench.send(200).last, "send 5, plain")
    expectEqual(bench.handle(.ended(id: 5, .accepted), at: 201), ["remove [200] delivered", "accepted 200 and 0"])
    try expectEqual(bench.send(210).last, "send 6 with past, plain")
    expectEqual(bench.handle(.ended(id: 6, Bench.failure(.unavailable)), at: 211), ["failed unavailable"])
    try expectEqual(bench.send(240).last, "send 7, plain")
    expectEqual(bench.handle(.ended(id: 7, .accepted), at: 241), ["remove [240] delivered", "accepted 240 and 0"])
    try expectEqual(bench.send(250).last, "send 8 with past, plain")
    expectEqual(bench.handle(.ended(id: 8, Bench.failure(.unavailable)), at: 251), ["failed unavailable"])
    try expectEqual(bench.send(280).last, "send 9, plain")
    expectEqual(
      bench.handle(.ended(id: 9, .accepted), at: 281),
      ["remove [280] delivered", "rejects backlog unavailable", "accepted 280 and 0"])
    expectEqual(bench.agent.pendingCount, 7)
  }

  @Test("a position that was accepted before and is now rejected alone is not replaced by an older one")
  func acceptedLiveRefused() throws {
    var bench = try Bench()
    _ = try bench.send(0)
    expectEqual(bench.handle(.ended(id: 1, .accepted), at: 1).last, "accepted 0 and 0")
    try expectEqual(bench.send(0, isDue: false, at: 12), ["send 2"])
    expectEqual(bench.handle(.ended(id: 2, Bench.failure(.rejected)), at: 13), ["failed rejected"])
    expect(bench.agent.mayBeLive(try Bench.location(0)))
  }

  @Test(
    "a new vehicle begins with an empty state; the previous one, if configured again, keeps its minimum interval")
  func otherVehicle() throws {
    var bench = try Bench()
    _ = try bench.send(0)
    _ = bench.handle(.ended(id: 1, .accepted), at: 1)
    _ = try bench.send(10)
    let other = Bench.configuration(vehicle: "w")
    expectEqual(bench.handle(.configured(other, isOtherVehicle: true), at: 11), ["cancel 2"])
    expect(bench.agent.backlog.isEmpty && bench.agent.delivered == nil && !bench.agent.hasOverduePosition)
    expectEqual(bench.agent.earliest.at, .boot + .seconds(11))
    expectEqual(bench.handle(.configured(Bench.configuration(), isOtherVehicle: true), at: 12), [])
    // The abandoned request may have arrived.
    expect(bench.agent.earliest == (.boot + .seconds(16), .floor))
  }

  @Test("positions that are too old, or have a time in the future, are removed with a named reason")
  func removesOldAndFuture() throws {
    var bench = try Bench { $0.maxAge = .seconds(100) }
    _ = bench.handle(.restored(try [-200, -50, 900].map { Backlog.Record(try Bench.location($0)) }), at: 0)
    // A receiver's timestamps are used once they have agreed with elapsed time for five minutes.
    bench.agent.observe(Bench.start - .seconds(300), at: .boot)
    expectEqual(bench.handle(.expire, at: 1), [])
    bench.agent.observe(Bench.start, at: .boot + .seconds(300))
    expectEqual(
      bench.handle(.expire, at: 300),
      [
        "remove [-200] expired", "change [-50]", "remove [900] misdated", "forget others before -100",
      ])
    expectEqual(bench.handle(.expire, at: 301), [])
    expectEqual(bench.handle(.misdated(after: Bench.start - .seconds(60)), at: 302), ["remove [-50] misdated"])
  }

  @Test("positions that are queued long after the last reliable timestamp are not removed as misdated")
  func keepsThoseAfterSilence() throws {
    var bench = try Bench()
    bench.agent.observe(Bench.start - .seconds(300), at: .boot)
    bench.agent.observe(Bench.start, at: .boot + .seconds(300))
    _ = bench.handle(.restored(try [90_000].map { Backlog.Record(try Bench.location($0)) }), at: 90_301)
    expect(!bench.handle(.expire, at: 90_301).contains("remove [90000] misdated"))
    expectEqual(bench.agent.backlog.records.count, 1)
  }

  @Test(
    "the backlog alone causes a request after one interval; after a rejection, after two minutes or with a new token")
  func backfill() throws {
    var bench = try Bench()
    let newest = try Bench.location(0)
    let token = bench.token
    expectNil(bench.agent.backfillDeadline(before: newest.time) { _ in token })
    _ = bench.handle(.restored([Backlog.Record(try Bench.location(-10))]), at: 0)
    expectEqual(bench.agent.backfillDeadline(before: newest.time) { _ in token }, .boot + .seconds(10))
    _ = try bench.send(0)
    _ = bench.handle(.ended(id: 1, Bench.failure(.permissionDenied)), at: 1)
    _ = try bench.send(0, isDue: false, at: 2)
    _ = bench.handle(.ended(id: 2, .accepted), at: 3)
    // Two minutes after the response to the request without past positions.
    expectEqual(bench.agent.backfillDeadline(before: newest.time) { _ in token }, .boot + .seconds(123))
    let next = try Bench.token(2)
    expectEqual(bench.agent.backfillDeadline(before: newest.time) { _ in next }, .boot + .seconds(12))
  }
}
