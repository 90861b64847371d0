// SPDX-License-Identifier: Apache-2.0
import Expectations
import FileTesting
import Foundation
import Testing

@testable import FleetEngineEmulator

/// Keys made by the `openssl` program, once for all tests.
enum KeyFixture {
  static let rsa = key("RSA", "rsa_keygen_bits:2048")
  static let short = key("RSA", "rsa_keygen_bits:1024")
  static let elliptic = key("EC", "ec_paramgen_curve:P-256")
  static let sealed = run(["genpkey", "-algorithm", "RSA", "-aes256", "-pass", "pass:secret"])
  static let email = "driver@my-project.iam.gserviceaccount.com"

  private static func key(_ algorithm: String, _ option: String) -> String {
    run(["genpkey", "-algorithm", algorithm, "-pkeyopt", option])
  }

  static func run(_ arguments: [String], input: String = "") -> String {
    let process = Process()
    process.executableURL = URL(filePath: "/usr/bin/openssl")
    process.arguments = arguments
    let (output, text) = (Pipe(), Pipe())
    process.standardOutput = output
    process.standardError = FileHandle.nullDevice
    process.standardInput = text
    guard (try? process.run()) != nil else { return "" }
    text.fileHandleForWriting.write(Data(input.utf8))
    try? text.fileHandleForWriting.close()
    let data = output.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    return String(decoding: data, as: UTF8.self)
  }

  /// A file as the Google Cloud console exports it.
  static func file(_ change: (inout JSON) -> Void = { _ in }) -> [UInt8] {
    var json: JSON = [
      "type": "service_account", "project_id": "my-project", "private_key_id": "0123abcd", "private_key": .string(rsa),
      "client_email": .string(email), "token_uri": "https://oauth2.googleapis.com/token",
    ]
    change(&json)
    return Array(json.text.utf8)
  }
}

@Suite struct ServiceAccountTests {
  private func message(_ content: [UInt8]) -> String? {
    do {
      _ = try ServiceAccount(content, file: "key.json")
      return nil
    } catch {
      return error.message
    }
  }

  @Test("an exported key file is read: whose it is, the name of its key, and the key, which openssl verifies")
  func read() throws {
    let account = try ServiceAccount(KeyFixture.file(), file: "key.json")
    expectEqual(account.email, KeyFixture.email)
    expectEqual(account.key.identifier, "0123abcd")
    let directory = try TemporaryDirectory()
    let signature = try directory.write(Data(try account.key.sign(Array("a message".utf8))), to: "signature")
    let key = try directory.write(KeyFixture.run(["pkey", "-pubout"], input: KeyFixture.rsa), to: "public.pem")
    let result = KeyFixture.run(["dgst", "-sha256", "-verify", key, "-signature", signature], input: "a message")
    expectEqual(result, "Verified OK\n")
  }

  @Test(
    "a key of the file that is missing, empty or of another type is named",
    arguments: ["type", "client_email", "private_key_id", "private_key"], [nil, "", 7] as [JSON?])
  func missing(name: String, value: JSON?) {
    let says = message(KeyFixture.file { $0[name] = value })
    expectEqual(
      says?.hasPrefix("key.json: `\(name)` is missing or no text; expected the JSON key of a service account"), true)
  }

  @Test("what is no key file says so")
  func nonsense() {
    expectEqual(message(Array("-----BEGIN".utf8))?.hasPrefix("key.json: not JSON, at byte "), true)
    expectEqual(message([])?.hasPrefix("key.json: not JSON"), true)
    expectEqual(message(Array("[1]".utf8))?.hasPrefix("key.json: not a JSON object"), true)
    let user = message(KeyFixture.file { $0["type"] = "authorized_user" })
    expectEqual(user?.hasPrefix("key.json: `type` is not \"service_account\""), true)
    expectEqual(
      message(KeyFixture.file { $0["client_email"] = "driver" })?.contains("`client_email` is no e-mail address"), true)
  }

  @Test("a private key that cannot sign RS256 is refused with the reason, and nothing of it is printed")
  func keys() {
    let keys = [
      ("hush", "no PKCS#8 key in PEM"), (KeyFixture.sealed, "no PKCS#8 key in PEM"),
      (String(KeyFixture.rsa.dropLast(200)), "not a key that OpenSSL can read"),
      (KeyFixture.short, "not an RSA key of 2048 bits"), (KeyFixture.elliptic, "not an RSA key of 2048 bits"),
    ]
    for (key, why) in keys {
      expect(!key.isEmpty)
      let says = message(KeyFixture.file { $0["private_key"] = .string(key) })
      expectEqual(says?.contains("key.json: `private_key`: \(why)"), true, "\(says ?? "")")
      expect(says?.contains("hush") == false && says?.contains(key.prefix(60).dropFirst(28)) == false)
    }
  }

  @Test("a file that others may read is refused with the command that fixes it; so is what is no file")
  func modes() throws {
    let directory = try TemporaryDirectory()
    let path = try directory.write(Data(KeyFixture.file()), to: "key.json")
    func says() -> String? {
      do {
        _ = try ServiceAccount(file: path)
        return nil
      } catch {
        return error.message
      }
    }
    for mode in [0o644, 0o640, 0o620, 0o604] {
      try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
      expectEqual(says()?.hasSuffix("fix it with: chmod 600 \(path)"), true)
    }
    try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
    expectNil(says())
    try Data(repeating: 0x20, count: 70_000).write(to: URL(filePath: path))
    expectEqual(says()?.contains("longer than 65536 bytes"), true)
    try FileManager.default.removeItem(atPath: path)
    expectEqual(says(), "\(path): cannot be read: No such file or directory")
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
    expectEqual(says()?.hasPrefix("\(path): not a regular file"), true)
  }
}
