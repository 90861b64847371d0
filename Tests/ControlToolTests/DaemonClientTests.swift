// SPDX-License-Identifier: Apache-2.0
import Expectations
import Foundation
import Observability
import Release
import Testing

@testable import ControlTool

/// A daemon and a tool of different releases, as after an upgrade until the daemon is restarted.
struct DaemonClientTests {
  @Test("unknown keys of a later release's status are ignored")
  func later() throws {
    let answer = try StatusScreenTests.status([
      "weather": ["rain"], "explanation": ["reason": "notDue", "sentence": "x", "cause": ["kind": 1]],
    ])
    expect(answer.vehicle == "truck-17" && answer.explanation == Explanation("notDue", "x"))
  }

  @Test(
    "the error about an unreadable response names both releases if they differ",
    arguments: [
      (#"{"version":"9.9","isOnline":"yes"}"#, true), (#"{"version":"\#(Release.version)","isOnline":"yes"}"#, false),
      (#"{"error":"unknown command"}"#, false), (#"{"version":9}"#, false), ("<html>", false), ("", false),
    ])
  func unreadable(text: String, isOfOther: Bool) {
    let message = DaemonClient.decodingError(of: Array(text.utf8))
    expect(message.contains("release 9.9") == isOfOther && message.contains(Release.version) == isOfOther)
    expect(message.contains("cannot"))
  }
}
