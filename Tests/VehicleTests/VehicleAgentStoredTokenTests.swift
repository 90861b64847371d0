// SPDX-License-Identifier: Apache-2.0
import AgentTesting
import Authorization
import Expectations
import HTTPMessages
import Vehicle
import Testing
import Timekeeping

/// When a token is cached for the next run.
struct VehicleAgentStoredTokenTests {
  private static let key = StoredToken.Key(subject: "truck-1", boot: "b007")

  private func fixture(_ key: StoredToken.Key? = key) throws -> AgentFixture {
    try AgentFixture { $0.tokenKey = key }
  }

  private func storedToken(_ effects: [VehicleAgent.Effect]) -> Secret? {
    for case .storeToken(let text) in effects { return text }
    return nil
  }

  /// The text that a run caches after a token request.
  private func cachedToken() throws -> Secret {
    var fixture = try fixture()
    _ = try fixture.drive(to: 0)
    return try #require(storedToken(fixture.handle(.tokenEnded(id: 1, fixture.token(life: 600)), at: 0.1)))
  }

  @Test("the next run sends its first position with the token of the previous run, without a token request")
  func restart() throws {
    let text = try cachedToken()
    var next = try fixture()
    expectEqual(next.handle(.tokenFound(text), at: 50).events, [.tokenRestored])
    expect(try next.drive(to: 51).brief.contains("send 1"))
    expectEqual(next.agent.statistics.tokenFetches, 0)
  }

  @Test("an unusable cached token is reported and removed, and a new one is requested")
  func useless() throws {
    let text = try cachedToken()
    var next = try fixture(StoredToken.Key(subject: "truck-1", boot: "b008"))
    let effects = next.handle(.tokenFound(text), at: 50)
    expectEqual(effects.events, [.tokenNotRestored])
    expect(effects.contains(.removeStoredToken))
    expect(try next.drive(to: 51).brief.contains { $0.hasPrefix("fetch") })
  }

  @Test("if the cache is switched off, the token of the previous run is removed without an event")
  func off() throws {
    let text = try cachedToken()
    var next = try fixture(nil)
    let effects = next.handle(.tokenFound(text), at: 50)
    expect(effects.events.isEmpty)
    expect(effects.contains(.removeStoredToken))
    _ = try next.drive(to: 51)
    expectNil(storedToken(next.handle(.tokenEnded(id: 1, next.token()), at: 51.1)))
  }

  @Test("a token that Fleet Engine rejects is removed from the cache")
  func refused() throws {
    var fixture = try fixture()
    try fixture.comeOnline()
    _ = try fixture.drive(to: 10.3)
    expect(
      fixture.handle(.updateEnded(id: 2, AgentFixture.error(401, "UNAUTHENTICATED")), at: 10.4).contains(
        .removeStoredToken))
  }

  @Test("the cached token is removed when the vehicle or provider changes, or the cache is switched off")
  func otherSettings() throws {
    let changes: [(inout VehicleAgent.Configuration) throws -> Void] = [
      { configuration in
        configuration = try AgentFixture.configuration(vehicle: "truck-2")
        configuration.tokenKey = StoredToken.Key(subject: "truck-2", boot: "b007")
      },
      { configuration in
        configuration.tokenProvider = .http(
          TokenEndpoint(
            urlTemplate: "https://u.test/",
            format: TokenResponseFormat(tokenKey: "token", expirationKey: nil, expiration: .jwt)))
        configuration.tokenKey = StoredToken.Key(subject: "truck-1 by u", boot: "b007")
      }, { $0.tokenKey = nil },
    ]
    for change in changes {
      var fixture = try fixture()
      try fixture.comeOnline()
      var configuration = try AgentFixture.configuration()
      configuration.tokenKey = VehicleAgentStoredTokenTests.key
      try change(&configuration)
      let effects = fixture.handle(.configure(configuration), at: 5)
      expect(effects.contains(.removeStoredToken))
      expectNil(storedToken(effects))
    }
  }

  @Test("a reload of the same settings keeps the cached token; a cache that is switched on gets the current token")
  func switchedOn() throws {
    var fixture = try fixture()
    try fixture.comeOnline()
    var configuration = try AgentFixture.configuration()
    configuration.tokenKey = VehicleAgentStoredTokenTests.key
    let same = fixture.handle(.configure(configuration), at: 5)
    expect(!same.contains(.removeStoredToken) && storedToken(same) == nil)
    configuration.tokenKey = nil
    _ = fixture.handle(.configure(configuration), at: 6)
    configuration.tokenKey = VehicleAgentStoredTokenTests.key
    expect(storedToken(fixture.handle(.configure(configuration), at: 7)) != nil)
  }
}
