// SPDX-License-Identifier: Apache-2.0
import Expectations
import Glibc
import Testing

/// Tokens that Fleet Engine rejects, and the messages about them in the journal; also `token.proxy`.
struct TokenRefusalTests {
  struct Flaw: CustomTestStringConvertible {
    let testDescription: String
    /// The category of the rejection, expected in the journal.
    let category: String
    /// Expected in the message about fresh tokens.
    let says: String
  }

  @Test(
    "when a fresh token is rejected, the journal says what is wrong with it",
    arguments: [
      Flaw(testDescription: "not-yet-valid", category: "clock", says: "s in the future"),
      Flaw(testDescription: "long-life", category: "clock", says: "it lives for 7200 s"),
      Flaw(
        testDescription: "wrong-audience", category: "denied", says: "the audience (`aud`) is \"https://example.com/\""),
      Flaw(testDescription: "alg-none", category: "denied", says: "it is not signed"),
      Flaw(
        testDescription: "bad-signature", category: "unauthenticated",
        says: "Google does not accept the token's signature"),
    ])
  func flaw(_ flaw: Flaw) throws {
    let bench = try TestBench()
    let emulator = try #require(bench.emulator)
    let receiver = try bench.receiver()
    try emulator.fault("{\"target\": \"token\", \"token\": \"\(flaw.testDescription)\", \"times\": 100}")
    let daemon = try bench.start(reading: receiver)
    var drive = NMEADrive()
    receiver.send(drive.next())
    try bench.wait("it is offline") { daemon.log.contains { $0.contains("Offline (\(flaw.category))") } }
    // The emulator's tokens change once a second: wait for a different one.
    try bench.wait("fresh tokens are refused") {
      receiver.send(drive.next())
      return daemon.log.contains {
        $0.contains("Fleet Engine rejects fresh tokens") && $0.contains(flaw.says)
      }
    }
    // After a 403 a compact update is compared with a plain one, at most once an hour.
    expect(emulator.updates.count <= (flaw.category == "denied" ? 4 : 3))
  }

  @Test("after a change of Fleet Engine's signing key, one token is fetched, and the daemon is offline at most once")
  func rotatedKey() throws {
    let bench = try TestBench()
    let port = try #require(bench.emulator).port
    let receiver = try bench.receiver()
    let daemon = try bench.start(reading: receiver)
    var drive = NMEADrive()
    receiver.send(drive.next())
    try bench.wait("an update") { bench.emulator?.accepted.count == 1 }
    // The new emulator has another key.
    try bench.emulator?.stop()
    bench.emulator = try Emulator(in: bench.directory, port: port)
    let before = bench.emulator?.updates.count ?? 0
    try bench.wait("an update with the new key", within: .seconds(30)) {
      receiver.send(drive.next())
      return (bench.emulator?.updates.dropFirst(before).contains { $0.isAccepted }) == true
    }
    // The emulator's record may be read before the daemon's log.
    func tokens() -> Int { daemon.log.count { $0.contains("Token obtained") || $0.contains("Token renewed") } }
    try bench.wait("the second token's line") { tokens() >= 2 }
    expectEqual(tokens(), 2)
    expect(daemon.log.count { $0.contains("Offline (unauthenticated)") } <= 1)
    expect(!daemon.logs("rejects fresh tokens"))
  }

  @Test("the token provider is reached through token.proxy")
  func proxy() throws {
    let bench = try TestBench()
    let answer = try Loopback.request(
      "GET", "/token/delivery_driver/truck-17", port: try #require(bench.emulator).port)
    let proxy = try CannedServer(answer: answer)
    bench.otherReadables.append(proxy)
    let unusedPort = try Loopback.freePort()
    bench.settings["token.url"] = "\"http://127.0.0.1:\(unusedPort)/token/{vehicle_id}\""
    bench.settings["token.proxy"] = "\"http://127.0.0.1:\(proxy.port)\""
    let receiver = try bench.receiver()
    try bench.start(reading: receiver)
    var drive = NMEADrive()
    receiver.send(drive.next())
    try bench.wait("an update") { bench.emulator?.accepted.count == 1 }
    expectEqual(proxy.requests.first?.hasPrefix("GET http://127.0.0.1:\(unusedPort)/token/truck-17 HTTP/1.1\r\n"), true)
  }
}
