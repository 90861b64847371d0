// SPDX-License-Identifier: Apache-2.0
import Authorization
import HTTPMessages
import Testing

@Suite struct TokenEndpointTests {
  private let format = TokenResponseFormat(tokenKey: "token", expirationKey: nil, expiration: .jwt)

  @Test("IDs are percent-encoded where they are put into the URL, in one pass")
  func template() throws {
    let endpoint = TokenEndpoint(urlTemplate: "https://t.test/{provider_id}/{vehicle_id}?x={other}&{", format: format)
    let request = try endpoint.request(for: Fixture.context("{provider_id}/ä"))
    #expect(request.url == "https://t.test/my%20project/%7Bprovider_id%7D%2F%C3%A4?x={other}&{")
    #expect(request.method == .get)
    #expect(request.body.isEmpty)
    #expect(request.headers == [.init("Accept", .plain("application/json"))])
  }

  @Test("a POST carries its body with the IDs escaped for JSON, and the headers of the settings win")
  func post() throws {
    let endpoint = TokenEndpoint(
      urlTemplate: "https://t.test/", method: .post, bodyTemplate: #"{"vehicle":"{vehicle_id}"}"#,
      headers: [.init("accept", .plain("application/jwt")), .init("X-Key", .secret(prefix: "", Secret("k")))],
      format: format)
    let request = try endpoint.request(for: Fixture.context("a\"b\\c\n"))
    #expect(String(decoding: request.body, as: UTF8.self) == #"{"vehicle":"a\"b\\c\u000a"}"#)
    #expect(request.headers.map(\.name) == ["accept", "X-Key", "Content-Type"])
  }

  @Test("without a vehicle nobody is asked: missingAuthorizationContext, as the original protocol calls it")
  func noContext() {
    let failure = Fixture.failure {
      try TokenProvider.http(TokenEndpoint(urlTemplate: "https://t.test/", format: format)).request(for: nil)
    }
    #expect(failure?.reason == .missingAuthorizationContext)
    #expect(failure?.reason.name == "missingAuthorizationContext")
    #expect(AuthorizationContext(providerID: "", vehicleID: "v") == nil)
    #expect(AuthorizationContext(providerID: "p", vehicleID: "") == nil)
  }
}
