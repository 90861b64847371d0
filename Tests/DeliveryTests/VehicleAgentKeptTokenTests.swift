// SPDX-License-Identifier: Apache-2.0
import AgentTesting
import Authorization
import HTTPMessages
import Delivery
import Testing
import Timekeeping

/// When a token is kept for the next run, and when it is not.
@Suite struct VehicleAgentKeptTokenTests {
  private static let key = KeptToken.Key(subject: "truck-1", boot: "b007")

  private func fixture(_ key: KeptToken.Key? = key) throws -> AgentFixture {
    try AgentFixture { $0.tokenKey = key }
  }

  private func kept(_ effects: [VehicleAgent.Effect]) -> Secret? {
    for case .keepToken(let text) in effects { return text }
    return nil
  }

  /// What a run that has got a token leaves.
  private func left() throws -> Secret {
    var fixture = try fixture()
    _ = try fixture.drive(to: 0)
    return try #require(kept(fixture.tell(.tokenEnded(id: 1, fixture.token(life: 600)), at: 0.1)))
  }

  @Test("the next run sends its first position with the token of the run before, and asks nobody")
  func restart() throws {
    let text = try left()
    var next = try fixture()
    #expect(next.tell(.tokenFound(text), at: 50).events == [.tokenRestored])
    #expect(try next.drive(to: 51).brief.contains("send 1"))
    #expect(next.agent.statistics.tokenFetches == 0)
  }

  @Test("what is of no use is told and removed, and the provider is asked")
  func useless() throws {
    let text = try left()
    var next = try fixture(KeptToken.Key(subject: "truck-1", boot: "b008"))
    let effects = next.tell(.tokenFound(text), at: 50)
    #expect(effects.events == [.tokenNotRestored])
    #expect(effects.contains(.forgetToken))
    #expect(try next.drive(to: 51).brief.contains { $0.hasPrefix("fetch") })
  }

  @Test("where none is to be kept, none is, and what an earlier run has left is removed without a word")
  func off() throws {
    let text = try left()
    var next = try fixture(nil)
    let effects = next.tell(.tokenFound(text), at: 50)
    #expect(effects.events.isEmpty)
    #expect(effects.contains(.forgetToken))
    _ = try next.drive(to: 51)
    #expect(kept(next.tell(.tokenEnded(id: 1, next.token()), at: 51.1)) == nil)
  }

  @Test("a token that Fleet Engine refuses is forgotten")
  func refused() throws {
    var fixture = try fixture()
    try fixture.comeOnline()
    _ = try fixture.drive(to: 10.3)
    #expect(
      fixture.tell(.updateEnded(id: 2, AgentFixture.error(401, "UNAUTHENTICATED")), at: 10.4).contains(.forgetToken))
  }

  @Test("another vehicle, another provider, or no cache any more: what was kept is forgotten")
  func otherSettings() throws {
    let changes: [(inout VehicleAgent.Configuration) throws -> Void] = [
      { configuration in
        configuration = try AgentFixture.configuration(vehicle: "truck-2")
        configuration.tokenKey = KeptToken.Key(subject: "truck-2", boot: "b007")
      },
      { configuration in
        configuration.tokenProvider = .http(
          TokenEndpoint(
            urlTemplate: "https://u.test/",
            format: TokenResponseFormat(tokenKey: "token", expirationKey: nil, expiration: .jwt)))
        configuration.tokenKey = KeptToken.Key(subject: "truck-1 by u", boot: "b007")
      }, { $0.tokenKey = nil },
    ]
    for change in changes {
      var fixture = try fixture()
      try fixture.comeOnline()
      var configuration = try AgentFixture.configuration()
      configuration.tokenKey = VehicleAgentKeptTokenTests.key
      try change(&configuration)
      let effects = fixture.tell(.configure(configuration), at: 5)
      #expect(effects.contains(.forgetToken))
      #expect(kept(effects) == nil)
    }
  }

  @Test("the same settings again change nothing, and a cache that is switched on gets the token in hand")
  func switchedOn() throws {
    var fixture = try fixture()
    try fixture.comeOnline()
    var configuration = try AgentFixture.configuration()
    configuration.tokenKey = VehicleAgentKeptTokenTests.key
    let same = fixture.tell(.configure(configuration), at: 5)
    #expect(!same.contains(.forgetToken) && kept(same) == nil)
    configuration.tokenKey = nil
    _ = fixture.tell(.configure(configuration), at: 6)
    configuration.tokenKey = VehicleAgentKeptTokenTests.key
    #expect(kept(fixture.tell(.configure(configuration), at: 7)) != nil)
  }
}
