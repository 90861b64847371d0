// SPDX-License-Identifier: Apache-2.0
import Expectations
import HTTPMessages
import Testing
import Timekeeping

struct RetryAfterTests {
  private static let date = "Sat, 21 Nov 2026 08:30:00 GMT"

  @Test(
    "Retry-After is in seconds, or a date relative to the response's own date, and is limited to 15 min",
    arguments: [
      ("0", nil, 0), ("120", nil, 120), ("86400", nil, 900), ("99999999999999999", nil, 900),
      ("Sat, 21 Nov 2026 08:31:30 GMT", date, 90), ("Sat, 21 Nov 2026 08:00:00 GMT", date, 0),
      ("Sun, 22 Nov 2026 08:30:00 GMT", date, 900),
    ] as [(String, String?, Int64)])
  func delay(value: String, date: String?, seconds: Int64) {
    expectEqual(RetryAfter.delay(value, date: date), .seconds(seconds))
  }

  @Test(
    "an unreadable Retry-After, or a date in a response without its own date, is ignored",
    arguments: ["", "-1", "soon", "1.5", "0x10", "Sat, 21 Nov 2026 08:31:30 GMT"])
  func unreadable(value: String) {
    expectNil(RetryAfter.delay(value, date: nil))
  }
}
