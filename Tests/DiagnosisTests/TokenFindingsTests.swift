// SPDX-License-Identifier: Apache-2.0
import Expectations
import ExternalInput
import Authorization
import Configuration
import EventLoop
import FileTesting
import HTTPMessages
import LocationDaemon
import SystemCalls
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

  @Test("the advice about an unread credential names the settings, and how to pass an encrypted file")
  @MainActor func advice() throws {
    let directory = try TemporaryDirectory()
    let path = try directory.write(
      """
      [vehicle]
      provider_id = "p"
      vehicle_id = "v"
      [source]
      type = "gpsd"
      [token]
      url = "https://tokens.example.com/{vehicle_id}"
      headers = { A = { credential = "token-provider" } }
      """, to: "f.toml")
    let settings = try SettingsFile.load(path: path, environment: .system).settings
    var environment = Doctor.Environment(
      loop: try EventLoop(), serviceUser: nil, currentUser: UserAccount(name: "user", id: 1000, groups: []),
      buildDate: TokenFixture.buildDate, isDaemonRunning: false)
    environment.settingsOption = " --config \(path)"
    let token = TokenCheck(settings: settings, environment: environment, token: FetchedToken())
    for (check, command) in [
      (token as any Check, "fleet-locationctl doctor --config \(path)"),
      (TokenConformanceCheck(settings, in: environment), "fleet-locationctl doctor --config \(path) --token"),
    ] {
      var findings: [Finding] = []
      check.run { findings.append($0) }
      let advice = findings.last?.advice ?? ""
      expectEqual(findings.last?.code, .notExamined)
      expect(advice.contains("sudo \(command); if it does not run: sudo systemd-run "), "\(advice)")
      expect(advice.contains(" -p LoadCredential=token-provider:/path/of/the/file \(command) ("), "\(advice)")
      expect(advice.contains("LoadCredentialEncrypted= if the file is encrypted"), "\(advice)")
    }
  }

  @Test("the unit whose credentials are checked follows from the name of the settings file")
  func unit() {
    expectEqual(InstalledService.unit(for: "/etc/fleet-locationd/fleet-locationd.toml"), "fleet-locationd.service")
    expectEqual(InstalledService.unit(for: "/etc/fleet-locationd/van-2.toml"), "fleet-locationd@van-2.service")
    expectEqual(InstalledService.unit(for: ""), "fleet-locationd.service")
  }
}
