// SPDX-License-Identifier: Apache-2.0
import Expectations
import ExternalInput
import HTTPMessages
import Testing

@testable import Authorization

struct TokenAdviceTests {
  @Test("every reason for having no token has advice, except a file's, whose message ends with it")
  func reasons() {
    let reasons: [TokenFailure.Reason] =
      [
        .missingAuthorizationContext, .missingData, .notJSON, .missingField, .serviceAccountKey, .unknownLifetime,
        .notJWT, .missingClaim,
        .wrongVehicle, .wrongContext, .expired, .unchanged, .program("exit1"), .program("timedOut"),
      ] + [200, 302, 401, 403, 404, 429, 500, 503].map { .status($0) }
      + TransportFailure.Kind.allCases.map { .transport($0) }
    for reason in reasons { expect(TokenAdviceTests.isAdvice(TokenFailure(reason, "").advice), "\(reason)") }
    expectNil(TokenFailure(.file("missing"), "").advice)
    // A server that demands a client certificate may just close the connection; another one is slow.
    expectEqual(TokenFailure(.transport(.broken), "").advice?.contains("token.client_certificate"), true)
    expectEqual(TokenFailure(.transport(.timedOut), "").advice?.contains("token.deadline"), true)
  }

  @Test("every problem of a token has advice", arguments: TokenInspection.Problem.Kind.allCases)
  func problems(kind: TokenInspection.Problem.Kind) {
    expect(TokenAdviceTests.isAdvice(TokenInspection.Problem(kind: kind, sentence: "").advice))
  }

  /// No capital letter at the beginning, no full stop.
  private static func isAdvice(_ text: String?) -> Bool {
    guard let text, let first = text.first else { return false }
    return !first.isUppercase && !text.hasSuffix(".")
  }
}
