// SPDX-License-Identifier: Apache-2.0
import Authorization
import Expectations
import HTTPMessages
import Testing
import Timekeeping

struct TokenClaimsTests {
  private func failure(_ text: String) throws -> TokenFailure? {
    let context = try AuthorizationFixture.context()
    return AuthorizationFixture.failure { try TokenClaims(of: Secret(text)).check(for: context) }
  }

  @Test("a token for this vehicle or for any vehicle is accepted", arguments: ["truck-17", "*"])
  func good(vehicle: String) throws {
    expectNil(try failure(AuthorizationFixture.token(AuthorizationFixture.claims(vehicle: vehicle))))
  }

  @Test("claims are decoded from unpadded base64url of any length", arguments: ["a", "ab", "abc", "abcd"])
  func padding(filler: String) throws {
    let text = AuthorizationFixture.token(
      #"{"x":"\#(filler)","iat":100,"exp":"200","authorization":{"deliveryvehicleid":"ä/?>"}}"#)
    let claims = try TokenClaims(of: Secret(text))
    expectEqual(claims.issuedAt, Timestamp(seconds: 100))
    expectEqual(claims.expiresAt, Timestamp(seconds: 200))
    expectEqual(claims.ids(for: .deliveryVehicle("x")), ["ä/?>"])
  }

  @Test("a token for another vehicle is rejected, and the message names both")
  func wrongVehicle() throws {
    let failure = try failure(AuthorizationFixture.token(AuthorizationFixture.claims(vehicle: "truck-18")))
    expectEqual(failure?.reason, .wrongVehicle)
    expect(failure?.message.contains("truck-18") == true && failure?.message.contains("truck-17") == true)
  }

  @Test(
    "a token without the required claim is rejected, and the message names the claim and the vehicle",
    arguments: [
      "{}", #"{"authorization":null}"#, #"{"authorization":"x"}"#, #"{"authorization":{}}"#,
      #"{"authorization":{"vehicleid":"truck-17"}}"#,
    ])
  func missingClaim(payload: String) throws {
    let failure = try failure(AuthorizationFixture.token(payload))
    expectEqual(failure?.reason, .missingClaim)
    expect(failure?.message.contains("deliveryvehicleid") == true && failure?.message.contains("truck-17") == true)
  }

  @Test("a token for the other service is reported with its claim, the configured service and the required claim")
  func otherService() throws {
    func message(_ claim: String, for scope: AuthorizationContext.Scope) throws -> String? {
      let context = try #require(AuthorizationContext(providerID: "p", scope: scope))
      let claims = try TokenClaims(of: Secret(AuthorizationFixture.token(#"{"authorization":{"\#(claim)":"v"}}"#)))
      return AuthorizationFixture.failure { try claims.check(for: context) }?.message
    }
    try expectEqual(
      message("deliveryvehicleid", for: .vehicle("v")),
      "the token is for `deliveryvehicleid`, and the settings say trips, which needs `vehicleid`: \"v\"")
    try expectEqual(message("vehicleid", for: .deliveryVehicle("v"))?.contains("the settings say deliveries"), true)
    try expectEqual(message("tripid", for: .vehicle("v"))?.contains("has no `vehicleid` (it has `tripid`)"), true)
  }

  @Test(
    "text that is not a JWT is rejected",
    arguments: ["opaque", "a.b", "a.b.c.d", "..", "e30.!!!.x", "e30.W10.x", "e30.IiI.x", "", "e30.e30", "e30. e30.x"])
  func notJWT(text: String) throws {
    try expectEqual(failure(text)?.reason, .notJWT)
  }

  @Test(
    "a token with a line break or another character that no JWT has is rejected, and the message says why",
    arguments: ["\n", "\r\nX-Y: z", "\u{0}", " ", "\t", "\u{7F}", "\u{85}", "é", "\u{202E}", "\"", ",", "+", "/"])
  func invalidCharacter(end: String) throws {
    let token = AuthorizationFixture.token(AuthorizationFixture.claims())
    expectNil(try failure(token))
    let failure = try failure(token + end)
    expectEqual(failure?.reason, .notJWT)
    expectEqual(failure?.message.contains("line break"), true)
  }
}
