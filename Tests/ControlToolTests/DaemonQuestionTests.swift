// SPDX-License-Identifier: Apache-2.0
import Foundation
import Observability
import Release
import Testing

@testable import ControlTool

/// Daemon and tool are of two releases while an upgrade waits for a restart.
@Suite struct DaemonQuestionTests {
  @Test("what a later release adds to the status is passed over")
  func later() throws {
    let answer = try StatusScreenTests.status([
      "weather": ["rain"], "explanation": ["reason": "notDue", "sentence": "x", "cause": ["kind": 1]],
    ])
    #expect(answer.vehicle == "truck-17" && answer.explanation == Explanation("notDue", "x"))
  }

  @Test(
    "an answer that cannot be read says so, and names both releases where they differ",
    arguments: [
      (#"{"version":"9.9","isOnline":"yes"}"#, true), (#"{"version":"\#(Release.version)","isOnline":"yes"}"#, false),
      (#"{"error":"unknown command"}"#, false), (#"{"version":9}"#, false), ("<html>", false), ("", false),
    ])
  func unreadable(text: String, isOfOther: Bool) {
    let complaint = DaemonQuestion.complaint(about: Array(text.utf8))
    #expect(complaint.contains("release 9.9") == isOfOther && complaint.contains(Release.version) == isOfOther)
    #expect(complaint.contains("cannot"))
  }
}
