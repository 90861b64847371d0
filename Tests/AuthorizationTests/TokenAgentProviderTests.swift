// SPDX-License-Identifier: Apache-2.0
import Authorization
import Expectations
import HTTPMessages
import Testing
import Timekeeping

/// The agent's handling of providers that repeat a token, of files that change, and of long failures.
struct TokenAgentProviderTests {
  private static let format = TokenResponseFormat(
    tokenKey: "token", expirationKey: "seconds", expiration: .relativeSeconds)
  private let http = TokenProvider.http(TokenEndpoint(urlTemplate: "https://t.test/{vehicle_id}", format: format))
  private let file = TokenProvider.file(TokenFile(path: "/run/token", format: format))

  private func agent(_ provider: TokenProvider) throws -> TokenAgent {
    TokenAgent(
      context: try AuthorizationFixture.context(), provider: provider, buildDate: AuthorizationFixture.buildDate,
      seed: 1)
  }

  private func body(_ serial: Int, life: Int = 600) -> String {
    #"{"token":"\#(AuthorizationFixture.token(AuthorizationFixture.claims(serial: serial)))","seconds":\#(life)}"#
  }

  private func answer(_ serial: Int, life: Int = 600) -> TokenOutcome {
    .http(.response(AuthorizationFixture.response(body(serial, life: life))))
  }

  private func text(_ serial: Int) -> TokenOutcome { .file(.text(Secret(body(serial)), age: .zero)) }

  private func fetch(_ agent: inout TokenAgent, at second: Double) -> UInt64? {
    for case .fetch(let id, _) in agent.handle(.needed, at: AuthorizationFixture.moment(second)) { return id }
    return nil
  }

  @Test("a provider that returns the same token is retried with a backoff, at the latest when the token expires")
  func sameToken() throws {
    var agent = try agent(http)
    let first = try #require(fetch(&agent, at: 0))
    _ = agent.handle(.ended(id: first, answer(1)), at: AuthorizationFixture.moment(0))
    let token = try #require(agent.token(at: .boot))
    var fetches = 0
    // An update every five seconds in the last tenth of the token's lifetime.
    for second in stride(from: 540.0, to: 600, by: 5) {
      guard let id = fetch(&agent, at: second) else { continue }
      fetches += 1
      expect(agent.handle(.ended(id: id, answer(1)), at: AuthorizationFixture.moment(second)).isEmpty)
      expectEqual(agent.token(at: AuthorizationFixture.moment(second).boot), token)
    }
    expect((2...4).contains(fetches))
    expectNil(agent.token(at: .boot + .seconds(600)))
    expect(fetch(&agent, at: 600) != nil)
  }

  @Test("a rejected token that the provider returns again is not used at once, but after one to two minutes")
  func rejectedAgain() throws {
    var agent = try agent(http)
    let first = try #require(fetch(&agent, at: 0))
    _ = agent.handle(.ended(id: first, answer(1)), at: AuthorizationFixture.moment(0))
    let token = try #require(agent.token(at: .boot))
    _ = agent.handle(.rejected(token), at: AuthorizationFixture.moment(10))
    let second = try #require(fetch(&agent, at: 10))
    let effects = agent.handle(.ended(id: second, answer(1)), at: AuthorizationFixture.moment(10))
    expectEqual(effects, [try .failed(#require(agent.lastFailure))])
    expectEqual(agent.lastFailure?.reason, .unchanged)
    let retry = agent.earliestFetch - AuthorizationFixture.moment(10).boot
    expect(retry >= .seconds(60) && retry <= .seconds(120))
    expectNil(fetch(&agent, at: 69))
    let later = 10 + retry.inSeconds + 0.01
    let third = try #require(fetch(&agent, at: later))
    guard case .obtained? = agent.handle(.ended(id: third, answer(1)), at: AuthorizationFixture.moment(later)).first
    else {
      Issue.record("never tried again")
      return
    }
    // After another rejection the token is no longer used.
    let again = try #require(agent.token(at: AuthorizationFixture.moment(later).boot))
    _ = agent.handle(.rejected(again), at: AuthorizationFixture.moment(later + 1))
    expectNil(agent.token(at: AuthorizationFixture.moment(later + 1).boot))
  }

  @Test("when the rotation of a key invalidates the token, a new one is fetched at once")
  func rotated() throws {
    var agent = try agent(http)
    let first = try #require(fetch(&agent, at: 0))
    _ = agent.handle(.ended(id: first, answer(1)), at: AuthorizationFixture.moment(0))
    let token = try #require(agent.token(at: .boot))
    expectEqual(agent.handle(.rejected(token), at: AuthorizationFixture.moment(10)), [.discardStored])
    let second = try #require(fetch(&agent, at: 10))
    _ = agent.handle(.ended(id: second, answer(2)), at: AuthorizationFixture.moment(10))
    expect(agent.token(at: .boot + .seconds(10)) != nil)
    _ = agent.handle(.accepted, at: AuthorizationFixture.moment(11))
    expect(agent.lastFailure == nil && agent.failingSince == nil)
  }

  @Test("a file that changes is read at once, even while the current token is valid")
  func renewed() throws {
    var agent = try agent(file)
    let first = try #require(fetch(&agent, at: 0))
    _ = agent.handle(.ended(id: first, text(1)), at: AuthorizationFixture.moment(0))
    expectNil(fetch(&agent, at: 20))
    guard case .fetch(let id, let request)? = agent.handle(.fileChanged, at: AuthorizationFixture.moment(30)).first
    else {
      Issue.record("not read")
      return
    }
    expectEqual(request, .file(path: "/run/token"))
    guard case .obtained? = agent.handle(.ended(id: id, text(2)), at: AuthorizationFixture.moment(30)).first else {
      Issue.record("not taken")
      return
    }
    expect(agent.token(at: .boot + .seconds(629)) != nil)
  }

  @Test("a partially written file is read again when it changes, without waiting for the backoff")
  func halfWritten() throws {
    var agent = try agent(file)
    var id = try #require(fetch(&agent, at: 0))
    for second in [0.0, 20, 40] {
      _ = agent.handle(
        .ended(id: id, .file(.text(Secret(#"{"tok"#), age: .zero))), at: AuthorizationFixture.moment(second))
      expectEqual(agent.lastFailure?.reason, .notJSON)
      // Without a change the file is read again within ten seconds.
      expect(agent.earliestFetch <= AuthorizationFixture.moment(second + 10).boot)
      guard case .fetch(let next, _)? = agent.handle(.fileChanged, at: AuthorizationFixture.moment(second + 2)).first
      else {
        Issue.record("not read at \(second)")
        return
      }
      id = next
    }
    _ = agent.handle(.ended(id: id, text(1)), at: AuthorizationFixture.moment(43))
    expect(agent.token(at: .boot + .seconds(43)) != nil && agent.failingSince == nil)
  }

  @Test("a file that changes a thousand times a second is read 12 times a minute, and its last change is not missed")
  func frequentChanges() throws {
    var agent = try agent(file)
    var reads = 0
    for step in 0..<60_000 {
      let moment = AuthorizationFixture.moment(Double(step) / 1000)
      for case .fetch(let id, _) in agent.handle(.fileChanged, at: moment) {
        reads += 1
        _ = agent.handle(.ended(id: id, text(step)), at: moment)
      }
    }
    expectEqual(reads, 12)
    // The last change is not missed.
    expect(fetch(&agent, at: 120) != nil)
  }

  @Test("after Fleet Engine has rejected truncated tokens from a file, a change of the file is read within ten seconds")
  func truncatedToken() throws {
    var agent = try agent(file)
    let stamp = AuthorizationFixture.wall.milliseconds / 1000
    let whole = AuthorizationFixture.token(AuthorizationFixture.claims(iat: stamp, exp: stamp + 3600)) + "signature"
    for (cut, second) in [(6, 0.0), (3, 5)] {
      let id = try #require(fetch(&agent, at: second))
      let half = TokenOutcome.file(.text(Secret(String(whole.dropLast(cut))), age: .zero))
      _ = agent.handle(.ended(id: id, half), at: AuthorizationFixture.moment(second))
      let token = try #require(agent.token(at: AuthorizationFixture.moment(second).boot))
      _ = agent.handle(.rejected(token), at: AuthorizationFixture.moment(second + 1))
    }
    // The complete file is renamed into place.
    expect(agent.handle(.fileChanged, at: AuthorizationFixture.moment(20)).isEmpty)
    let id = try #require(fetch(&agent, at: 30))
    _ = agent.handle(.ended(id: id, .file(.text(Secret(whole), age: .zero))), at: AuthorizationFixture.moment(30))
    expectEqual(agent.token(at: AuthorizationFixture.moment(30).boot)?.secret, Secret(whole))
  }

  @Test("after repeated rejections only a change of the file shortens the backoff, to ten seconds")
  func changeShortensBackoff() throws {
    var agent = try agent(file)
    for (serial, second) in [(1, 0.0), (2, 5)] {
      let id = try #require(fetch(&agent, at: second))
      _ = agent.handle(.ended(id: id, text(serial)), at: AuthorizationFixture.moment(second))
      let token = try #require(agent.token(at: AuthorizationFixture.moment(second).boot))
      _ = agent.handle(.rejected(token), at: AuthorizationFixture.moment(second + 1))
    }
    expectNil(fetch(&agent, at: 65))
    expect(agent.handle(.fileChanged, at: AuthorizationFixture.moment(20)).isEmpty)
    expect(agent.handle(.fileChanged, at: AuthorizationFixture.moment(29)).isEmpty)
    expectNil(fetch(&agent, at: 29))
    expect(fetch(&agent, at: 30) != nil)
  }

  @Test("the time of the first failed fetch is kept until a token is obtained")
  func failingSince() throws {
    var agent = try agent(http)
    for second in [3.0, 60, 120] {
      let id = try #require(fetch(&agent, at: second))
      _ = agent.handle(
        .ended(id: id, .http(.failure(TransportFailure(.unreachable, "x")))), at: AuthorizationFixture.moment(second)
      )
      expectEqual(agent.failingSince, AuthorizationFixture.moment(3).boot)
    }
    let id = try #require(fetch(&agent, at: 200))
    _ = agent.handle(.ended(id: id, answer(1)), at: AuthorizationFixture.moment(200))
    expectNil(agent.failingSince)
  }
}
