// SPDX-License-Identifier: Apache-2.0
import Expectations
import ExternalInput
import Foundation
import HTTPMessages
import Testing

@testable import Authorization

struct TokenAdviceTests {
  /// Every reason, without the two that name a status or a file.
  private static let reasons: [TokenFailure.Reason] =
    [
      .missingAuthorizationContext, .missingData, .notJSON, .missingField, .serviceAccountKey, .unknownLifetime,
      .notJWT, .missingClaim, .wrongVehicle, .wrongContext, .expired, .unchanged, .program("exit1"),
      .program("signal9"), .program("timedOut"), .program("tooLarge"), .program("notStarted"),
    ] + TransportFailure.Kind.allCases.map { .transport($0) }

  @Test("every token failure has advice, except that of a token file")
  func advice() {
    let statuses: [TokenFailure.Reason] = [200, 302, 401, 403, 404, 429, 500, 503].map { .status($0) }
    for reason in Self.reasons + statuses {
      expect(TokenAdviceTests.isAdvice(TokenFailure(reason, "").advice), "\(reason)")
    }
    // The message about a token file already ends with the advice.
    expectNil(TokenFailure(.file("missing"), "").advice)
    // A server that demands a client certificate may just close the connection. A slow one may need a longer deadline.
    expectEqual(TokenFailure(.transport(.broken), "").advice?.contains("token.client_certificate"), true)
    expectEqual(TokenFailure(.transport(.timedOut), "").advice?.contains("token.deadline"), true)
  }

  @Test("the table in docs/token-provider.md has every reason for which there is no token, and no other")
  func documented() throws {
    let page = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../docs/token-provider.md")
    let lines = try String(contentsOf: page, encoding: .utf8).split(separator: "\n", omittingEmptySubsequences: false)
    let rows = lines.drop { !$0.hasPrefix("| Reason") }.dropFirst(2).prefix { $0.hasPrefix("|") }
    var names: Set<String> = []
    for row in rows {
      let parts = row.split(separator: "|")[0].split(separator: "`", omittingEmptySubsequences: false)
      for index in stride(from: 1, to: parts.count, by: 2) { names.insert(String(parts[index])) }
    }
    let examples: [TokenFailure.Reason] = [401, 403, 404, 429, 500].map { .status($0) } + [.file("…")]
    let reasons = Self.reasons + examples
    expectEqual(names, Set(reasons.map(\.name)))
    for reason in reasons {
      // A new reason does not compile here: it belongs in `reasons`, too.
      switch reason {
      case .missingAuthorizationContext, .missingData, .transport, .status, .notJSON, .missingField,
        .serviceAccountKey, .unknownLifetime, .notJWT, .missingClaim, .wrongVehicle, .wrongContext, .expired,
        .unchanged, .program, .file:
        break
      }
    }
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
