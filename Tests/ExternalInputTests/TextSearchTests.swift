// SPDX-License-Identifier: Apache-2.0
import Expectations
import ExternalInput
import Testing

struct TextSearchTests {
  @Test(
    "a substring is found at any position",
    arguments: [("mask", "mask"), ("update_mask is", "mask"), ("mamask", "mask"), ("aab", "ab"), ("über", "ber")])
  func found(text: String, part: String) {
    expect(text.contains(text: part))
  }

  @Test("a text is split at the first occurrence of a separator")
  func parts() {
    let parts = "no source: /dev/gps0: silent".parts(around: ": ")
    expect(parts?.before == "no source" && parts?.after == "/dev/gps0: silent")
    expectEqual("aaab".parts(around: "ab").map { "\($0.before)|\($0.after)" }, "aa|")
    expectNil("no".parts(around: ": "))
  }

  @Test(
    "a partial match, or one in another case, is not a match",
    arguments: [("", "a"), ("mas", "mask"), ("m ask", "mask"), ("Mask", "mask")])
  func notFound(text: String, part: String) {
    expect(!text.contains(text: part))
  }
}
