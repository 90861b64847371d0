// SPDX-License-Identifier: Apache-2.0
import Expectations
import FileTesting
import HTTPMessages
import Testing

@testable import Configuration
@testable import LocationDaemon

struct SecretWarningsTests {
  @Test(
    "a warning says that a secret has quotes or the header's name, and does not show the secret",
    arguments: [
      ("\"Bearer s3cret\"", "is in quotes"), ("'s3cret'", "is in quotes"),
      ("Authorization: Bearer s3cret", "begins with the name of the header"),
      ("authorization:Bearer s3cret", "begins with the name of the header"),
      (
        "{\"type\": \"service_account\", \"private_key\": \"s3cret\"}", "is a private key, perhaps of a service account"
      ),
      ("-----BEGIN PRIVATE KEY-----\ns3cret", "is a private key, perhaps of a service account"),
      ("Bearer s3cret\n", "has a line break"), ("Bearer\u{7F}s3cret", "another control character"),
      ("Bearer\ts3cret", nil),
      ("Bearer s3cret", nil), ("Bearer \"s3cret\"", nil), ("\"", nil),
    ])
  func problems(_ text: String, _ problem: String?) throws {
    let found = SecretWarnings.problem(of: Secret(text), header: "Authorization")
    expect(problem.map { found?.contains($0) == true } ?? (found == nil))
    expect(found?.contains("s3cret") != true)
  }

  @Test("the warning names the key and the file; a file that cannot be read causes no warning")
  func file() throws {
    let directory = try TemporaryDirectory()
    let path = try directory.write("'s3cret'\n", to: "key", mode: 0o600)
    var token = Settings.Token()
    token.headers = [
      Settings.Token.Header(name: "Authorization", valueSource: .file(path)),
      Settings.Token.Header(name: "X-Key", valueSource: .file(directory("none"))),
    ]
    let warnings = SecretWarnings.warnings(token)
    expectEqual(warnings.count, 1)
    expectEqual(warnings.first?.hasPrefix("token.headers.Authorization: \(path): the secret is in quotes"), true)
  }
}
