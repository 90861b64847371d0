// SPDX-License-Identifier: Apache-2.0
import ExternalInput
import Authorization
import HTTPMessages
import Testing

@testable import Diagnosis

@Suite struct TokenFindingsTests {
  @Test("a valid token is reported with its lifetime")
  func good() throws {
    #expect(
      try TokenFixture.answer().findings == [
        .pass("received a token in 12 ms"), .pass("it is valid for 60 min (its expiration minus the response's Date)"),
      ])
  }

  @Test("a token that Fleet Engine would reject fails, although the daemon would use it")
  func refused() throws {
    let findings = try TokenFixture.answer(TokenFixture.token(["aud": "\"x\""])).findings
    #expect(findings.map(\.severity) == [.pass, .fail])
  }

  @Test("a response without a token, and one that cannot be read, are one failure each, with advice")
  func failures() throws {
    for (answer, words) in [
      (try TokenFixture.answer(status: 403), "HTTP 403"), (try TokenFixture.answer(end: nil), "nothing at `end`"),
      (try TokenFixture.answer(.http(.failure(TransportFailure(.refused, "refused")))), "cannot be reached"),
    ] {
      let failures = answer.findings.filter { $0.severity == .fail }
      #expect(failures.count == 1)
      #expect(failures.first?.sentence.contains(words) == true)
      #expect(failures.first?.advice?.isEmpty == false)
    }
  }

  @Test("the credentials of the daemon that reads these settings are used, also if a box has several")
  func unit() {
    #expect(InstalledService.unit(for: "/etc/fleet-locationd/fleet-locationd.toml") == "fleet-locationd.service")
    #expect(InstalledService.unit(for: "/etc/fleet-locationd/van-2.toml") == "fleet-locationd@van-2.service")
    #expect(InstalledService.unit(for: "") == "fleet-locationd.service")
  }
}
