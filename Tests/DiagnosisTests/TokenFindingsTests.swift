// SPDX-License-Identifier: Apache-2.0
import Expectations
import ExternalInput
import Authorization
import HTTPMessages
import LocationDaemon
import Testing

@testable import Diagnosis

struct TokenFindingsTests {
  @Test("a valid token is reported with its lifetime")
  func good() throws {
    try expectEqual(
      TokenFixture.answer().findings,
      [
        .pass("received a token in 12 ms"), .pass("it is valid for 60 min (its expiration minus the response's Date)"),
      ])
  }

  @Test("a token that Fleet Engine would reject fails, although the daemon would use it")
  func refused() throws {
    let findings = try TokenFixture.answer(TokenFixture.token(["aud": "\"x\""])).findings
    expectEqual(findings.map(\.severity), [.pass, .fail])
  }

  @Test("a rejected request, an incomplete response and a failed connection cause one failure each, with advice")
  func failures() throws {
    for (answer, words) in [
      (try TokenFixture.answer(status: 403), "HTTP 403"), (try TokenFixture.answer(end: nil), "nothing at `end`"),
      (try TokenFixture.answer(.http(.failure(TransportFailure(.refused, "refused")))), "cannot be reached"),
    ] {
      let failures = answer.findings.filter { $0.severity == .fail }
      expectEqual(failures.count, 1)
      expectEqual(failures.first?.sentence.contains(words), true)
      expectEqual(failures.first?.advice?.isEmpty, false)
    }
  }

  @Test("a credential in quotation marks fails if the provider rejects the request, and otherwise causes a warning")
  func credentialWarnings() throws {
    for status in [400, 401, 403] {
      let findings = TokenCheck.findings(["in quotes"], failure: try TokenFixture.answer(status: status).failure)
      expectEqual(findings.map(\.severity), [.fail], "\(status)")
      expectEqual(findings.map(\.sentence), ["in quotes"])
    }
    for failure in [nil, try TokenFixture.answer(status: 503).failure] {
      expectEqual(TokenCheck.findings(["in quotes"], failure: failure).map(\.severity), [.warn])
    }
    expect(TokenCheck.findings([], failure: try TokenFixture.answer(status: 401).failure).isEmpty)
  }

  @Test("the unit whose credentials are checked follows from the name of the settings file")
  func unit() {
    expectEqual(InstalledService.unit(for: "/etc/fleet-locationd/fleet-locationd.toml"), "fleet-locationd.service")
    expectEqual(InstalledService.unit(for: "/etc/fleet-locationd/van-2.toml"), "fleet-locationd@van-2.service")
    expectEqual(InstalledService.unit(for: ""), "fleet-locationd.service")
  }
}
