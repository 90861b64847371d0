// SPDX-License-Identifier: Apache-2.0
import Foundation
import Glibc
import Testing

@Suite struct SecrecyTests {
  @Test("a whole run at debug level tells neither token nor credential nor coordinates")
  func secrecy() throws {
    let bench = try TestBench()
    let emulator = try #require(bench.emulator)
    let receiver = try bench.receiver()
    let answer = try Loopback.request("GET", "/token/delivery_driver/truck-17", port: emulator.port)
    let json = try JSONSerialization.jsonObject(with: Data(answer.utf8)) as? [String: Any]
    let token = try #require(json?["token"] as? String)
    let provider = try CannedServer(answer: answer)
    bench.servers.append(provider)
    let credential = "Bearer hush-hush-4711"
    mkdir(bench.directory("credentials"), 0o700)
    try bench.directory.write(credential + "\n", to: "credentials/token-provider")
    bench.settings["token.url"] = "\"http://127.0.0.1:\(provider.port)/token/{vehicle_id}\""
    bench.settings["token.headers"] = "{ Authorization = { credential = \"token-provider\" } }"
    bench.settings["log.level"] = "\"debug\""
    let daemon = try bench.start(
      reading: receiver, environment: ["CREDENTIALS_DIRECTORY": bench.directory("credentials")])

    var drive = Drive()
    drive.period = 0.5
    receiver.send(drive.next())
    try bench.wait("an update") { emulator.accepted.count == 1 }
    #expect(provider.requests.allSatisfy { $0.contains("\r\nAuthorization: \(credential)\r\n") })
    // What goes wrong talks most.
    for fault in [#""status": 400"#, #""reset": true"#, #""body": "html""#] {
      try emulator.fault("{\"target\": \"update\", \(fault), \"times\": 1}")
    }
    try emulator.fault(
      "{\"target\": \"update\", \"status\": 401, \"times\": 2, \"message\": \"Request had invalid credentials.\"}")
    receiver.send(drive.next())
    try bench.wait("a failure") { daemon.shows("Offline") }
    daemon.process.signal(SIGHUP)
    try bench.wait("a reload") { daemon.notifications.count(of: "READY") == 2 }
    receiver.send(drive.next())
    try bench.wait("another request") { emulator.updates.count >= 3 }
    daemon.process.signal(SIGTERM)
    #expect(try bench.exitCode() == 0)

    let said = [daemon.process.errors.text, daemon.process.output.text, daemon.story].joined(separator: "\n")
    #expect(said.contains("debug: "))
    let secrets =
      [token, credential, "hush-hush"] + token.split(separator: ".").map(String.init) + ["48.1", "11.5"]
    for secret in secrets { #expect(!said.contains(secret)) }
    let arguments = try ChildProcess(
      "fleet-locationd", ["--config", bench.directory("fleet-locationd.toml"), "--check"])
    #expect(try arguments.finish() == 78, "without CREDENTIALS_DIRECTORY")
  }
}
