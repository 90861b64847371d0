// SPDX-License-Identifier: Apache-2.0
import Authorization
import Expectations
import FleetEngine
import HTTPMessages
import LocationDaemon
import Testing
import Timekeeping
import Vehicle

@testable import Configuration
@testable import Diagnosis

struct TokenConformanceTests {
  private static func findings(
    _ first: TokenProbe.Response, second: TokenProbe.Response? = nil, wrongCredentials: TokenProbe.Response? = nil
  ) throws -> [Finding] {
    var conformance = TokenConformance(
      TokenFixture.provider, hasCertificate: false, for: try TokenFixture.context(), first: first)
    conformance.second = second
    conformance.withWrongCredentials = wrongCredentials
    return conformance.findings
  }

  /// The findings that did not pass, with a provider that rejects wrong credentials.
  private static func complaints(_ first: TokenProbe.Response) throws -> [String] {
    try findings(first, wrongCredentials: refusal(401)).filter { $0.severity != .pass }.map {
      "\($0.severity) \($0.sentence)"
    }
  }

  private static func refusal(_ status: Int) throws -> TokenProbe.Response {
    try TokenFixture.answer(.http(.response(HTTPResponse(status: status))))
  }

  @Test("the heading of the checks shows no secret in the provider's URL, but the vehicle's ID")
  @MainActor func heading() {
    var settings = Settings()
    settings.vehicle.vehicleID = "truck-17"
    settings.agent.tokenProvider = .http(
      TokenEndpoint(
        urlTemplate: "https://t.example.com/8f14e45fceea167a5a36dedd4bea2543/truck-17/{vehicle_id}?key=hush",
        format: TokenResponseFormat(expirationKey: "end", expiration: .epochSeconds)))
    expectEqual(
      TokenCheck.providerPhrase(settings), "from https://t.example.com/<redacted>/truck-17/{vehicle_id}")
  }

  @Test("a correct provider passes every check")
  func good() throws {
    let answer = try TokenFixture.answer()
    let findings = try Self.findings(answer, second: answer, wrongCredentials: Self.refusal(401))
    expectEqual(
      findings,
      [
        .pass("it answers with JSON in 12 ms, with the token at `token`"),
        .pass("the response's Content-Type is JSON"), .pass("caches may not store the response"),
        .pass("`end` can be read, and matches `exp`"),
        .pass("the token has \(TokenFixture.token().utf8.count) bytes"),
        .pass("its header states RS256"), .pass("`kid` is present"),
        .pass("the audience is Fleet Engine"), .pass("`iss` and `sub` are the same account"),
        .pass("its lifetime is 60 min, at most the allowed hour, and it is valid now"),
        .pass("the `authorization` claim is for vehicle \"truck-17\""),
        .pass("a second request returns the same token"), .pass("it rejects wrong credentials: HTTP 401"),
      ])
  }

  @Test(
    "each fault of the token causes exactly one failure",
    arguments: [
      (TokenFixture.token(header: #"{"alg":"HS256","kid":"k"}"#), "accepts only RS256"),
      (TokenFixture.token(["aud": "\"https://example.com/\""]), "the audience (`aud`) is \"https://example.com/\""),
      (TokenFixture.token(["sub": "\"c@d\""]), "differ"),
      (TokenFixture.token(["authorization": nil]), "there is no `authorization` claim"),
      (
        TokenFixture.token(["authorization": #"{"vehicleid":"truck-17"}"#]),
        "is for `vehicleid`, and the settings say deliveries"
      ),
      (TokenFixture.token(["authorization": #"{"deliveryvehicleid":"truck-18"}"#]), "it is for vehicle \"truck-18\""),
      (TokenFixture.token(["iat": "1796079600"]), "it lives for 7200 s"),
      ("no-token", "not a JWT"),
    ])
  func tokenFaults(_ token: String, _ words: String) throws {
    let complaints = try Self.complaints(try TokenFixture.answer(token)).filter { $0.hasPrefix("fail") }
    expectEqual(complaints.count, 1)
    expectEqual(complaints.first?.contains(words), true)
  }

  @Test("a token for every vehicle causes a warning")
  func anyVehicle() throws {
    let token = TokenFixture.token(["authorization": #"{"deliveryvehicleid":"*"}"#])
    let complaints = try Self.complaints(try TokenFixture.answer(token))
    expectEqual(complaints.count, 1)
    expectEqual(complaints.first?.hasPrefix("warn it is for every vehicle"), true)
  }

  @Test("the response's expiration is compared with the token's")
  func expiration() throws {
    try expectEqual(
      Self.complaints(try TokenFixture.answer(end: 1_796_087_400)),
      ["fail `end` is 10 min after `exp`: the vehicle would use an expired token"])
    try expectEqual(
      Self.complaints(try TokenFixture.answer(end: 1_796_086_200)),
      ["warn `end` is 10 min before `exp`: tokens are requested more often than necessary"])
    // `end` is in milliseconds, but is interpreted as seconds.
    try expectEqual(
      Self.complaints(try TokenFixture.answer(end: 1_796_086_800_000)).first?.contains("days after `exp`"), true)
    expect(try Self.complaints(try TokenFixture.answer(end: 3600, expiration: .relativeSeconds)).isEmpty)
    let missing = try Self.complaints(try TokenFixture.answer(end: nil))
    expect(missing.count == 1 && missing.first?.contains("nothing at `end`") == true)
  }

  @Test("a missing Content-Type, headers that let caches store the token, and a response from a cache are reported")
  func headers() throws {
    try expectEqual(
      Self.complaints(try TokenFixture.answer(headers: [])),
      [
        "warn the response's Content-Type is not stated",
        "warn the response has no Cache-Control, so caches may store it",
      ])
    let json = (name: "Content-Type", value: "application/json; charset=utf-8")
    try expectEqual(
      Self.complaints(try TokenFixture.answer(headers: [json, ("Cache-Control", "public, max-age=300")])),
      ["warn the response's Cache-Control lets caches store it"])
    try expectEqual(
      Self.complaints(try TokenFixture.answer(headers: [json, ("Cache-Control", "no-store"), ("Age", "40")])),
      ["fail the response comes from a cache, 40 s old"])
  }

  @Test("a missing token causes one failure with the reason, and no other finding")
  func nothing() throws {
    let redirect = try Self.findings(try TokenFixture.answer(status: 302))
    expectEqual(redirect.map(\.severity), [.fail])
    expectEqual(
      redirect.first?.advice,
      "A captive portal answers instead, or token.url is not the provider's final URL: redirects are not followed")
    let failure = TransportFailure(.certificateUntrusted, "tokens.example.com:443: self-signed certificate")
    let untrusted = try Self.findings(try TokenFixture.answer(.http(.failure(failure))))
    expectEqual(untrusted.map(\.severity), [.fail])
    expectEqual(untrusted.first?.advice?.contains("ca_file"), true)
  }

  @Test("the check fails if a second request returns an invalid token or none")
  func again() throws {
    let good = try TokenFixture.answer()
    let bad = try TokenFixture.answer(TokenFixture.token(["iat": "1796000000", "exp": "1796003600"]))
    expect(
      try Self.findings(good, second: bad).contains {
        $0.severity == .fail && $0.sentence.hasPrefix("a second request returns a token with a problem: it expired")
      })
    let refused = try Self.findings(good, second: try Self.refusal(429))
    expect(refused.contains { $0.severity == .fail && $0.sentence.contains("HTTP 429") })
  }

  @Test("a token in response to wrong credentials fails; a status other than 401 or 403 causes a warning")
  func wrongCredentials() throws {
    let good = try TokenFixture.answer()
    try expectEqual(
      Self.findings(good, wrongCredentials: good).last?.sentence, "it also returns a token for wrong credentials")
    try expectEqual(Self.findings(good, wrongCredentials: Self.refusal(403)).last?.severity, .pass)
    try expectEqual(Self.findings(good, wrongCredentials: Self.refusal(500)).last?.severity, .warn)
    // The settings of this test have no credential, so wrong ones cannot be tried.
    try expectEqual(Self.findings(good).last?.severity, .warn)
    let alert = try TokenFixture.answer(.http(.failure(TransportFailure(.broken, "alert certificate required"))))
    try expectEqual(Self.findings(good, wrongCredentials: alert).last?.severity, .warn)
    var conformance = TokenConformance(
      TokenFixture.provider, hasCertificate: true, for: try TokenFixture.context(), first: good)
    conformance.withWrongCredentials = alert
    expectEqual(conformance.findings.last, .pass("it accepts no connection without the vehicle's certificate"))
  }
}
