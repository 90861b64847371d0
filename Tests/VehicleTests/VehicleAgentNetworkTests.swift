// SPDX-License-Identifier: Apache-2.0
import Expectations
import FixSources
import AgentTesting
import Authorization
import Connectivity
import HTTPMessages
import Positioning
import Testing
import Timekeeping

@testable import Vehicle

struct VehicleAgentNetworkTests {
  /// A usable network, with this last byte of the IP address.
  private static func network(_ byte: UInt8 = 2) -> NetworkState {
    var state = NetworkState()
    state.addresses = [NetworkTable.Address(link: 2, family: .ipv4, bytes: [10, 0, 0, byte])]
    state.routes = [NetworkTable.Route(family: .ipv4, links: [2], gateway: [10, 0, 0, 1], priority: 0)]
    state.linkNames = ["wwan0"]
    return state
  }

  @Test("after the network is lost, due positions are queued and not sent")
  func lost() throws {
    var fixture = try AgentFixture()
    _ = fixture.handle(.network(VehicleAgentNetworkTests.network()), at: 0)
    try fixture.comeOnline()
    expectEqual(fixture.handle(.network(NetworkState()), at: 5).events, [.networkLost])
    var queued = 0
    for second in 6...60 {
      let brief = try fixture.drive(to: Double(second)).brief
      expect(!brief.contains { $0.hasPrefix("send") || $0.hasPrefix("fetch") })
      queued += brief.count { $0.hasPrefix("keep") }
    }
    expectEqual(queued, 6)
    expectEqual(fixture.snapshot().networkAbsentSince, .boot + .seconds(5))
    expect(!fixture.snapshot().isOnline)
  }

  @Test(
    "a stop commits the positions that are collected in a long outage before the last attempt", arguments: [60, 130])
  func stopInOutage(second: Int) throws {
    var fixture = try AgentFixture()
    _ = fixture.handle(.network(VehicleAgentNetworkTests.network()), at: 0)
    try fixture.comeOnline()
    _ = fixture.handle(.network(NetworkState()), at: 5)
    for second in 6...second { _ = try fixture.drive(to: Double(second)) }
    let effects = fixture.handle(.stop(within: .seconds(3), signal: "SIGTERM"), at: Double(second) + 0.5)
    expectEqual(effects.brief.contains("commit"), second == 130, "\(effects.brief)")
  }

  @Test("after two minutes offline, changes are collected until the next response, and committed if the vehicle stops")
  func longOutage() throws {
    var fixture = try AgentFixture()
    _ = fixture.handle(.network(VehicleAgentNetworkTests.network()), at: 0)
    try fixture.comeOnline()
    _ = fixture.handle(.network(NetworkState()), at: 5)
    func stores(_ effects: [VehicleAgent.Effect]) -> [String] {
      effects.brief.filter { $0.hasPrefix("collect") || $0.hasPrefix("keep") || $0 == "commit" }
    }
    for second in 6...120 {
      expect(try !stores(fixture.drive(to: Double(second))).contains { !$0.hasPrefix("keep") })
    }
    try expectEqual((121...130).flatMap { stores(try fixture.drive(to: Double($0))) }, ["collect", "keep 130.0"])
    // The vehicle stops.
    var seen: [String] = []
    for second in 131...150 {
      fixture.now = Double(second)
      var fix = Fix(
        coordinate: try #require(Coordinate(latitude: 48 + 130 * 14 / 111_200, longitude: 11)),
        time: .utc(fixture.moment.wall))
      (fix.speed, fix.horizontalAccuracy, fix.satellites) = (0, 3, 9)
      seen += stores(fixture.handle(.source(0, .fix(fix)), at: Double(second)))
    }
    expectEqual(seen.filter { $0 == "commit" }.count, 1, "\(seen)")
    expectEqual(seen.last, "commit", "\(seen)")
    // The first response ends the outage.
    let effects =
      fixture.handle(.network(VehicleAgentNetworkTests.network()), at: 160) + fixture.handle(.deadline, at: 161)
    let id = try #require(effects.compactMap { if case .sendUpdate(let id, _) = $0 { id } else { nil } }.last)
    expect(!effects.brief.contains("collect no more"))
    expect(
      fixture.handle(.updateEnded(id: id, AgentFixture.accepted), at: 161.2).brief.contains("collect no more"))
  }

  @Test("a response to an abandoned request ends a long outage")
  func lateResponse() throws {
    var fixture = try AgentFixture()
    try fixture.comeOnline()
    _ = fixture.handle(.network(NetworkState()), at: 5)
    var effects: [String] = []
    for second in 6...130 { effects += try fixture.drive(to: Double(second)).brief }
    expect(effects.contains("collect"))
    expectEqual(fixture.handle(.updateEnded(id: 1, AgentFixture.unreachable), at: 131).brief, [])
    expectEqual(fixture.handle(.updateEnded(id: 1, AgentFixture.accepted), at: 132).brief, ["collect no more"])
  }

  @Test(
    "if the machine's clock is not set, certificates are verified at the receiver's time, never before the build date")
  func certificates() throws {
    var fixture = try AgentFixture()
    let build = fixture.agent.configuration.filter.buildDate
    let time = AgentFixture.start + .seconds(5)
    func requests(_ input: VehicleAgent.Input, at second: Int, wall: Timestamp) -> [HTTPRequest] {
      fixture.agent.handle(input, at: Moment(boot: .boot + .seconds(second), wall: wall)).compactMap {
        switch $0 {
        case .fetchToken(_, .http(let request)), .sendUpdate(_, let request): request
        default: nil
        }
      }
    }
    var fix = Fix(coordinate: try #require(Coordinate(latitude: 48, longitude: 11)), time: .utc(time))
    fix.horizontalAccuracy = 3
    let unset = Timestamp(seconds: 0)
    expectEqual(requests(.source(0, .fix(fix)), at: 1, wall: unset).map(\.certificateTime), [time])
    expectEqual(
      requests(.tokenEnded(id: 1, fixture.token()), at: 2, wall: unset).map(\.certificateTime), [time + .seconds(1)])
    let moment = Moment(boot: .boot, wall: unset)
    expectEqual(CertificateTime.at(moment, buildDate: build), build)
    expectEqual(CertificateTime.at(moment, buildDate: build, known: unset), build)
    expectNil(CertificateTime.at(Moment(boot: .boot, wall: build), buildDate: build, known: time))
    // The caller can pass the clock's error: 100 s behind, unknown (nil), or ahead.
    let behind = build - .seconds(1) - time - .seconds(100)
    let early = Moment(boot: .boot, wall: build - .seconds(1))
    expectEqual(CertificateTime.at(early, buildDate: build, clockError: behind), time + .seconds(100))
    expectEqual(CertificateTime.at(early, buildDate: build, clockError: nil), build)
    expectEqual(CertificateTime.at(early, buildDate: build, clockError: .seconds(100)), build)
  }

  @Test(
    "when the network returns, old connections are dropped, and the newest and the queued positions are sent at once")
  func back() throws {
    var fixture = try AgentFixture()
    _ = fixture.handle(.network(VehicleAgentNetworkTests.network()), at: 0)
    try fixture.comeOnline()
    _ = fixture.handle(.network(NetworkState()), at: 5)
    for second in 6...60 { _ = try fixture.drive(to: Double(second)) }
    let effects = fixture.handle(.network(VehicleAgentNetworkTests.network(3)), at: 60.5)
    expectEqual(effects.events, [.networkBack])
    expectEqual(effects.brief, ["drop connections", "send 2 with past"])
    expect(fixture.snapshot().isOnline)
  }

  @Test("without a visible network an attempt is made every three minutes; after a response, updates are sent as usual")
  func noVisibleNetwork() throws {
    var fixture = try AgentFixture()
    _ = fixture.handle(.network(NetworkState()), at: 0)
    // One attempt is made at the start.
    try expectEqual(fixture.drive(to: 1).brief.first, "fetch 1 https://t.test/truck-1")
    expectEqual(fixture.handle(.tokenEnded(id: 1, .http(AgentFixture.unreachable)), at: 1.1).brief, [])
    for second in 2...180 { expect(try !fixture.drive(to: Double(second)).brief.contains { $0.hasPrefix("fetch") }) }
    expect(try fixture.drive(to: 182).brief.contains("fetch 2 https://t.test/truck-1"))
    expectEqual(fixture.handle(.tokenEnded(id: 2, fixture.token()), at: 182.1).brief, ["send 1 with past"])
    _ = fixture.handle(.updateEnded(id: 1, AgentFixture.accepted), at: 182.2)
    expect(fixture.snapshot().isOnline)
    for second in 183...191 { _ = try fixture.drive(to: Double(second)) }
    let next = try fixture.drive(to: 192).brief
    expectEqual(next, ["keep 192.0", "send 2"])
    // After a failed attempt, updates are suppressed again.
    _ = fixture.handle(.updateEnded(id: 2, AgentFixture.unreachable), at: 193.1)
    for second in 194...372 { expect(try !fixture.drive(to: Double(second)).brief.contains { $0.hasPrefix("send") }) }
    expect(try fixture.drive(to: 374).brief.contains("send 3 with past"))
  }

  @Test("any response of a server proves that the network works")
  func anyAnswer() throws {
    var fixture = try AgentFixture()
    _ = fixture.handle(.network(NetworkState()), at: 0)
    _ = try fixture.drive(to: 0)
    _ = fixture.handle(.tokenEnded(id: 1, fixture.token()), at: 0.1)
    _ = fixture.handle(.updateEnded(id: 1, AgentFixture.error(503, "UNAVAILABLE")), at: 0.2)
    expectEqual(fixture.agent.nextDeadline(at: fixture.moment.boot).map { $0 < .boot + .seconds(10) }, true)
  }

  @Test("a change of the IP address cancels the request in flight, and its position is sent over a new connection")
  func moved() throws {
    var fixture = try AgentFixture()
    _ = fixture.handle(.network(VehicleAgentNetworkTests.network()), at: 0)
    try fixture.comeOnline()
    try expectEqual(fixture.drive(to: 10.2).brief, ["keep 10.2", "send 2"])
    let effects = fixture.handle(.network(VehicleAgentNetworkTests.network(7)), at: 12)
    expectEqual(effects.brief, ["cancel update 2", "drop connections", "send 3"])
    expectEqual(fixture.handle(.updateEnded(id: 2, AgentFixture.accepted), at: 12.1).brief, [])
    expectEqual(fixture.handle(.updateEnded(id: 3, AgentFixture.accepted), at: 12.2).brief, ["drop [10.2] delivered"])
    expectEqual(fixture.agent.statistics.abandoned, 1)
  }

  @Test("after a change of the IP address during a token fetch, the token is requested over a new connection")
  func movedWhileFetching() throws {
    var fixture = try AgentFixture()
    _ = fixture.handle(.network(VehicleAgentNetworkTests.network()), at: 0)
    _ = try fixture.drive(to: 0)
    let effects = fixture.handle(.network(VehicleAgentNetworkTests.network(7)), at: 2)
    expectEqual(effects.brief, ["cancel fetch 1", "drop connections", "fetch 2 https://t.test/truck-1"])
  }

  @Test("a second network that is not the default route changes nothing, whether it appears or disappears")
  func second() throws {
    var fixture = try AgentFixture()
    _ = fixture.handle(.network(VehicleAgentNetworkTests.network()), at: 0)
    try fixture.comeOnline()
    _ = try fixture.drive(to: 10.2)
    var both = VehicleAgentNetworkTests.network()
    both.addresses.insert(NetworkTable.Address(link: 3, family: .ipv4, bytes: [192, 168, 1, 5]))
    expect(fixture.handle(.network(both), at: 11).isEmpty)
    // The update is still in flight.
    expect(fixture.handle(.network(VehicleAgentNetworkTests.network()), at: 12).isEmpty)
  }

  @Test("an endpoint on this machine needs no network")
  func loopback() throws {
    var fixture = try AgentFixture { $0.needsNetwork = false }
    _ = fixture.handle(.network(NetworkState()), at: 0)
    try fixture.comeOnline()
    expect(fixture.handle(.network(NetworkState()), at: 1).isEmpty)
    try expectEqual(fixture.drive(to: 10.2).brief, ["keep 10.2", "send 2"])
  }

  @Test("a resume from suspend cancels requests and drops connections; the first fix then triggers the next request")
  func resume() throws {
    var fixture = try AgentFixture()
    try fixture.comeOnline()
    _ = try fixture.drive(to: 10.2)
    let effects = fixture.handle(.resumed(after: .seconds(3600)), at: 3611)
    expectEqual(effects.events.first, .resumed)
    expectEqual(effects.brief, ["cancel update 2", "drop connections"])
    // The receiver gets a moment to report its position. The token expired during the suspend.
    expectEqual(fixture.agent.nextDeadline(at: fixture.moment.boot), .boot + .milliseconds(3_612_500))
    expect(try fixture.drive(to: 3611.8).brief.contains("fetch 2 https://t.test/truck-1"))
  }

  @Test(
    "a clock step is reported with its size, at most once a minute",
    arguments: [Duration.seconds(1_796_083_200), .milliseconds(-2500), .seconds(3600)])
  func clockStep(step: Duration) throws {
    var fixture = try AgentFixture()
    // Nothing else is pending.
    _ = fixture.handle(.source(0, .lost("gone")), at: 0)
    expectEqual(fixture.handle(.clockStepped(step), at: 10), [.event(.clockStepped(step, suppressed: 0))])
    for second in 11..<70 { expect(fixture.handle(.clockStepped(step), at: Double(second)).isEmpty) }
    expectEqual(fixture.handle(.clockStepped(step), at: 71), [.event(.clockStepped(step, suppressed: 59))])
  }
}
