// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import Configuration

@Suite struct NearestNameTests {
  @Test(
    "slips of the hand are found, other words are not",
    arguments: [
      ("intreval", "interval"), ("Interval", "interval"), ("heart_beat", "heartbeat"), ("devise", "device"),
      ("banana", nil), ("", nil), ("x", nil),
    ] as [(String, String?)])
  func nearest(_ written: String, _ meant: String?) {
    #expect(NearestName.find(written, among: ["interval", "heartbeat", "device"]) == meant)
  }

  @Test(
    "a letter left out, added, exchanged or swapped is one slip",
    arguments: [("abc", "ac"), ("abc", "abcd"), ("abc", "abd"), ("abc", "acb")])
  func one(_ left: String, _ right: String) {
    #expect(NearestName.slips(from: Array(left.unicodeScalars), to: Array(right.unicodeScalars)) == 1)
  }
}
