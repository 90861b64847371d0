// SPDX-License-Identifier: Apache-2.0
import Expectations
import ExternalInput
import Authorization
import HTTPMessages
import Testing
import Timekeeping

struct TokenAgentTests {
  private static let endpoint = TokenEndpoint(
    urlTemplate: "https://t.test/{vehicle_id}",
    format: TokenResponseFormat(tokenKey: "token", expirationKey: "seconds", expiration: .relativeSeconds))
  private let provider = TokenProvider.http(endpoint)

  private func agent(_ context: AuthorizationContext?, seed: UInt64 = 1) -> TokenAgent {
    TokenAgent(context: context, provider: provider, buildDate: AuthorizationFixture.buildDate, seed: seed)
  }

  private func answer(_ life: Int = 600, serial: Int = 0, vehicle: String = "truck-17") -> TokenOutcome {
    let token = AuthorizationFixture.token(AuthorizationFixture.claims(vehicle: vehicle, serial: serial))
    return .http(.response(AuthorizationFixture.response(#"{"token":"\#(token)","seconds":\#(life)}"#)))
  }

  private let down = TokenOutcome.http(.failure(TransportFailure(.refused, "refused")))

  private func fetchID(_ effects: [TokenAgent.Effect]) throws -> UInt64 {
    guard effects.count == 1, case .fetch(let id, _)? = effects.first else {
      Issue.record("not one fetch: \(effects)")
      throw AuthorizationFixture.failure { throw TokenFailure(.missingData, "") } ?? TokenFailure(.missingData, "")
    }
    return id
  }

  /// Passes `input`, which makes the fetch fail.
  /// - Returns: the backoff.
  private func failFetch(_ agent: inout TokenAgent, _ input: TokenAgent.Input, at second: Double) throws -> Duration {
    let effects = agent.handle(input, at: AuthorizationFixture.moment(second))
    guard effects == [try .failed(#require(agent.lastFailure))] else {
      Issue.record("no failure: \(effects)")
      return .zero
    }
    return agent.earliestFetch - AuthorizationFixture.moment(second).boot
  }

  /// An agent that got its token at second 0.
  private func supplied(life: Int = 600, seed: UInt64 = 1) throws -> TokenAgent {
    var agent = agent(try AuthorizationFixture.context(), seed: seed)
    let id = try fetchID(agent.handle(.needed, at: AuthorizationFixture.moment(0)))
    _ = agent.handle(.ended(id: id, answer(life)), at: AuthorizationFixture.moment(0))
    return agent
  }

  @Test(
    "a needed token is fetched once, and not again while the fetch is in flight; the token is used until it expires"
  )
  func singleFlight() throws {
    var agent = agent(try AuthorizationFixture.context())
    expectNil(agent.token(at: .boot))
    let id = try fetchID(agent.handle(.needed, at: AuthorizationFixture.moment(0)))
    expect(agent.handle(.needed, at: AuthorizationFixture.moment(1)).isEmpty)
    expect(agent.isFetching)
    expectEqual(agent.fetchDeadline, .boot + .seconds(15))
    expect(agent.handle(.ended(id: id + 1, answer()), at: AuthorizationFixture.moment(2)).isEmpty)
    guard
      case .obtained(let token, nil)? = agent.handle(.ended(id: id, answer()), at: AuthorizationFixture.moment(2))
        .first
    else {
      Issue.record("no token")
      return
    }
    expectEqual(agent.token(at: .boot + .seconds(2)), token)
    expectEqual(agent.token(at: .boot + .milliseconds(601_999)), token)
    expectNil(agent.token(at: .boot + .seconds(602)))
    expect(agent.handle(.ended(id: id, answer()), at: AuthorizationFixture.moment(3)).isEmpty)
  }

  @Test("the next token is requested with an update in the last fifth of the lifetime; the old one is used meanwhile")
  func prefetch() throws {
    var agent = try supplied()
    expect(agent.handle(.needed, at: AuthorizationFixture.moment(479)).isEmpty)
    let old = agent.token(at: .boot + .seconds(540))
    let id = try fetchID(agent.handle(.needed, at: AuthorizationFixture.moment(540)))
    expectEqual(agent.token(at: .boot + .seconds(541)), old)
    _ = agent.handle(.ended(id: id, answer(serial: 2)), at: AuthorizationFixture.moment(542))
    expect(agent.token(at: .boot + .seconds(542)) != old)
    expect(agent.token(at: .boot + .seconds(1141)) != nil)
  }

  @Test(
    "vehicles whose tokens expire in the same second renew them at times spread over a tenth of the lifetime"
  )
  func spreadPrefetch() throws {
    let seconds = try (UInt64(0)..<200).map { seed -> Double in
      var agent = try supplied(seed: seed)
      return try #require(
        stride(from: 480.0, through: 540, by: 0.5).first {
          !agent.handle(.needed, at: AuthorizationFixture.moment($0)).isEmpty
        })
    }
    for sixth in 0..<6 {
      expect((15...55).contains(seconds.count { Int($0 - 480) / 10 == sixth }))
    }
  }

  @Test("a token with a long lifetime is renewed between ten and five minutes before its expiry")
  func longLife() throws {
    let token = try #require(supplied(life: 36_000).token(at: .boot))
    expect(token.prefetchWindow == (.boot + .seconds(35_400), .boot + .seconds(35_700)))
  }

  @Test(
    "during an outage of the provider the old token is used until it expires, and the fetch is retried within 24 s")
  func providerDown() throws {
    var agent = try supplied()
    var second = 540.0
    while second < 600 {
      for effect in agent.handle(.needed, at: AuthorizationFixture.moment(second)) {
        guard case .fetch(let id, _) = effect else { continue }
        let wait = try failFetch(&agent, .ended(id: id, down), at: second)
        expect(wait >= .seconds(1) && wait <= .seconds(24))
      }
      expect(agent.token(at: AuthorizationFixture.moment(second).boot) != nil)
      second += 10
    }
    let effects = agent.handle(.needed, at: AuthorizationFixture.moment(600))
    expectNil(agent.token(at: .boot + .seconds(600)))
    expectEqual(agent.isFetching, !effects.isEmpty)
    expect(agent.isFetching || (.boot + .seconds(600)...(.boot + .seconds(624))).contains(agent.earliestFetch))
  }

  @Test(
    "after an outage of 5 min, a provider that refuses connections is retried every 1 to 2 min, others within 10 s",
    arguments: [(TransportFailure.Kind.refused, 60.0...120), (.unreachable, 1...10), (.timedOut, 1...10)])
  func longOutage(_ kind: TransportFailure.Kind, _ late: ClosedRange<Double>) throws {
    var agent = agent(try AuthorizationFixture.context())
    var now = 0.0
    while now < 3600 {
      let id = try fetchID(agent.handle(.needed, at: AuthorizationFixture.moment(now)))
      _ = agent.handle(
        .ended(id: id, .http(.failure(TransportFailure(kind, "down")))), at: AuthorizationFixture.moment(now))
      let wait = (agent.earliestFetch - .boot).inSeconds - now
      expect(wait >= 0.99 && wait <= max(10, now * 0.5 + 0.1))
      if now >= 300 { expect(wait >= late.lowerBound - 0.01 && wait <= late.upperBound + 0.01) }
      now = ((now + wait) * 1e3).rounded(.up) / 1e3 + 0.001
    }
  }

  @Test("without a token, a failed fetch is retried after a backoff, and not earlier")
  func backoff() throws {
    var agent = agent(try AuthorizationFixture.context())
    var now = 0.0
    for _ in 0..<50 {
      let id = try fetchID(agent.handle(.needed, at: AuthorizationFixture.moment(now)))
      _ = agent.handle(.ended(id: id, down), at: AuthorizationFixture.moment(now))
      let next = agent.earliestFetch
      let wait = (next - .boot).inSeconds - now
      expect(wait >= 0.99 && wait <= 120)
      expect(agent.handle(.needed, at: AuthorizationFixture.moment(now + wait - 0.5)).isEmpty)
      now = (Double(next.nanoseconds) / 1e6).rounded(.up) / 1e3 + 0.001
    }
    expectEqual(agent.lastFailure?.reason, .transport(.refused))
  }

  @Test("the first token after failures is reported with their duration, and the next one without")
  func afterFailures() throws {
    var agent = agent(try AuthorizationFixture.context())
    for second in [0.0, 20] {
      let id = try fetchID(agent.handle(.needed, at: AuthorizationFixture.moment(second)))
      _ = try failFetch(&agent, .ended(id: id, down), at: second)
      expectEqual(agent.failingSince, .boot)
    }
    var id = try fetchID(agent.handle(.needed, at: AuthorizationFixture.moment(40)))
    guard
      case .obtained(_, .seconds(41)?)? = agent.handle(.ended(id: id, answer()), at: AuthorizationFixture.moment(41))
        .first
    else {
      Issue.record("no token, or without the time")
      return
    }
    expect(agent.failingSince == nil && agent.lastFailure == nil)
    id = try fetchID(agent.handle(.needed, at: AuthorizationFixture.moment(600)))
    guard
      case .obtained(_, nil)? = agent.handle(.ended(id: id, answer(serial: 2)), at: AuthorizationFixture.moment(600))
        .first
    else {
      Issue.record("no token, or with a time")
      return
    }
  }

  @Test("the usual backoff is added to the provider's Retry-After, and no network event shortens this wait")
  func pushback() throws {
    var agent = agent(try AuthorizationFixture.context())
    let id = try fetchID(agent.handle(.needed, at: AuthorizationFixture.moment(0)))
    let busy = AuthorizationFixture.response("{}", status: 503, headers: [("Retry-After", "120")])
    let wait = try failFetch(&agent, .ended(id: id, .http(.response(busy))), at: 0)
    expect(wait >= .seconds(121) && wait <= .seconds(122))
    _ = agent.handle(.networkUp, at: AuthorizationFixture.moment(60))
    expect(agent.handle(.needed, at: AuthorizationFixture.moment(121)).isEmpty)
    _ = try fetchID(agent.handle(.needed, at: AuthorizationFixture.moment(122)))
  }

  @Test("a network that comes up resets the backoff, at most once in half a minute")
  func networkUp() throws {
    var agent = agent(try AuthorizationFixture.context())
    var now = 0.0
    func failNextFetch() throws -> Duration {
      now = max(now, (Double(agent.earliestFetch.nanoseconds) / 1e6).rounded(.up) / 1e3 + 0.001)
      let id = try fetchID(agent.handle(.needed, at: AuthorizationFixture.moment(now)))
      return try failFetch(&agent, .ended(id: id, down), at: now)
    }
    // After five minutes of refused connections each wait is at least a minute.
    var wait = Duration.zero
    while now < 300 { wait = try failNextFetch() }
    expect(wait >= .seconds(60))
    now += 50
    _ = agent.handle(.networkUp, at: AuthorizationFixture.moment(now))
    expect(agent.earliestFetch <= AuthorizationFixture.moment(now).boot)
    for bound in [2, 4, 8] { expect(try failNextFetch() <= .seconds(bound)) }
    // The third failure is at most 7 s after the reset, and its wait is at least 4 s.
    let before = agent.earliestFetch
    _ = agent.handle(.networkUp, at: AuthorizationFixture.moment(now))
    expectEqual(agent.earliestFetch, before)
    // The fifth is at least 15 s after the reset, and its wait is at least 16 s.
    for _ in 0..<2 { _ = try failNextFetch() }
    now += 15.1
    expect(agent.earliestFetch > AuthorizationFixture.moment(now).boot)
    _ = agent.handle(.networkUp, at: AuthorizationFixture.moment(now))
    expect(agent.earliestFetch <= AuthorizationFixture.moment(now).boot)
  }

  @Test("the first rejection causes a fetch at once; further rejections set a backoff until a request is accepted")
  func rejections() throws {
    var agent = try supplied()
    let first = try #require(agent.token(at: .boot))
    expectEqual(agent.handle(.rejected(first), at: AuthorizationFixture.moment(100)), [.discardStored])
    expectNil(agent.token(at: .boot + .seconds(100)))
    let id = try fetchID(agent.handle(.needed, at: AuthorizationFixture.moment(100)))
    _ = agent.handle(.ended(id: id, answer(serial: 2)), at: AuthorizationFixture.moment(100))
    let second = try #require(agent.token(at: .boot + .seconds(100)))
    // A late response for the previous token does not affect the current one.
    expect(agent.handle(.rejected(first), at: AuthorizationFixture.moment(100)).isEmpty)
    expectEqual(agent.token(at: .boot + .seconds(100)), second)
    let effects = agent.handle(.rejected(second), at: AuthorizationFixture.moment(101))
    let wait = agent.earliestFetch - AuthorizationFixture.moment(101).boot
    expectEqual(effects, [.repeatedlyRejected(retry: wait), .discardStored])
    expect(wait >= .seconds(60) && wait <= .seconds(900))
    _ = agent.handle(.networkUp, at: AuthorizationFixture.moment(110))
    expect(agent.handle(.needed, at: AuthorizationFixture.moment(160.9)).isEmpty)
    let again = try fetchID(agent.handle(.needed, at: AuthorizationFixture.moment(101 + wait.inSeconds + 0.01)))
    _ = agent.handle(.ended(id: again, answer(serial: 3)), at: AuthorizationFixture.moment(1100))
    _ = agent.handle(.accepted, at: AuthorizationFixture.moment(1101))
    let third = try #require(agent.token(at: .boot + .seconds(1101)))
    // The acceptance has reset the backoff: the next rejection is treated as the first.
    expectEqual(agent.handle(.rejected(third), at: AuthorizationFixture.moment(1200)), [.discardStored])
    _ = try fetchID(agent.handle(.needed, at: AuthorizationFixture.moment(1200)))
  }

  @Test("a change of the vehicle drops the token and cancels the fetch in flight, whose response is ignored")
  func otherVehicle() throws {
    var agent = try supplied()
    let id = try fetchID(agent.handle(.needed, at: AuthorizationFixture.moment(550)))
    let other = try AuthorizationFixture.context("truck-18")
    expectEqual(
      agent.handle(.configured(other, provider), at: AuthorizationFixture.moment(551)), [.cancelFetch(id: id)])
    expectNil(agent.token(at: .boot + .seconds(551)))
    expect(agent.handle(.ended(id: id, answer(serial: 2)), at: AuthorizationFixture.moment(552)).isEmpty)
    expectNil(agent.token(at: .boot + .seconds(552)))
    let effects = agent.handle(.needed, at: AuthorizationFixture.moment(552))
    guard case .fetch(_, .http(let request))? = effects.first else {
      Issue.record("no fetch: \(effects)")
      return
    }
    expectEqual(request.url, "https://t.test/truck-18")
  }

  @Test("unchanged settings have no effect; after a change of the provider, a valid token stays in use")
  func sameVehicle() throws {
    var agent = try supplied()
    let token = agent.token(at: .boot)
    let context = try AuthorizationFixture.context()
    expect(agent.handle(.configured(context, provider), at: AuthorizationFixture.moment(1)).isEmpty)
    var elsewhere = TokenAgentTests.endpoint
    elsewhere.urlTemplate = "https://other.test/"
    expect(agent.handle(.configured(context, .http(elsewhere)), at: AuthorizationFixture.moment(2)).isEmpty)
    expectEqual(agent.token(at: .boot + .seconds(2)), token)
  }

  @Test("a new provider is asked at the next update even if the token is valid, to show whether the provider works")
  func changedProvider() throws {
    // A provider may accept the connection of only one of two clients.
    for change: (inout TokenEndpoint) -> Void in [
      { $0.urlTemplate = "https://other.test/" }, { $0.client.clientCertificate = "/etc/other.pem" },
    ] {
      var agent = try supplied()
      expect(agent.obtainedAt != nil && agent.handle(.needed, at: AuthorizationFixture.moment(1)).isEmpty)
      var other = TokenAgentTests.endpoint
      change(&other)
      _ = agent.handle(
        .configured(try AuthorizationFixture.context(), .http(other)), at: AuthorizationFixture.moment(2))
      expectNil(agent.obtainedAt)
      let id = try fetchID(agent.handle(.needed, at: AuthorizationFixture.moment(3)))
      // The same token, as from a cache that both providers share, is a success of the new provider too.
      _ = agent.handle(.ended(id: id, answer()), at: AuthorizationFixture.moment(4))
      expectEqual(agent.obtainedAt, .boot + .seconds(4))
      // It is not asked again before the token's time.
      expect(agent.handle(.needed, at: AuthorizationFixture.moment(100)).isEmpty)
    }
  }

  @Test("a token for another vehicle is not used")
  func foreign() throws {
    var agent = agent(try AuthorizationFixture.context())
    let id = try fetchID(agent.handle(.needed, at: AuthorizationFixture.moment(0)))
    _ = try failFetch(&agent, .ended(id: id, answer(vehicle: "truck-18")), at: 0)
    expectEqual(agent.lastFailure?.reason, .wrongVehicle)
    expectNil(agent.token(at: .boot))
  }

  @Test("without a vehicle the fetch fails as missingAuthorizationContext, without a request")
  func noContext() throws {
    var agent = agent(nil)
    let wait = try failFetch(&agent, .needed, at: 0)
    expectEqual(agent.lastFailure?.reason, .missingAuthorizationContext)
    expectEqual(agent.earliestFetch, .boot + wait)
  }
}
