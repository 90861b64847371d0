// SPDX-License-Identifier: Apache-2.0
import Expectations
import ExternalInput
import HTTPMessages
import Testing

@testable import Authorization

struct TokenAdviceTests {
  @Test("every token failure has advice, except that of a token file")
  func reasons() {
    let reasons: [TokenFailure.Reason] =
      [
        .missingAuthorizationContext, .missingData, .notJSON, .missingField, .serviceAccountKey, .unknownLifetime,
        .notJWT, .missingClaim,
        .wrongVehicle, .wrongContext, .expired, .unchanged, .program("exit1"), .program("timedOut"),
      ] + [200, 302, 401, 403, 404, 429, 500, 503].map { .status($0) }
      + TransportFailure.Kind.allCases.map { .transport($0) }
    for reason in reasons { expect(TokenAdviceTests.isAdvice(TokenFailure(reason, "").advice), "\(reason)") }
    // The message about a token file already ends with the advice.
    expectNil(TokenFailure(.file("missing"), "").advice)
    // A server that demands a client certificate may just close the connection. A slow one may need a longer deadline.
    expectEqual(TokenFailure(.transport(.broken), "").advice?.contains("token.client_certificate"), true)
    expectEqual(TokenFailure(.transport(.timedOut), "").advice?.contains("token.deadline"), true)
  }

  @Test("every problem that is found in a token has advice", arguments: TokenInspection.Problem.Kind.allCases)
  func problems(kind: TokenInspection.Problem.Kind) {
    expect(TokenAdviceTests.isAdvice(TokenInspection.Problem(kind: kind, sentence: "").advice))
  }

  /// Returns true if `text` begins without a capital letter and ends without a full stop.
  private static func isAdvice(_ text: String?) -> Bool {
    guard let text, let first = text.first else { return false }
    return !first.isUppercase && !text.hasSuffix(".")
  }
}
