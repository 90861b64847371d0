// SPDX-License-Identifier: Apache-2.0
import Expectations
import Testing
import Timekeeping

struct DurationTests {
  @Test(
    "a duration is shown in the largest unit of which it has at least two, or in seconds, rounded down",
    arguments: [
      (-5, "0 s"), (0, "0 s"), (119, "119 s"), (120, "2 min"), (7199, "119 min"), (7200, "2 h"), (172_799, "47 h"),
      (172_800, "2 days"), (Int64.max, "106751991167300 days"),
    ])
  func humanReadable(seconds: Int64, text: String) {
    expectEqual(Duration.seconds(seconds).humanReadable, text)
  }

  @Test("a fraction of a second is not rounded up")
  func fraction() {
    expectEqual(Duration.milliseconds(119_999).humanReadable, "119 s")
  }
}
