// SPDX-License-Identifier: Apache-2.0
import Configuration
import Expectations
import FileTesting
import Glibc
import Testing

@testable import LocationDaemon

struct SettingsValidationTests {
  private let directory: TemporaryDirectory

  init() throws {
    directory = try TemporaryDirectory()
  }

  private func validation(_ source: String, headers: String, isService: Bool) throws -> SettingsValidation {
    let path = try directory.write(
      """
      [vehicle]
      provider_id = "p"
      vehicle_id = "truck-17"
      [source]
      \(source)
      [token]
      url = "https://tokens.example.com/"
      headers = { \(headers) }
      """, to: "f.toml")
    return SettingsValidation(of: path, isService: isService)
  }

  private let drive = "type = \"simulated\"\nroute = \"none.gpx\""
  private let receiver = "type = \"serial\"\ndevice = \"/dev/gps0\""
  private let credential = "A = { credential = \"token-provider\" }"

  @Test("outside the service, where no credential is passed, the route and the secret files are checked nevertheless")
  func route() throws {
    let missing = try validation(drive, headers: credential, isService: false)
    expectEqual(missing.exitCode, ExitCode.unavailable)
    expectEqual(missing.output, "")
    expect(missing.errors.contains("none.gpx"), "\(missing.errors)")
    let secret = try validation(receiver, headers: "\(credential), B = { file = \"secret\" }", isService: false)
    expectEqual(secret.exitCode, ExitCode.configuration)
    expect(secret.errors.contains("token.headers.B: \(directory("secret")): there is no such file"), "\(secret.errors)")
  }

  @Test("outside the service, the warnings are printed also if no credential is passed")
  func warnings() throws {
    let result = try validation(receiver, headers: credential, isService: false)
    expectEqual(result.exitCode, ExitCode.done)
    expectEqual(result.output, "\(directory("f.toml")): valid\n")
    expectEqual(result.errors.split(separator: "\n").count, 2, "\(result.errors)")
    expect(result.errors.hasPrefix("the credential was not checked"), "\(result.errors)")
    expect(result.errors.contains("{vehicle_id}"), "\(result.errors)")
    let service = try validation(receiver, headers: credential, isService: true)
    expectEqual(service.exitCode, ExitCode.configuration)
  }

  @Test("a recording that the service cannot read is a mistake; one that does not exist is not")
  func recording() throws {
    expectEqual(symlink("loop", directory("loop")), 0)
    for (file, code) in [("loop", ExitCode.configuration), ("none", ExitCode.done)] {
      let result = try validation("type = \"replay\"\nfile = \"\(file)\"", headers: "", isService: true)
      expectEqual(result.exitCode, code, "\(result.errors)")
      expectEqual(result.errors.contains("source.file: the service cannot read"), code != ExitCode.done)
    }
  }
}
