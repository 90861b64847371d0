// SPDX-License-Identifier: Apache-2.0
import Expectations
import Foundation
import Glibc
import Testing

/// Token providers that fail: the message, and the delivery of positions once the provider works again.
struct TokenFaultTests {
  struct Case: CustomTestStringConvertible {
    let testDescription: String
    let fault: String
    /// Expected in the journal's message, and in the status unless it is the provider's own text.
    let says: String
    var isExternal = false
  }

  static let cases = [
    Case(testDescription: "a web page", fault: #""body": "html""#, says: "web page"),
    Case(testDescription: "an empty body", fault: #""body": "empty""#, says: "empty body"),
    Case(testDescription: "no JSON", fault: #""body": "not-json""#, says: "not a JSON object"),
    Case(testDescription: "half a response", fault: #""body": "truncated""#, says: "response broke off"),
    Case(testDescription: "200 MB", fault: #""body": "huge""#, says: "longer than the 65536 bytes"),
    Case(testDescription: "an expired token", fault: #""token": "expired""#, says: "expired"),
    Case(
      testDescription: "another vehicle's token", fault: #""token": "wrong-vehicle""#, says: "another-truck-17",
      isExternal: true),
    Case(testDescription: "a token without the claim", fault: #""token": "no-claim""#, says: "authorization"),
    Case(testDescription: "a token that is not a JWT", fault: #""token": "garbage""#, says: "JWT"),
    Case(testDescription: "401", fault: #""status": 401"#, says: "401"),
    Case(testDescription: "404", fault: #""status": 404"#, says: "404"),
    Case(testDescription: "503", fault: #""status": 503"#, says: "503"),
    Case(testDescription: "silence beyond the deadline", fault: #""delay_ms": 5000"#, says: "did not answer in time"),
  ]

  @Test(
    "a failed or invalid response of the token provider is reported, and positions are delivered after a valid one",
    arguments: cases)
  func answer(_ example: Case) throws {
    let bench = try TestBench()
    let receiver = try bench.receiver()
    if example.fault.contains("delay_ms") { bench.settings["token.deadline"] = "\"1s\"" }
    try bench.emulator?.fault("{\"target\": \"token\", \(example.fault), \"times\": 1}")
    let daemon = try bench.start(reading: receiver)
    var drive = NMEADrive()
    receiver.send(drive.next())
    try bench.wait("the status says so") {
      daemon.statuses.contains { $0.hasPrefix("No token") && (example.isExternal || $0.contains(example.says)) }
    }
    expect(!example.isExternal || !daemon.statuses.contains { $0.contains(example.says) })
    expect(daemon.log.contains { $0.contains("warning: No token: ") && $0.contains(example.says) })
    try bench.wait("an update") { bench.emulator?.accepted.count == 1 }
    try bench.wait("the status says so") { daemon.statuses.last?.hasPrefix("Online") == true }
  }

  @Test("an unreachable token provider is reported with its address, and the request is retried")
  func down() throws {
    let bench = try TestBench()
    let receiver = try bench.receiver()
    let port = try Loopback.freePort()
    bench.settings["token.url"] = "\"http://127.0.0.1:\(port)/token/delivery_driver/{vehicle_id}\""
    let daemon = try bench.start(reading: receiver)
    var drive = NMEADrive()
    receiver.send(drive.next())
    try bench.wait("the status says so") {
      daemon.statuses.contains { $0.hasPrefix("No token") && $0.contains("127.0.0.1:\(port)") }
    }
    let tokens = try Loopback.request(
      "GET", "/token/delivery_driver/truck-17", port: try #require(bench.emulator).port)
    bench.otherReadables.append(try CannedServer(answer: tokens, port: port))
    try bench.wait("an update") { bench.emulator?.accepted.count == 1 }
  }
}
