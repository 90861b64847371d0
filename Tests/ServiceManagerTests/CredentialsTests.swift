// SPDX-License-Identifier: Apache-2.0
import Expectations
import FileTesting
import Foundation
import Glibc
import HTTPMessages
import ServiceManager
import SystemCalls
import Testing

struct CredentialsTests {
  private let directory: TemporaryDirectory
  private let credentials: Credentials

  init() throws {
    directory = try TemporaryDirectory()
    credentials = Credentials(directory: directory.path)
  }

  @Test(
    "A secret is the text of the file without the final line break",
    arguments: [
      ("key\n", "key"), ("key", "key"), ("key\r\n", "key"), ("a b\n\n", "a b\n"), ("schlüssel\n", "schlüssel"),
      ("\u{FEFF}key\n", "key"),
    ])
  func text(content: String, secret: String) throws {
    let path = try directory.write(content, to: "token")
    try expectEqual(credentials.secret(inFile: path).reveal(), secret)
    try expectEqual(credentials.credential(named: "token").reveal(), secret)
  }

  @Test(
    "A file that others can access is rejected with the command to fix it", arguments: [0o640, 0o604, 0o620, 0o666])
  func exposed(mode: Int) throws {
    let path = try directory.write("key", to: "token", mode: mode)
    let error = #expect(throws: ServiceManagerError.self) { _ = try credentials.secret(inFile: path) }
    expectEqual(error?.code, .exposed)
    expectEqual(error?.message.contains("chmod 600 \(path)"), true)
    expectEqual(error?.message.contains("0\(String(mode, radix: 8))"), true)
  }

  @Test(
    "An invalid secret is rejected, and the message never shows it",
    arguments: [[], [0x0A], Array("a\0b".utf8), [0xFF, 0xFE], [UInt8](repeating: 0x61, count: 16_385)])
  func unusable(content: [UInt8]) throws {
    let path = try directory.write(Data(content), to: "token")
    let error = #expect(throws: ServiceManagerError.self) { _ = try credentials.secret(inFile: path) }
    expectEqual(error?.code, .unusable)
    expectEqual(error?.message.hasPrefix(path), true)
    expectEqual(error?.message.contains("aaaa"), false)
  }

  @Test("The message about a missing credential suggests one with a similar name")
  func similarName() throws {
    _ = try directory.write("key", to: "token-provider")
    let error = #expect(throws: ServiceManagerError.self) { _ = try credentials.credential(named: "token-provder") }
    expectEqual(error?.code, .missing)
    expectEqual(error?.message.contains("did you mean \"token-provider\"?"), true)
    let other = #expect(throws: ServiceManagerError.self) { _ = try credentials.credential(named: "vehicle") }
    expectEqual(other?.message.contains("did you mean"), false)
  }

  @Test("A directory and a FIFO are rejected at once")
  func kinds() throws {
    mkfifo(directory("fifo"), 0o600)
    for path in [directory.path, directory("fifo")] {
      let error = #expect(throws: ServiceManagerError.self) { _ = try credentials.secret(inFile: path) }
      expectEqual(error?.code, .unusable)
    }
  }

  @Test("A missing credential is reported with the remedy")
  func missing() throws {
    let file = #expect(throws: ServiceManagerError.self) { _ = try credentials.secret(inFile: "/no/such/token") }
    expectEqual(file?.code, .missing)
    expectEqual(file?.message.hasPrefix("/no/such/token: "), true)
    let credential = #expect(throws: ServiceManagerError.self) { _ = try credentials.credential(named: "other") }
    expectEqual(credential?.code, .missing)
    expectEqual(credential?.message.contains("LoadCredential=other:"), true)
    let none = #expect(throws: ServiceManagerError.self) {
      _ = try Credentials(directory: nil).credential(named: "other")
    }
    expectEqual(none?.code, .notPassed)
    expectEqual(none?.message.contains("LoadCredential=other:"), true)
  }

  @Test("the message about a missing credential names the unit to restart, that of an instance too")
  func restart() {
    let directories = ["/run/credentials/fleet-locationd.service", "/run/credentials/fleet-locationd@van.service", nil]
    for (directory, unit) in zip(directories, ["fleet-locationd", "fleet-locationd@van", "fleet-locationd"]) {
      let error = #expect(throws: ServiceManagerError.self) {
        _ = try Credentials(directory: directory).credential(named: "other")
      }
      expectEqual(error?.message.hasSuffix(": systemctl restart \(unit)"), true, "\(error?.message ?? "")")
    }
  }

  @Test(
    "A credential's name that is not a plain file name is rejected",
    arguments: ["", ".", "..", "../token", "a/b", "a\0"])
  func names(name: String) throws {
    let error = #expect(throws: ServiceManagerError.self) { _ = try credentials.credential(named: name) }
    expectEqual(error?.code, .unusable)
  }
}
