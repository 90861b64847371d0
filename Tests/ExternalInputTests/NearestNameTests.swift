// SPDX-License-Identifier: Apache-2.0
import Expectations
import ExternalInput
import Testing

struct NearestNameTests {
  @Test(
    "misspellings are recognized, other words are not",
    arguments: [
      ("intreval", "interval"), ("Interval", "interval"), ("heart_beat", "heartbeat"), ("devise", "device"),
      ("devcie2", "device"), ("dev", "device"), ("dxxx", nil),
      ("banana", nil), ("", nil), ("x", nil),
    ] as [(String, String?)])
  func nearest(_ written: String, _ meant: String?) {
    expectEqual(NearestName.find(written, among: ["interval", "heartbeat", "device"]), meant)
  }

  @Test(
    "a word of four letters with two edits is a misspelling only if its first letter is right, and one of three never")
  func short() {
    expectEqual(NearestName.find("bued", among: ["type", "baud"]), "baud")
    expectNil(NearestName.find("qued", among: ["type", "baud"]))
    expectNil(NearestName.find("bue", among: ["type", "baud"]))
  }

  @Test(
    "a letter omitted, added, replaced or swapped is one edit",
    arguments: [("abc", "ac"), ("abc", "abcd"), ("abc", "abd"), ("abc", "acb")])
  func one(_ left: String, _ right: String) {
    expectEqual(NearestName.distance(from: Array(left.unicodeScalars), to: Array(right.unicodeScalars)), 1)
  }
}
