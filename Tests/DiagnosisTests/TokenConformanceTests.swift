// SPDX-License-Identifier: Apache-2.0
import Authorization
import HTTPMessages
import LocationDaemon
import Testing
import Timekeeping

@testable import Diagnosis

@Suite struct TokenConformanceTests {
  private static func findings(
    _ first: TokenInquiry.Answer, second: TokenInquiry.Answer? = nil, stranger: TokenInquiry.Answer? = nil
  ) throws -> [Finding] {
    var conformance = TokenConformance(
      TokenFixture.provider, hasCertificate: false, for: try TokenFixture.context(), first: first)
    conformance.second = second
    conformance.stranger = stranger
    return conformance.findings
  }

  /// What is not as it should be, apart from the settings without credentials.
  private static func complaints(_ first: TokenInquiry.Answer) throws -> [String] {
    try findings(first, stranger: refusal(401)).filter { $0.verdict != .pass }.map { "\($0.verdict) \($0.sentence)" }
  }

  private static func refusal(_ status: Int) throws -> TokenInquiry.Answer {
    try TokenFixture.answer(.http(.response(HTTPResponse(status: status))))
  }

  @Test("a provider that does everything right has a line for each thing that it does right")
  func good() throws {
    let answer = try TokenFixture.answer()
    let findings = try Self.findings(answer, second: answer, stranger: Self.refusal(401))
    #expect(
      findings == [
        .pass("it answers with JSON in 12 ms, and the token stands at `token`"),
        .pass("the answer says that it is JSON"), .pass("no cache may keep the answer"),
        .pass("`end` can be read, and agrees with `exp`"),
        .pass("the token has \(TokenFixture.token().utf8.count) bytes"),
        .pass("it is signed with RS256, as far as it says"), .pass("`kid` names the key"),
        .pass("the audience is Fleet Engine"), .pass("`iss` and `sub` are one account"),
        .pass("it lives for 60 min, not longer than the hour that is allowed, and its time is now"),
        .pass("the `authorization` claim is for vehicle \"truck-17\""),
        .pass("asked again at once, it gives the same token"), .pass("it refuses wrong credentials: HTTP 401"),
      ])
  }

  @Test(
    "each fault of the token is one failure, and nothing else is blamed for it",
    arguments: [
      (TokenFixture.token(header: #"{"alg":"HS256","kid":"k"}"#), "takes RS256 only"),
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
    #expect(complaints.count == 1)
    #expect(complaints.first?.contains(words) == true)
  }

  @Test("a token for every vehicle is a warning")
  func anyVehicle() throws {
    let token = TokenFixture.token(["authorization": #"{"deliveryvehicleid":"*"}"#])
    let complaints = try Self.complaints(try TokenFixture.answer(token))
    #expect(complaints.count == 1)
    #expect(complaints.first?.hasPrefix("warn it is for every vehicle") == true)
  }

  @Test("what the answer tells of the end is held against the token's own")
  func expiration() throws {
    #expect(
      try Self.complaints(try TokenFixture.answer(end: 1_796_087_400))
        == ["fail `end` is 10 min after `exp`: the vehicle would keep a dead token"])
    #expect(
      try Self.complaints(try TokenFixture.answer(end: 1_796_086_200))
        == ["warn `end` is 10 min before `exp`: it is asked more often than it need be"])
    // Milliseconds that are read as seconds.
    #expect(
      try Self.complaints(try TokenFixture.answer(end: 1_796_086_800_000)).first?.contains("days after `exp`") == true)
    #expect(try Self.complaints(try TokenFixture.answer(end: 3600, expiration: .relativeSeconds)).isEmpty)
    let missing = try Self.complaints(try TokenFixture.answer(end: nil))
    #expect(missing.count == 1 && missing.first?.contains("nothing at `end`") == true)
  }

  @Test("headers that let others keep the token are pointed out")
  func headers() throws {
    #expect(
      try Self.complaints(try TokenFixture.answer(headers: [])) == [
        "warn the answer's Content-Type is not stated", "warn the answer does not say that no cache may keep it",
      ])
    let json = (name: "Content-Type", value: "application/json; charset=utf-8")
    #expect(
      try Self.complaints(try TokenFixture.answer(headers: [json, ("Cache-Control", "public, max-age=300")]))
        == ["warn the answer's Cache-Control lets a cache keep it"])
    #expect(
      try Self.complaints(try TokenFixture.answer(headers: [json, ("Cache-Control", "no-store"), ("Age", "40")]))
        == ["fail the answer has lain in a cache for 40 s"])
  }

  @Test("no token is one failure with the reason, whatever else could be said")
  func nothing() throws {
    let redirect = try Self.findings(try TokenFixture.answer(status: 302))
    #expect(redirect.map(\.verdict) == [.fail])
    #expect(redirect.first?.advice == "Write the URL that it redirects to: redirects are not followed")
    let failure = TransportFailure(.certificateUntrusted, "tokens.example.com:443: self-signed certificate")
    let untrusted = try Self.findings(try TokenFixture.answer(.http(.failure(failure))))
    #expect(untrusted.map(\.verdict) == [.fail])
    #expect(untrusted.first?.advice?.contains("ca_file") == true)
  }

  @Test("a second token that is worse than the first fails")
  func again() throws {
    let good = try TokenFixture.answer()
    let bad = try TokenFixture.answer(TokenFixture.token(["iat": "1796000000", "exp": "1796003600"]))
    #expect(
      try Self.findings(good, second: bad).contains {
        $0.verdict == .fail && $0.sentence.hasPrefix("asked again at once, it gives a token with a problem: it expired")
      })
    let refused = try Self.findings(good, second: try Self.refusal(429))
    #expect(refused.contains { $0.verdict == .fail && $0.sentence.contains("HTTP 429") })
  }

  @Test("a stranger who gets a token fails; one who is refused in other words is a warning")
  func strangers() throws {
    let good = try TokenFixture.answer()
    #expect(
      try Self.findings(good, stranger: good).last?.sentence == "it gives a token for wrong credentials too")
    #expect(try Self.findings(good, stranger: Self.refusal(403)).last?.verdict == .pass)
    #expect(try Self.findings(good, stranger: Self.refusal(500)).last?.verdict == .warn)
    // The settings of the tests have no credential.
    #expect(try Self.findings(good).last?.verdict == .warn)
    let alert = try TokenFixture.answer(.http(.failure(TransportFailure(.broken, "alert certificate required"))))
    #expect(try Self.findings(good, stranger: alert).last?.verdict == .warn)
    var conformance = TokenConformance(
      TokenFixture.provider, hasCertificate: true, for: try TokenFixture.context(), first: good)
    conformance.stranger = alert
    #expect(conformance.findings.last == .pass("it takes no connection without the box's certificate"))
  }
}
