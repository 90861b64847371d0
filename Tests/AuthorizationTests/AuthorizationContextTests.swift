// SPDX-License-Identifier: Apache-2.0
import Authorization
import Expectations
import HTTPMessages
import Testing
import Timekeeping

struct AuthorizationContextTests {
  typealias Scope = AuthorizationContext.Scope

  static let scopes: [(Scope, claims: String)] = [
    (.deliveryVehicle("truck-17"), #"{"deliveryvehicleid":"truck-17"}"#),
    (.vehicle("cab-3"), #"{"vehicleid":"cab-3"}"#),
    (.trip("trip-9"), #"{"tripid":"trip-9"}"#),
    (.task("task-1"), #"{"taskid":"task-1"}"#),
    (.task("task-2"), #"{"taskids":["task-1","task-2"]}"#),
    (.task("task-3"), #"{"taskids":["*"]}"#),
    (.trackingID("parcel"), #"{"trackingid":"parcel"}"#),
    (.trackingID("parcel"), #"{"trackingid":"*"}"#),
  ]

  private func provider(_ url: String) -> TokenProvider {
    .http(
      TokenEndpoint(
        urlTemplate: url, format: TokenResponseFormat(tokenKey: "token", expirationKey: nil, expiration: .jwt)))
  }

  private func answer(_ authorization: String) -> TokenOutcome {
    let token = AuthorizationFixture.token(#"{"iat":1796083200,"exp":1796083800,"authorization":\#(authorization)}"#)
    return .http(.response(AuthorizationFixture.response(#"{"token":"\#(token)"}"#)))
  }

  @Test("an agent fetches and keeps a token for each kind of scope", arguments: scopes)
  func everyScope(scope: Scope, claims: String) throws {
    let context = try #require(AuthorizationContext(providerID: "p", scope: scope))
    var agent = TokenAgent(
      context: context, provider: provider("https://t.test/{scope}/{id}"), buildDate: AuthorizationFixture.buildDate,
      seed: 1)
    let effects = agent.handle(.needed, at: AuthorizationFixture.moment(0))
    guard case .fetch(let id, .http(let request))? = effects.first else {
      Issue.record("no fetch: \(effects)")
      return
    }
    expectEqual(request.url, "https://t.test/\(scope.name)/\(scope.id)")
    guard
      case .obtained(let token, _)? = agent.handle(
        .ended(id: id, answer(claims)), at: AuthorizationFixture.moment(0)
      ).first
    else {
      Issue.record("no token: \(String(describing: agent.lastFailure))")
      return
    }
    expectEqual(token.context, context)
    expectEqual(agent.token(at: .boot), token)
  }

  @Test("a token is rejected for a scope that its claims do not cover", arguments: scopes.indices, scopes.indices)
  func noOther(wanted: Int, given: Int) throws {
    let (scope, claims) = (AuthorizationContextTests.scopes[wanted].0, AuthorizationContextTests.scopes[given].claims)
    let context = try #require(AuthorizationContext(providerID: "p", scope: scope))
    let other = AuthorizationContextTests.scopes[given].0
    let fits = scope == other || (scope.claim == other.claim && (claims.contains("*") || claims.contains(scope.id)))
    let failure = AuthorizationFixture.failure {
      try TokenClaims(of: Secret(AuthorizationFixture.token(#"{"authorization":\#(claims)}"#))).check(for: context)
    }
    expectEqual((failure == nil), fits, "\(scope) with \(claims)")
    guard let failure else { return }
    expect([.missingClaim, .wrongVehicle, .wrongContext].contains(failure.reason))
    expect(failure.message.contains(scope.id))
  }

  @Test("a change of any part of the context drops the token, and changing it back does not restore the token")
  func change() throws {
    let first = try #require(AuthorizationContext(providerID: "p", scope: .deliveryVehicle("v")))
    let others = [
      AuthorizationContext(providerID: "q", scope: .deliveryVehicle("v")),
      AuthorizationContext(providerID: "p", scope: .deliveryVehicle("w")),
      AuthorizationContext(providerID: "p", scope: .vehicle("v")),
      AuthorizationContext(providerID: "p", scope: .trip("v")), nil,
    ]
    for other in others {
      var agent = TokenAgent(
        context: first, provider: provider("https://t.test/{id}"), buildDate: AuthorizationFixture.buildDate, seed: 1)
      guard case .fetch(let id, _)? = agent.handle(.needed, at: AuthorizationFixture.moment(0)).first else {
        Issue.record("no fetch")
        return
      }
      _ = agent.handle(.ended(id: id, answer(#"{"deliveryvehicleid":"v"}"#)), at: AuthorizationFixture.moment(0))
      expect(agent.token(at: .boot) != nil)
      _ = agent.handle(.configured(other, provider("https://t.test/{id}")), at: AuthorizationFixture.moment(1))
      expectNil(agent.token(at: .boot + .seconds(1)))
      // Changing back to the first context does not restore the token.
      _ = agent.handle(.configured(first, provider("https://t.test/{id}")), at: AuthorizationFixture.moment(2))
      expectNil(agent.token(at: .boot + .seconds(2)))
    }
  }

  @Test("a provider whose URL contains {vehicle_id} gets no request for a trip's token: missingAuthorizationContext")
  func template() throws {
    let trip = try #require(AuthorizationContext(providerID: "p", scope: .trip("t")))
    let failure = AuthorizationFixture.failure { try provider("https://t.test/{vehicle_id}").request(for: trip) }
    expectEqual(failure?.reason, .missingAuthorizationContext)
    expect(failure?.message.contains("{vehicle_id}") == true && failure?.message.contains("trip") == true)
    expectNil(AuthorizationContext(providerID: "", scope: .trip("t")))
    expectNil(AuthorizationContext(providerID: "p", scope: .trackingID("")))
  }
}
