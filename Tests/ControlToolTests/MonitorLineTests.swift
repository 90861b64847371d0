// SPDX-License-Identifier: Apache-2.0
import Expectations
import JSON
import Testing

@testable import ControlTool

struct MonitorLineTests {
  @Test(
    "each reply of the daemon is shown as one readable line",
    arguments: [
      (
        #"{"event":{"driverLevel":"INFO","level":"notice","name":"online","sentence":"Online"}}"#,
        "Online"
      ),
      (
        #"{"event":{"driverCode":"SERVICE_ERROR","driverLevel":"WARNING","level":"warning","name":"offline","sentence":"a\nb"}}"#,
        "warning: a b"
      ),
      (#"{"update":{"milliseconds":120,"past":0,"result":"accepted"}}"#, "update accepted after 120 ms"),
      (
        #"{"update":{"milliseconds":120,"past":3,"result":"accepted","later":[1]}}"#,
        "update accepted after 120 ms, with 3 past positions"
      ),
      (
        #"{"update":{"milliseconds":120,"past":1,"result":"accepted"}}"#,
        "update accepted after 120 ms, with 1 past position"
      ),
      (
        #"{"update":{"driverCode":"SERVICE_ERROR","message":"HTTP 503","milliseconds":9,"past":0,"result":"unavailable","retryIn":15}}"#,
        "update failed (unavailable) after 9 ms: HTTP 503; next attempt in 15 s"
      ),
      (
        #"{"update":{"milliseconds":9,"past":0,"result":"network","retryIn":0}}"#,
        "update failed (network) after 9 ms; next attempt now"
      ),
      (
        #"{"state":{"cause":"notDue","isOfflinePending":false,"isOnline":true,"isPaused":false,"level":"good","summary":"Online; x"}}"#,
        "state: Online; x"
      ),
      (
        #"{"position":{"accuracy":2.84,"course":90.4,"latitude":48.1,"longitude":-11.50000004,"speed":7.256,"time":"2026-11-26T09:00:00.200Z"}}"#,
        "48.1, -11.5  ±2.8 m  7.3 m/s  90°  at 2026-11-26T09:00:00.200Z"
      ),
      (
        #"{"position":{"latitude":48.1234567,"longitude":11,"time":"2026-11-26T09:00:00Z"}}"#,
        "48.1234567, 11  at 2026-11-26T09:00:00Z"
      ),
    ])
  func lines(reply: String, line: String) throws {
    let parameters = try #require(JSONValue(parsing: Array(reply.utf8)).object)
    expectEqual(MonitorLine.text(parameters), line)
  }

  @Test(
    "replies of a later release that are unknown are not shown",
    arguments: ["{}", #"{"weather":{"rain":1}}"#, #"{"event":{"name":1}}"#])
  func unknown(reply: String) throws {
    expectNil(MonitorLine.text(try #require(JSONValue(parsing: Array(reply.utf8)).object)))
  }
}
