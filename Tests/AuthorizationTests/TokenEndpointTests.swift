// SPDX-License-Identifier: Apache-2.0
import Authorization
import Expectations
import ExternalInput
import HTTPMessages
import Testing
import Timekeeping

struct TokenEndpointTests {
  private let format = TokenResponseFormat(tokenKey: "token", expirationKey: nil, expiration: .jwt)

  @Test("IDs are inserted into the URL with percent-encoding, and a placeholder inside an ID is not replaced")
  func template() throws {
    let endpoint = TokenEndpoint(urlTemplate: "https://t.test/{provider_id}/{vehicle_id}?x={other}&{", format: format)
    let request = try endpoint.request(for: AuthorizationFixture.context("{provider_id}/ä"))
    expectEqual(request.url, "https://t.test/my%20project/%7Bprovider_id%7D%2F%C3%A4?x={other}&{")
    expectEqual(request.method, .get)
    expect(request.body.isEmpty)
    expectEqual(request.headers, [.init("Accept", .plain("application/json"))])
  }

  @Test("the body of a POST contains the IDs escaped for JSON, and configured headers replace the default ones")
  func post() throws {
    let endpoint = TokenEndpoint(
      urlTemplate: "https://t.test/", method: .post, bodyTemplate: #"{"vehicle":"{vehicle_id}"}"#,
      headers: [.init("accept", .plain("application/jwt")), .init("X-Key", .secret(prefix: "", Secret("k")))],
      format: format)
    let request = try endpoint.request(for: AuthorizationFixture.context("a\"b\\c\n"))
    expectEqual(String(decoding: request.body, as: UTF8.self), #"{"vehicle":"a\"b\\c\u000a"}"#)
    expectEqual(request.headers.map(\.name), ["accept", "X-Key", "Content-Type"])
  }

  @Test("a response without a token is reported with the server's host, and in the full text also with the path")
  func address() {
    func failure(_ url: String, _ response: HTTPResponse) -> TokenFailure? {
      AuthorizationFixture.failure {
        try TokenProvider.http(TokenEndpoint(urlTemplate: url, format: format)).token(
          from: .http(.response(response)), for: AuthorizationFixture.context(), at: AuthorizationFixture.moment(100),
          buildDate: AuthorizationFixture.buildDate)
      }
    }
    let url = "https://me:hush@t.test:8443/token/{vehicle_id}?key=hush#hush"
    let missing = failure(url, HTTPResponse(status: 404))
    expectEqual(missing?.message, "the token provider answered HTTP 404 (t.test:8443/token/truck-17)")
    expectEqual(missing?.sentence.ownText, "the token provider answered HTTP 404 (t.test:8443…)")
    for plain in ["http://t.test", "http://t.test/", "http://t.test?key=hush"] {
      expectEqual(failure(plain, HTTPResponse(status: 500))?.message, "the token provider answered HTTP 500 (t.test)")
    }
    let page = HTTPResponse(status: 200, headers: [], body: Array("<html>".utf8))
    expectEqual(failure(url, page)?.message.hasSuffix("the wrong URL (t.test:8443/token/truck-17)"), true)
    // What may be a secret is masked.
    let token = AuthorizationFixture.token(AuthorizationFixture.claims())
    expectEqual(failure("https://t.test/\(token)", page)?.message.contains(token), false)
  }

  @Test("without a context, which needs a provider and a vehicle ID, no request is made: missingAuthorizationContext")
  func noContext() {
    let failure = AuthorizationFixture.failure {
      try TokenProvider.http(TokenEndpoint(urlTemplate: "https://t.test/", format: format)).request(for: nil)
    }
    expectEqual(failure?.reason, .missingAuthorizationContext)
    expectEqual(failure?.reason.name, "missingAuthorizationContext")
    expectNil(AuthorizationContext(providerID: "", scope: .deliveryVehicle("v")))
    expectNil(AuthorizationContext(providerID: "p", scope: .deliveryVehicle("")))
  }

  @Test("`withWrongCredentials` replaces each secret, and keeps its scheme and everything else")
  func wrongCredentials() throws {
    let endpoint = TokenEndpoint(
      urlTemplate: "https://t.test/",
      headers: [
        .init("Authorization", .secret(prefix: "", Secret("Bearer box-4711"))), .init("X-Fleet", .plain("north")),
        .init("X-Key", .secret(prefix: "", Secret("k-4711"))),
      ], format: format)
    guard case .http(let changed)? = TokenProvider.http(endpoint).withWrongCredentials else {
      Issue.record("no provider with wrong credentials")
      return
    }
    expectEqual(
      changed.headers,
      [
        .init("Authorization", .secret(prefix: "Bearer ", Secret("wrong-on-purpose"))),
        .init("X-Fleet", .plain("north")), .init("X-Key", .secret(prefix: "", Secret("wrong-on-purpose"))),
      ])
    expectEqual(changed.urlTemplate, endpoint.urlTemplate)
    let open = TokenEndpoint(
      urlTemplate: "https://t.test/", headers: [.init("X-Fleet", .plain("north"))], format: format)
    expectNil(TokenProvider.http(open).withWrongCredentials)
    expectNil(TokenProvider.file(TokenFile(path: "/t", format: format)).withWrongCredentials)
  }

  @Test(
    "the stated expiration is returned even if the token is invalid, and is nil if it is missing or unreadable",
    arguments: [
      (
        #""end":1796086800"#, TokenResponseFormat.Expiration.epochSeconds,
        Timestamp?.some(Timestamp(seconds: 1_796_086_800))
      ),
      (#""end":600"#, .relativeSeconds, AuthorizationFixture.wall + .seconds(600)),
      (#""end":"2026-12-01T01:00:00Z""#, .rfc3339, Timestamp(seconds: 1_796_086_800)),
      (#""end":"soon""#, .rfc3339, nil), (#""other":1"#, .epochSeconds, nil), (#""end":1796086800"#, .jwt, nil),
    ])
  func statedExpiration(_ member: String, _ expiration: TokenResponseFormat.Expiration, _ expected: Timestamp?) throws {
    let format = TokenResponseFormat(tokenKey: "token", expirationKey: "end", expiration: expiration)
    let provider = TokenProvider.http(TokenEndpoint(urlTemplate: "https://t.test/", format: format))
    let response = AuthorizationFixture.response(
      #"{"token":"not-even-a-token",\#(member)}"#, headers: [("Date", AuthorizationFixture.date)])
    expectEqual(provider.statedExpiration(in: .http(.response(response)), at: AuthorizationFixture.moment(1)), expected)
  }
}
