// SPDX-License-Identifier: Apache-2.0
import Expectations
import FixSources
import AgentTesting
import Authorization
import HTTPMessages
import PositionBacklog
import Vehicle
import FleetEngine
import Positioning
import Observability
import Testing
import Timekeeping

/// When a vehicle requests tokens, and what it does when they are rejected.
struct VehicleAgentTokenTests {
  private static func refusal(_ http: Int, _ status: String, _ message: String, reason: String) -> HTTPOutcome {
    let body =
      #"{"error":{"code":\#(http),"status":"\#(status)","message":"\#(message)","details":["#
      + #"{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"\#(reason)"}]}}"#
    return .response(
      HTTPResponse(
        status: http, headers: [("Date", "Tue, 01 Dec 2026 00:00:30 GMT")], body: [UInt8](body.utf8)))
  }

  private static let expired = refusal(
    401, "UNAUTHENTICATED", "Request had invalid authentication credentials.", reason: "ACCESS_TOKEN_EXPIRED")

  /// The reported cause of an outage.
  private func failure(_ effects: [VehicleAgent.Effect]) -> UpdateFailure? {
    for case .event(.offline(let failure, _, _)) in effects { return failure }
    return nil
  }

  @Test("the connection to Fleet Engine is established during the first token fetch, and not during later ones")
  func connectsAhead() throws {
    func connections(_ effects: [VehicleAgent.Effect]) -> [String] {
      effects.compactMap { if case .connect(let url, _) = $0 { url } else { nil } }
    }
    var fixture = try AgentFixture()
    let first = try fixture.drive(to: 0)
    expectEqual(first.brief, ["fetch 1 https://t.test/truck-1", "keep 0.0"])
    expectEqual(connections(first), ["https://e.test/v1/providers/p/deliveryVehicles/truck-1"])
    _ = fixture.handle(.tokenEnded(id: 1, .http(AgentFixture.unreachable)), at: 15)
    let second = try fixture.drive(to: 40)
    expect(second.brief.contains("fetch 2 https://t.test/truck-1"))
    expectEqual(connections(second), [])
  }

  @Test("after a rejected iat or exp one fresh token is fetched at once; if that is rejected too, attempts slow down")
  func clock() throws {
    var fixture = try AgentFixture()
    try fixture.comeOnline()
    try expectEqual(fixture.drive(to: 10.3).brief, ["keep 10.3", "send 2"])
    let first = fixture.handle(.updateEnded(id: 2, VehicleAgentTokenTests.expired), at: 10.4)
    expect(failure(first)?.category == .clockSkew && failure(first)?.cause == .expired)
    // A second later there is a fresh token, and the position is sent with it.
    let asked = fixture.handle(.deadline, at: 11.5)
    expectEqual(asked.brief, ["fetch 2 https://t.test/truck-1"])
    expectEqual(fixture.handle(.tokenEnded(id: 2, fixture.token()), at: 11.6).brief, ["send 3"])
    let second = fixture.handle(.updateEnded(id: 3, VehicleAgentTokenTests.expired), at: 11.7)
    // An error of the token itself is detected locally.
    let failures = second.compactMap { if case .event(.tokenRefused(let failure, _)) = $0 { failure } else { nil } }
    expect(failures.count == 1 && failures[0].message.contains("; the token itself is wrong: "))
    // The snapshot has the same failure and advice.
    let snapshot = fixture.snapshot(at: 11.8)
    expect(snapshot.failure == failures[0] && snapshot.failure?.advice == failures[0].tokenAdvice)
    for second in stride(from: 12.0, to: 71, by: 1) {
      expect(try fixture.drive(to: second).brief.allSatisfy { !$0.hasPrefix("fetch") })
    }
  }

  @Test(
    "a missing role, a disabled API and a disabled service account are distinguished",
    arguments: [
      ("IAM_PERMISSION_DENIED", RejectionCause.role), ("SERVICE_DISABLED", .apiDisabled),
      ("ACCOUNT_STATE_INVALID", .account),
    ])
  func causes(reason: String, cause: RejectionCause) throws {
    var fixture = try AgentFixture()
    try fixture.comeOnline()
    _ = try fixture.drive(to: 10.3)
    let effects = fixture.handle(
      .updateEnded(
        id: 2, VehicleAgentTokenTests.refusal(403, "PERMISSION_DENIED", "no", reason: reason)), at: 10.4)
    expectEqual(failure(effects)?.cause, cause)
  }

  @Test(
    "after hours of suspend the token has expired by elapsed time, whatever the clock shows, and is not used",
    arguments: [0, -7200])
  func suspend(clockError: Int) throws {
    var fixture = try AgentFixture()
    try fixture.comeOnline()
    _ = try fixture.drive(to: 10)
    _ = fixture.handle(.updateEnded(id: 2, AgentFixture.accepted), at: 10.1)
    // The machine resumes two hours later; the wall clock may have stopped during the suspend.
    fixture.now = 7210
    var moment = Moment(boot: fixture.moment.boot, wall: fixture.moment.wall + .seconds(clockError))
    var effects = fixture.agent.handle(.resumed(after: .seconds(7200)), at: moment)
    // The receiver gets a moment to report its position.
    moment = Moment(boot: moment.boot + .seconds(2), wall: moment.wall + .seconds(2))
    effects += fixture.agent.handle(.deadline, at: moment)
    expect(effects.brief.contains("fetch 2 https://t.test/truck-1"))
    expect(!effects.brief.contains { $0.hasPrefix("send") })
    let next = fixture.agent.handle(.tokenEnded(id: 2, fixture.token()), at: moment)
    expect(next.brief.contains { $0.hasPrefix("send") })
  }

  @Test("a token's expiry is compared with the receiver's time, not with a wall clock in 2038")
  func bestTime() throws {
    var fixture = try AgentFixture { configuration in
      configuration.tokenProvider = .file(
        TokenFile(
          path: "/t", format: TokenResponseFormat(tokenKey: "token", expirationKey: "end", expiration: .epochSeconds)))
    }
    let payload = "eyJhdXRob3JpemF0aW9uIjp7ImRlbGl2ZXJ5dmVoaWNsZWlkIjoidHJ1Y2stMSJ9fQ"
    let text = #"{"token":"e30.\#(payload).s","end":\#(AgentFixture.start.milliseconds / 1000 + 600)}"#
    _ = try fixture.drive(to: 0)
    // The receiver has reported the time; the clock steps before the file is read.
    let moment = Moment(boot: fixture.moment.boot, wall: Timestamp(seconds: 2_147_483_648))
    let effects = fixture.agent.handle(
      .tokenEnded(id: 1, .file(.text(Secret(text), age: .seconds(350_000_000)))), at: moment)
    let lives = effects.compactMap { if case .event(.tokenObtained(let life, _, _, _)) = $0 { life } else { nil } }
    expectEqual(lives, [.seconds(600)])
  }

  /// The page of a captive portal whose clock is two hours ahead.
  private static func portalPage(at now: Moment) -> HTTPOutcome {
    let time = (now.wall + .seconds(7200)).rfc3339.dropFirst(11).prefix(8)
    return .response(
      HTTPResponse(
        status: 200, headers: [("Date", "Tue, 01 Dec 2026 \(time) GMT")], body: [UInt8]("<html>".utf8)))
  }

  @Test("the clock of a captive portal that answers updates is ignored, however often it answers")
  func portal() throws {
    var fixture = try AgentFixture()
    var pages = 0
    for second in 0...60 {
      var effects = try fixture.drive(to: Double(second))
      while let effect = effects.popLast() {
        switch effect {
        case .fetchToken(let id, _):
          effects += fixture.handle(.tokenEnded(id: id, fixture.token()), at: fixture.now + 0.1)
        case .sendUpdate(let id, _):
          let page = VehicleAgentTokenTests.portalPage(at: fixture.moment)
          effects += fixture.handle(.updateEnded(id: id, page), at: fixture.now + 0.1)
          pages += 1
        case .event(let event): expect(event.kind != .clockWrong)
        default: break
        }
      }
    }
    // Fleet Engine's time would outvote the receiver and the machine's clock from its second response on.
    expect(pages > 2)
    expectNil(fixture.snapshot().clockError)
  }

  @Test("the clock of a captive portal that answers a token request is ignored")
  func portalOfToken() throws {
    // Without a fix there is no reference that a token provider's time would have to outvote.
    var fixture = try AgentFixture()
    let place = try #require(Coordinate(latitude: 48, longitude: 11))
    let stored = Backlog.Record(VehicleLocation(coordinate: place, time: AgentFixture.start - .seconds(100)))
    _ = fixture.handle(.restored([stored]), at: 1)
    expectEqual(fixture.handle(.deadline, at: 11).brief, ["fetch 1 https://t.test/truck-1"])
    let page = VehicleAgentTokenTests.portalPage(at: fixture.moment)
    expect(!fixture.handle(.tokenEnded(id: 1, .http(page)), at: 11.1).events.contains(.clockWrong))
    expectNil(fixture.snapshot().clockError)
  }

  @Test("a receiver whose clock is ahead does not make a valid token look expired")
  func aheadReceiver() throws {
    var fixture = try AgentFixture {
      $0.tokenProvider = .command(
        TokenCommand(
          arguments: ["/bin/get-token"],
          format: TokenResponseFormat(tokenKey: "token", expirationKey: "end", expiration: .epochSeconds)))
    }
    for second in 0...6 {
      fixture.now = Double(second)
      let place = try #require(Coordinate(latitude: 48 + Double(second) / 10_000, longitude: 11))
      let fix = Fix(coordinate: place, time: .utc(fixture.moment.wall + .seconds(3600)))
      _ = fixture.agent.handle(.source(0, .fix(fix)), at: fixture.moment)
    }
    // Base64url of {"authorization":{"deliveryvehicleid":"truck-1"}}.
    let token = "e30.eyJhdXRob3JpemF0aW9uIjp7ImRlbGl2ZXJ5dmVoaWNsZWlkIjoidHJ1Y2stMSJ9fQ.s1"
    let answer = #"{"token":"\#(token)","end":\#(AgentFixture.start.milliseconds / 1000 + 1800)}"#
    let outcome = TokenOutcome.command(TokenCommand.Outcome(.exited(0), output: [UInt8](answer.utf8)))
    expect(fixture.handle(.tokenEnded(id: 1, outcome), at: 6.5).brief.contains { $0.hasPrefix("send 1") })
  }
}
