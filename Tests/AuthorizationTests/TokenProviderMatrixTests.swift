// SPDX-License-Identifier: Apache-2.0
import Authorization
import Expectations
import ExternalInput
import HTTPMessages
import Testing
import Timekeeping

/// Every kind of token provider with every format of the expiration and every failure.
struct TokenProviderMatrixTests {
  enum Kind: String, CaseIterable { case http, command, file }

  struct Form: CustomTestStringConvertible {
    var expiration: TokenResponseFormat.Expiration
    /// The expiration as JSON: one hour after `AuthorizationFixture.wall`.
    var value: String
    var testDescription: String { "\(expiration) \(value)" }
  }

  static let forms = [
    Form(expiration: .epochSeconds, value: "1796086800"), Form(expiration: .epochSeconds, value: "\"1796086800\""),
    Form(expiration: .epochMilliseconds, value: "1796086800000"), Form(expiration: .relativeSeconds, value: "3600"),
    Form(expiration: .rfc3339, value: "\"2026-12-01T01:00:00Z\""), Form(expiration: .jwt, value: "null"),
    Form(expiration: .automatic, value: "1796086800"), Form(expiration: .automatic, value: "1796086800000"),
    Form(expiration: .automatic, value: "3600"), Form(expiration: .automatic, value: "\"2026-12-01T01:00:00Z\""),
  ]

  static let token = AuthorizationFixture.token(AuthorizationFixture.claims(iat: 1_796_083_200, exp: 1_796_086_800))

  private func provider(_ kind: Kind, _ form: Form) -> TokenProvider {
    let format = TokenResponseFormat(
      tokenKey: "data.token", expirationKey: form.expiration == .jwt ? nil : "end", expiration: form.expiration)
    switch kind {
    case .http: return .http(TokenEndpoint(urlTemplate: "https://t.test/{vehicle_id}", format: format))
    case .command: return .command(TokenCommand(arguments: ["/bin/get-token", "{vehicle_id}"], format: format))
    case .file: return .file(TokenFile(path: "/run/token", format: format))
    }
  }

  private func outcome(_ kind: Kind, _ body: String, age: Duration = .zero) -> TokenOutcome {
    switch kind {
    case .http: .http(.response(AuthorizationFixture.response(body, headers: [("Date", AuthorizationFixture.date)])))
    case .command: .command(TokenCommand.Outcome(.exited(0), output: [UInt8](body.utf8)))
    case .file: .file(.text(Secret(body), age: age))
    }
  }

  private func read(
    _ kind: Kind, _ form: Form, _ outcome: TokenOutcome, wall: Timestamp = AuthorizationFixture.wall
  ) throws -> AccessToken {
    try provider(kind, form).token(
      from: outcome, for: AuthorizationFixture.context(), at: AuthorizationFixture.moment(100, wall: wall),
      buildDate: AuthorizationFixture.buildDate)
  }

  private func body(_ token: String, _ value: String) -> String {
    #"{"data":{"token":"\#(token)"},"end":\#(value),"more":[1,{"a":null}]}"#
  }

  @Test("every kind of provider and every expiration format result in the same expiry", arguments: Kind.allCases, forms)
  func formats(kind: Kind, form: Form) throws {
    let token = try read(kind, form, outcome(kind, body(TokenProviderMatrixTests.token, form.value)))
    expectEqual(token.deadline, .boot + .seconds(3700))
    expectEqual(token.secret.reveal(), TokenProviderMatrixTests.token)
  }

  @Test(
    "the expiry is the same with the clock in 1970 and in 2038, except an absolute one from a command in 2038",
    arguments: Kind.allCases, forms)
  func wrongClock(kind: Kind, form: Form) throws {
    for wall in [Timestamp(seconds: 7), Timestamp(seconds: 2_147_483_648)] {
      // The output of a command has no date, and a clock past the build date is trusted: in 2038 the token has expired.
      if kind == .command, wall > AuthorizationFixture.wall, form.expiration != .relativeSeconds, form.value != "3600" {
        continue
      }
      let token = try read(kind, form, outcome(kind, body(TokenProviderMatrixTests.token, form.value)), wall: wall)
      expectEqual(token.deadline, .boot + .seconds(3700), "\(wall.rfc3339)")
    }
  }

  struct Failure: CustomTestStringConvertible {
    var testDescription: String
    var form: Form
    var body: String
    var reason: TokenFailure.Reason
  }

  static let failures: [Failure] = forms.flatMap { form in
    func body(_ token: String, _ end: String) -> String { #"{"data":{"token":\#(token)},"end":\#(end)}"# }
    let good = "\"\(token)\""
    let old = AuthorizationFixture.token(AuthorizationFixture.claims(iat: 1_796_070_000, exp: 1_796_073_600))
    let ended: String =
      switch form.expiration {
      case .epochSeconds: "1796073600"
      case .epochMilliseconds: "1796073600000"
      case .relativeSeconds: "0"
      case .rfc3339: "\"2026-11-30T21:20:00Z\""
      case .jwt: "null"
      case .automatic: "1796073600"
      }
    var failures = [
      ("nothing", "", TokenFailure.Reason.missingData), ("blanks", " \n", .missingData),
      ("a list", "[]", .notJSON), ("no token", #"{"end":1}"#, .missingField),
      ("null", body("null", form.value), .missingField),
      ("a number", body("5", form.value), .missingField), ("an empty token", body("\"\"", form.value), .missingField),
      ("no JWT", body("\"opaque\"", form.value), .notJWT),
      (
        "another vehicle's",
        body("\"\(AuthorizationFixture.token(AuthorizationFixture.claims(vehicle: "truck-18")))\"", form.value),
        .wrongVehicle
      ),
      ("no claim", body("\"\(AuthorizationFixture.token("{}"))\"", form.value), .missingClaim),
      ("expired", body("\"\(old)\"", ended), .expired),
      ("half of it", String(body(good, form.value).dropLast(8)), .notJSON),
    ]
    if form.expiration != .jwt {
      failures += [
        ("no end", body(good, "null"), .missingField), ("a strange end", body(good, "\"soon\""), .unknownLifetime),
        ("a list for an end", body(good, "[1]"), .unknownLifetime),
      ]
    }
    return failures.map {
      Failure(testDescription: "\($0.0), \(form.testDescription)", form: form, body: $0.1, reason: $0.2)
    }
  }

  @Test(
    "with every kind of provider and expiration format, each failure is reported without showing the token",
    arguments: Kind.allCases, failures)
  func failing(kind: Kind, failure: Failure) throws {
    // The lifetime of a token in a file counts from the time of writing, so only an old file has an expired token.
    let age = failure.reason == .expired ? Duration.seconds(13_200) : .zero
    let result = AuthorizationFixture.failure { try read(kind, failure.form, outcome(kind, failure.body, age: age)) }
    // A file that does not begin with a brace or a space is read as a bare token.
    let isBare = kind == .file && failure.body.first.map { $0 != "{" && $0 != " " } ?? false
    expectEqual(result?.reason, (isBare ? .notJWT : failure.reason))
    let message = result?.message ?? ""
    expect(message.count > 20 && message.count < 400)
    for part in TokenProviderMatrixTests.token.split(separator: ".") where part.count > 4 {
      expect(!message.contains(part))
    }
  }

  @Test(
    "an outcome of a different kind of provider is rejected", arguments: Kind.allCases, Kind.allCases)
  func otherKind(asked: Kind, answered: Kind) throws {
    let form = TokenProviderMatrixTests.forms[0]
    let answer = outcome(answered, body(TokenProviderMatrixTests.token, form.value))
    expectEqual((AuthorizationFixture.failure { try read(asked, form, answer) } == nil), (asked == answered))
  }

  // MARK: - Provider-specific behaviour

  @Test(
    "a transport failure is reported with its cause, and with `cannot be reached` only if there was no connection",
    arguments: TransportFailure.Kind.allCases)
  func transport(kind: TransportFailure.Kind) throws {
    let failure = AuthorizationFixture.failure {
      try read(.http, TokenProviderMatrixTests.forms[0], .http(.failure(TransportFailure(kind, "as reported"))))
    }
    expectEqual(failure?.reason, .transport(kind))
    expectEqual(failure?.message.contains(": as reported"), true)
    expectEqual(failure?.message.contains("cannot be reached"), [.unresolved, .unreachable, .refused].contains(kind))
  }

  @Test(
    "a redirect or an error status is a failure, and the Location header is not shown",
    arguments: [301, 302, 307, 308, 401, 403, 404, 429, 500, 503])
  func status(status: Int) throws {
    let response = AuthorizationFixture.response(
      TokenProviderMatrixTests.token, status: status,
      headers: [("Location", "https://evil.test/?t=\(TokenProviderMatrixTests.token)")])
    let failure = AuthorizationFixture.failure {
      try read(.http, TokenProviderMatrixTests.forms[0], .http(.response(response)))
    }
    expectEqual(failure?.reason, .status(status))
    expect(failure?.message.contains("evil") == false && failure?.message.contains("eyJ") == false)
  }

  @Test(
    "a command that fails is reported with its path and the cause",
    arguments: [
      (.exited(1), "exit1", "exit code 1: No route, says the helper"), (.killed(11), "signal11", "signal 11"),
      (.timedOut, "timedOut", "longer than 15 s"), (.tooLarge, "tooLarge", "65536 bytes"),
      (.notStarted("No such file or directory"), "notStarted", "No such file or directory"),
    ] as [(TokenCommand.Outcome.Ending, String, String)])
  func program(ending: TokenCommand.Outcome.Ending, name: String, words: String) throws {
    let outcome = TokenCommand.Outcome(
      ending, output: [UInt8](body(TokenProviderMatrixTests.token, "1").utf8),
      errors: [UInt8]("trying \(TokenProviderMatrixTests.token)\n\nNo route, says the helper\n".utf8))
    expectEqual(outcome.errorLines.map(\.description), ["trying e30.<redacted>", "No route, says the helper"])
    let failure = AuthorizationFixture.failure {
      try read(.command, TokenProviderMatrixTests.forms[0], .command(outcome))
    }
    expectEqual(failure?.reason.name, name)
    expect(failure?.message.contains("/bin/get-token") == true && failure?.message.contains(words) == true)
  }

  @Test("the error output of a command is limited in the number and the length of its lines")
  func remarks() {
    let outcome = TokenCommand.Outcome(
      .exited(0), errors: [UInt8]((0..<1000).map { "\($0) \(String(repeating: "a b", count: 200))\n" }.joined().utf8))
    expectEqual(outcome.errorLines.count, 10)
    expect(outcome.errorLines.allSatisfy { $0.description.unicodeScalars.count <= 201 })
    expectEqual(TokenCommand.Outcome(.exited(0), errors: [0xFF, 0xFE, 10]).errorLines.count, 1)
  }

  @Test(
    "a file with a bare token is accepted, with or without a line break; two tokens are rejected",
    arguments: ["", "\n", "\r\n", "  \n\n"])
  func bareToken(end: String) throws {
    let form = TokenProviderMatrixTests.forms[0]
    let token = try read(.file, form, .file(.text(Secret(TokenProviderMatrixTests.token + end), age: .zero)))
    expectEqual(token.secret.reveal(), TokenProviderMatrixTests.token)
    expectEqual(token.deadline, .boot + .seconds(3700))
    let two = TokenProviderMatrixTests.token + "\n" + TokenProviderMatrixTests.token
    expectEqual(
      AuthorizationFixture.failure { try read(.file, form, .file(.text(Secret(two), age: .zero))) }?.reason, .notJWT)
  }

  @Test(
    "the remaining lifetime of a token in a file is computed from its age and from the clock; the longer is used")
  func age() throws {
    let answer = body(TokenProviderMatrixTests.token, "3600")
    let form = Form(expiration: .relativeSeconds, value: "3600")
    func left(_ age: Int64, _ wall: Timestamp, _ form: Form) throws -> Duration {
      let text = form.expiration == .relativeSeconds ? answer : TokenProviderMatrixTests.token
      let token = try read(.file, form, .file(.text(Secret(text), age: .seconds(age))), wall: wall)
      return token.deadline - token.receivedAt
    }
    try expectEqual(left(600, Timestamp(seconds: 5), form), .seconds(3000))
    // The lifetime is that of the claims, and the clock is correct.
    let jwt = TokenProviderMatrixTests.forms[5]
    try expectEqual(left(600, AuthorizationFixture.wall + .seconds(600), jwt), .seconds(3000))
    // The clock was set after the file was written: the file looks older than it is.
    try expectEqual(left(9_999_999, AuthorizationFixture.wall + .seconds(600), jwt), .seconds(3000))
    // The clock is days ahead, and so is the file's modification time.
    try expectEqual(left(600, AuthorizationFixture.wall + .seconds(400_000), jwt), .seconds(3000))
    // The file was written before the clock was reset: its age is unknown, and the token is used.
    try expectEqual(left(-50, Timestamp(seconds: 5), jwt), .seconds(3600))
    expectEqual(
      AuthorizationFixture.failure { try left(4000, AuthorizationFixture.wall + .seconds(4000), jwt) }?.reason,
      .expired)
  }
}
