// SPDX-License-Identifier: Apache-2.0
import ExternalInput
import Authorization
import HTTPMessages
import Testing

@testable import Diagnosis

@Suite struct TokenFindingsTests {
  @Test("a token that is good is told with its life")
  func good() throws {
    #expect(
      TokenFindings.findings(try TokenFixture.answer()) == [
        .pass("a token came in 12 ms"), .pass("it is good for 60 min (its end less the answer's Date)"),
      ])
  }

  @Test("a token that Fleet Engine would refuse fails, though the daemon would use it")
  func refused() throws {
    let findings = TokenFindings.findings(try TokenFixture.answer(TokenFixture.token(["aud": "\"x\""])))
    #expect(findings.map(\.verdict) == [.pass, .fail])
  }

  @Test("an answer without a token, and one that the daemon cannot read, fail once, each with what to do")
  func failures() throws {
    for (answer, words) in [
      (try TokenFixture.answer(status: 403), "HTTP 403"), (try TokenFixture.answer(end: nil), "nothing at `end`"),
      (try TokenFixture.answer(.http(.failure(TransportFailure(.refused, "refused")))), "cannot be reached"),
    ] {
      let failures = TokenFindings.findings(answer).filter { $0.verdict == .fail }
      #expect(failures.count == 1)
      #expect(failures.first?.sentence.contains(words) == true)
      #expect(failures.first?.advice?.isEmpty == false)
    }
  }

  @Test("each problem that a token can have, and each way to get none, comes with what to do")
  func advice() {
    let reasons: [TokenFailure.Reason] =
      [
        .missingAuthorizationContext, .missingData, .notJSON, .missingField, .unknownLifetime, .notJWT, .missingClaim,
        .wrongVehicle, .wrongContext, .expired, .unchanged, .program("exit1"), .file("missing"),
      ] + [200, 302, 401, 403, 404, 429, 500, 503].map { .status($0) }
      + TransportFailure.Kind.allCases.map { .transport($0) }
    for reason in reasons { #expect(!TokenFailure(reason, "").advice.isEmpty) }
  }

  @Test("the credentials of the daemon that reads these settings are used, of several in one box too")
  func unit() {
    #expect(InstalledService.unit(for: "/etc/fleet-locationd/fleet-locationd.toml") == "fleet-locationd.service")
    #expect(InstalledService.unit(for: "/etc/fleet-locationd/van-2.toml") == "fleet-locationd@van-2.service")
    #expect(InstalledService.unit(for: "") == "fleet-locationd.service")
  }
}
