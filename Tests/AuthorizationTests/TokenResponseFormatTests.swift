// SPDX-License-Identifier: Apache-2.0
import Authorization
import Expectations
import HTTPMessages
import Testing
import Timekeeping

struct TokenResponseFormatTests {
  private func read(
    _ body: String, _ expiration: TokenResponseFormat.Expiration = .epochMilliseconds, key: String? = "end",
    creationKey: String? = nil, headers: [(name: String, value: String)] = [], status: Int = 200,
    wall: Timestamp = AuthorizationFixture.wall
  ) throws -> AccessToken {
    let format = TokenResponseFormat(
      tokenKey: "token", expirationKey: key, expiration: expiration, creationKey: creationKey)
    return try format.token(
      from: AuthorizationFixture.response(body, status: status, headers: headers), for: AuthorizationFixture.context(),
      at: AuthorizationFixture.moment(100, wall: wall), buildDate: AuthorizationFixture.buildDate)
  }

  private func body(_ end: String, _ claims: String = AuthorizationFixture.claims(), more: String = "") -> String {
    #"{"token":"\#(AuthorizationFixture.token(claims))","end":\#(end)\#(more)}"#
  }

  @Test(
    "every format of the expiration results in the same expiry",
    arguments: [
      (.epochSeconds, "1796086800"), (.epochSeconds, #""1796086800""#), (.epochMilliseconds, "1796086800000"),
      (.relativeSeconds, "3600"), (.rfc3339, #""2026-12-01T02:00:00+01:00""#), (.automatic, "1796086800"),
      (.automatic, "1796086800000"), (.automatic, "3600"), (.automatic, #""3600""#),
      (.automatic, #""2026-12-01T01:00:00Z""#),
    ] as [(TokenResponseFormat.Expiration, String)])
  func formats(format: TokenResponseFormat.Expiration, value: String) throws {
    let token = try read(body(value), format, headers: [("Date", AuthorizationFixture.date)])
    expectEqual(token.deadline, .boot + .seconds(3700))
    expectEqual(token.receivedAt, .boot + .seconds(100))
  }

  @Test("the lifetime comes from the most reliable source that is available")
  func sources() throws {
    let end = "1796086800000"
    let date: [(name: String, value: String)] = [("date", AuthorizationFixture.date)]
    let created = #","made":1796083200000"#
    let early = Timestamp(seconds: 0)
    let claims = AuthorizationFixture.claims(iat: 1_796_083_200, exp: 1_796_086_800)
    // Relative seconds take precedence.
    let relative = try read(body("1800", claims, more: created), .relativeSeconds, creationKey: "made", headers: date)
    expectEqual(relative.lifetimeSource, .relative)
    expectEqual(relative.deadline - relative.receivedAt, .seconds(1800))
    // The response's own date comes next, before the creation field and the clock.
    let late: [(name: String, value: String)] = [("date", "Tue, 01 Dec 2026 00:10:00 GMT")]
    let dated = try read(body(end, claims, more: created), creationKey: "made", headers: late)
    expectEqual(dated.lifetimeSource, .responseDate)
    expectEqual(dated.deadline - dated.receivedAt, .seconds(3000))
    // The creation field comes next.
    let creation = try read(body(end, claims, more: created), creationKey: "made", wall: early)
    expectEqual(creation.lifetimeSource, .creation)
    expectEqual(creation.deadline - creation.receivedAt, .seconds(3600))
    // A plausible wall clock comes next.
    let wall = try read(body(end, claims), wall: AuthorizationFixture.wall + .seconds(60))
    expectEqual(wall.lifetimeSource, .wallClock)
    expectEqual(wall.deadline - wall.receivedAt, .seconds(3540))
    // The claims come last.
    let claimed = try read(body(end, claims), wall: early)
    expectEqual(claimed.lifetimeSource, .claims)
    expectEqual(claimed.deadline - claimed.receivedAt, .seconds(3600))
    // Without any of these, the lifetime is unknown.
    expectEqual(AuthorizationFixture.failure { try read(body(end), wall: early) }?.reason, .unknownLifetime)
  }

  @Test("a provider's response cannot extend the signed lifetime")
  func signedLife() throws {
    let claims = AuthorizationFixture.claims(iat: 1_796_083_200, exp: 1_796_083_500)
    let token = try read(body("86400", claims), .relativeSeconds)
    expectEqual(token.deadline - token.receivedAt, .seconds(300))
  }

  @Test("with the format jwt, or without an expiration key, the claims give the expiry", arguments: [true, false])
  func claimsOnly(isKeyless: Bool) throws {
    let text = body("17", AuthorizationFixture.claims(iat: 1_796_083_200, exp: 1_796_086_800))
    let token = try read(
      text, isKeyless ? .epochSeconds : .jwt, key: isKeyless ? nil : "end",
      headers: [("Date", AuthorizationFixture.date)])
    expectEqual(token.deadline - token.receivedAt, .seconds(3600))
    expectEqual(token.lifetimeSource, .responseDate)
  }

  @Test("a token that arrives after its expiry is rejected, and the message says how long ago it expired")
  func expired() {
    let failure = AuthorizationFixture.failure {
      try read(body("1796083140000"), headers: [("Date", AuthorizationFixture.date)])
    }
    expectEqual(failure?.reason, .expired)
    expectEqual(failure?.message.contains("60 s before it arrived"), true)
    expectEqual(AuthorizationFixture.failure { try read(body("0"), .relativeSeconds) }?.reason, .expired)
  }

  @Test("an expiration in seconds instead of the configured milliseconds is reported as such, not as a wrong clock")
  func secondsForMilliseconds() {
    let failure = AuthorizationFixture.failure {
      try read(body("1796086800"), headers: [("Date", AuthorizationFixture.date)])
    }
    expectEqual(failure?.reason, .unknownLifetime)
    expectEqual(failure?.message.contains("gave seconds at `end`"), true)
    expectEqual(failure?.advice?.contains("token.expiration_format"), true)
    // Neither a small number nor a time in the past is mistaken for seconds.
    for value in ["17", "1000000000000"] {
      expectEqual(
        AuthorizationFixture.failure { try read(body(value), headers: [("Date", AuthorizationFixture.date)]) }?.reason,
        .expired)
    }
  }

  @Test("an empty response is reported as missingData")
  func empty() {
    let failure = AuthorizationFixture.failure { try read("") }
    expectEqual(failure?.reason, .missingData)
    expectEqual(failure?.reason.name, "missingData")
  }

  @Test("a response that is not a JSON object is rejected", arguments: ["<html>login", "[]", "null", "tok.en.x", "{"])
  func notJSON(text: String) {
    let failure = AuthorizationFixture.failure { try read(text) }
    expectEqual(failure?.reason, .notJSON)
    expect(text.first != "<" || failure?.message.contains("web page") == true)
    expectEqual(failure?.message.contains("other text before"), false)
  }

  @Test("text before the JSON object, as a command may print, is reported")
  func textBefore() {
    let failure = AuthorizationFixture.failure { try read("Fetching {1}…\n{\"token\":1}") }
    expectEqual(failure?.reason, .notJSON)
    expectEqual(failure?.message.contains("other text before its JSON object"), true)
  }

  @Test("a bare token in place of JSON is reported as such, and never shown")
  func bareToken() {
    let failure = AuthorizationFixture.failure { try read("eyJhbGciOiJSUzI1NiJ9.eyJhIjoxfQ.c2ln\n") }
    expectEqual(failure?.reason, .notJSON)
    expectEqual(failure?.message.contains("a token without a JSON object around it"), true)
    expectEqual(failure?.message.contains("eyJ"), false)
  }

  @Test("the key of a service account is reported as such: it must not be in a vehicle")
  func serviceAccountKey() {
    let failure = AuthorizationFixture.failure {
      try read(#"{"type":"service_account","private_key":"-----BEGIN","client_email":"a@b"}"#)
    }
    expectEqual(failure?.reason, .serviceAccountKey)
    expectEqual(failure?.message.contains("must never be in a vehicle"), true)
    expectEqual(failure?.advice?.contains("revoke it"), true)
  }

  @Test(
    "a status other than 2xx is reported with advice",
    arguments: [
      (302, "redirects"), (401, "credential"), (403, "credential"), (404, "vehicle"), (429, "limit"), (500, "log"),
    ])
  func status(http: Int, word: String) {
    let failure = AuthorizationFixture.failure { try read(body("1"), status: http) }
    expectEqual(failure?.reason, .status(http))
    expectEqual(failure?.advice?.contains(word), true)
  }

  @Test("a redirect or a web page that may be from a captive portal is reported as such")
  func portal() {
    func message(_ status: Int, _ body: String, to host: String? = nil) -> String? {
      var response = HTTPResponse(status: status, headers: [], body: [UInt8](body.utf8))
      response.redirect = host.map { WebAddress(scheme: "http", host: $0) }
      return AuthorizationFixture.failure {
        try TokenResponseFormat().token(
          from: response, for: AuthorizationFixture.context(), at: AuthorizationFixture.moment(100),
          buildDate: AuthorizationFixture.buildDate)
      }?.message
    }
    let answered = "the token provider answered HTTP"
    expectEqual(message(302, "", to: "portal.example"), "\(answered) 302, a redirect to portal.example")
    expectEqual(message(302, ""), "\(answered) 302, a redirect")
    for status in [403, 404, 511] {
      expectEqual(
        message(status, "\n<html>log in"), "\(answered) \(status) with a web page, as a captive portal or a proxy sends"
      )
    }
    expectEqual(message(503, "<html>busy"), "\(answered) 503")
    expectEqual(message(403, "{}"), "\(answered) 403")
  }

  @Test("a missing key is named in the message; a value that is empty or of the wrong type counts as missing")
  func missingKeys() {
    let noToken = AuthorizationFixture.failure { try read(#"{"jwt":"x","end":1}"#) }
    expectEqual(noToken?.reason, .missingField)
    expect(noToken?.message.contains("`token`") == true && noToken?.message.contains("jwt") == true)
    let null = AuthorizationFixture.failure { try read(#"{"token":null,"end":1}"#) }
    expectEqual(null?.message.hasSuffix(" gave nothing at `token` (there is `end`, `token` = null)"), true)
    expectEqual(AuthorizationFixture.failure { try read(#"{"token":5,"end":1}"#) }?.reason, .missingField)
    expectEqual(AuthorizationFixture.failure { try read(#"{"token":"","end":1}"#) }?.reason, .missingField)
    let noEnd = AuthorizationFixture.failure {
      try read(#"{"token":"\#(AuthorizationFixture.token(AuthorizationFixture.claims()))"}"#)
    }
    expectEqual(noEnd?.reason, .missingField)
    expectEqual(noEnd?.message.contains("`end`"), true)
  }

  @Test(
    "an expiration that does not fit its format is rejected as unknownLifetime, and nothing traps",
    arguments: [
      (.epochSeconds, "true"), (.epochSeconds, #""soon""#), (.relativeSeconds, "-5"), (.relativeSeconds, "1e300"),
      (.rfc3339, "5"), (.rfc3339, #""2026-12-01""#), (.automatic, "[]"), (.automatic, "-1"),
    ] as [(TokenResponseFormat.Expiration, String)])
  func wrongType(format: TokenResponseFormat.Expiration, value: String) {
    expectEqual(AuthorizationFixture.failure { try read(body(value), format) }?.reason, .unknownLifetime)
  }

  @Test(
    "an extreme number as the expiration or in the claims does not trap",
    arguments: ["9223372036854775807", "-9223372036854775808", "1e18"])
  func wildNumbers(value: String) {
    for format: TokenResponseFormat.Expiration in [.epochSeconds, .epochMilliseconds, .automatic, .relativeSeconds] {
      _ = AuthorizationFixture.failure { try read(body(value), format, headers: [("Date", AuthorizationFixture.date)]) }
      _ = AuthorizationFixture.failure {
        try read(body(value, #"{"iat":\#(value),"exp":\#(value),"authorization":{"deliveryvehicleid":"*"}}"#), format)
      }
    }
  }

  @Test("the message about a token for another vehicle contains no part of the token")
  func secrecy() {
    let text = AuthorizationFixture.token(AuthorizationFixture.claims(vehicle: "other"))
    let failure = AuthorizationFixture.failure { try read(#"{"token":"\#(text)","end":1}"#) }
    for part in text.split(separator: ".") { expectEqual(failure?.message.contains(part), false) }
  }
}
