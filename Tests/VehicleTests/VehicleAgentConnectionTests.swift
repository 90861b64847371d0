// SPDX-License-Identifier: Apache-2.0
import AgentTesting
import Authorization
import Expectations
import Vehicle
import HTTPMessages
import Testing
import Timekeeping

/// Which requests of a vehicle use a new connection.
struct VehicleAgentConnectionTests {
  private static let reset = HTTPOutcome.failure(TransportFailure(.broken, "reset", isConnectionOpen: true))

  /// The requests among the effects, and whether each uses a new connection.
  private static func requests(_ effects: [VehicleAgent.Effect]) -> [String] {
    effects.compactMap { effect in
      switch effect {
      case .sendUpdate(_, let request): request.usesNewConnection ? "update, new" : "update"
      case .fetchToken(_, .http(let request)): request.usesNewConnection ? "token, new" : "token"
      default: nil
      }
    }
  }

  /// Drives with one fix a second until there is a request.
  private static func next(_ fixture: inout AgentFixture) throws -> [String] {
    for _ in 0..<400 {
      let requests = requests(try fixture.drive(to: fixture.now.rounded(.down) + 1))
      if !requests.isEmpty { return requests }
    }
    return []
  }

  @Test("the update after a reset uses a new connection, and the next one reuses it")
  func update() throws {
    var fixture = try AgentFixture()
    try fixture.comeOnline()
    try expectEqual(Self.next(&fixture), ["update"])
    _ = fixture.handle(.updateEnded(id: 2, Self.reset), at: fixture.now + 0.1)
    try expectEqual(Self.next(&fixture), ["update, new"])
    _ = fixture.handle(.updateEnded(id: 3, AgentFixture.accepted), at: fixture.now + 0.1)
    try expectEqual(Self.next(&fixture), ["update"])
  }

  @Test("after two 503 responses in a row the third attempt waits for Retry-After and uses a new connection")
  func unavailable() throws {
    var fixture = try AgentFixture()
    try fixture.comeOnline()
    let busy = HTTPOutcome.response(HTTPResponse(status: 503, headers: [("Retry-After", "60")]))
    try expectEqual(Self.next(&fixture), ["update"])
    _ = fixture.handle(.updateEnded(id: 2, busy), at: fixture.now + 0.1)
    try expectEqual(Self.next(&fixture), ["update"])
    let last = fixture.now
    _ = fixture.handle(.updateEnded(id: 3, busy), at: fixture.now + 0.1)
    try expectEqual(Self.next(&fixture), ["update, new"])
    expect(fixture.now - last >= 60)
  }

  @Test("429 and other 4xx responses never lead to a new connection", arguments: [400, 403, 404, 429])
  func rejected(status: Int) throws {
    var fixture = try AgentFixture()
    try fixture.comeOnline()
    var tokens: UInt64 = 1
    for id in UInt64(2)..<6 {
      var requests = try Self.next(&fixture)
      if requests == ["token"] {
        tokens += 1
        let token = fixture.token()
        requests = Self.requests(fixture.handle(.tokenEnded(id: tokens, token), at: fixture.now + 0.1))
      }
      expectEqual(requests, ["update"])
      _ = fixture.handle(.updateEnded(id: id, AgentFixture.error(status, "X")), at: fixture.now + 0.1)
    }
  }

  @Test("after two 5xx responses of the token provider the next token request uses a new connection")
  func token() throws {
    var fixture = try AgentFixture()
    let broken = TokenOutcome.http(.response(HTTPResponse(status: 502, body: Array("<html>".utf8))))
    expectEqual(Self.requests(try fixture.drive(to: 0)), ["token"])
    _ = fixture.handle(.tokenEnded(id: 1, broken), at: 0.1)
    try expectEqual(Self.next(&fixture), ["token"])
    _ = fixture.handle(.tokenEnded(id: 2, broken), at: fixture.now + 0.1)
    try expectEqual(Self.next(&fixture), ["token, new"])
    let obtained = fixture.handle(.tokenEnded(id: 3, fixture.token()), at: fixture.now + 0.1)
    expectEqual(Self.requests(obtained), ["update"])
  }
}
