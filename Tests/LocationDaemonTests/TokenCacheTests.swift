// SPDX-License-Identifier: Apache-2.0
import AgentTesting
import Authorization
import Expectations
import Vehicle
import FileTesting
import Testing

@testable import LocationDaemon

/// The token that a run caches for the next run, with the agent, the settings and a real file.
struct TokenCacheTests {
  private let directory: TemporaryDirectory

  init() throws {
    directory = try TemporaryDirectory()
  }

  /// A run that needs a token.
  /// - Returns: whether it requests a new token, and why it does not use the cached one.
  private func run(_ settings: VehicleAgent.Configuration, at second: Double) throws -> (fetches: Bool, why: String?) {
    var configuration = settings
    configuration.tokenKey = StoredToken.Key(settings.context, settings.tokenProvider, directory: directory.path)
    try #require(configuration.tokenKey != nil)
    var fixture = try AgentFixture { $0 = configuration }
    let cache = TokenCache(directory: directory.path)
    var effects: [VehicleAgent.Effect] = []
    if let text = try cache.read() { effects += fixture.handle(.tokenFound(text), at: second) }
    effects += try fixture.drive(to: second)
    let fetches = effects.contains { if case .fetchToken = $0 { true } else { false } }
    // This token would be valid for either service: only the key under which it is cached distinguishes them.
    if fetches { effects += fixture.handle(.tokenEnded(id: 1, fixture.token()), at: second + 0.5) }
    var why: String?
    for effect in effects {
      switch effect {
      case .storeToken(let text): try cache.store(text)
      case .removeStoredToken: cache.remove()
      case .event(.tokenNotRestored(_, let reason)): why = reason
      default: break
      }
    }
    return (fetches, why)
  }

  @Test(
    "a cached token is used only for its own service, even if the vehicle ID exists in both services")
  func services() throws {
    let deliveries = try AgentFixture.configuration()
    let trips = try AgentFixture.tripsConfiguration()
    expect(try run(deliveries, at: 1) == (true, nil))
    expect(try run(deliveries, at: 2) == (false, nil))
    expect(try run(trips, at: 3) == (true, "otherSettings"))
    expect(try run(trips, at: 4) == (false, nil))
    expect(try run(deliveries, at: 5) == (true, "otherSettings"))
  }
}
