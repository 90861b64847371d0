// SPDX-License-Identifier: Apache-2.0
import Expectations
import HTTPMessages
import Testing
import Timekeeping

struct HTTPOutcomeTests {
  @Test(
    "a response's time is its Date plus its Age; with an unreadable Age there is no time",
    arguments: [(nil, 0), ("0", 0), ("1800", 1800), ("-1", nil), ("soon", nil), ("99999999999999999999", nil)]
      as [(String?, Int?)])
  func date(age: String?, seconds: Int?) {
    var response = HTTPResponse(status: 200, headers: [("Date", "Tue, 01 Dec 2026 00:00:00 GMT")])
    if let age { response.headers.append(("age", age)) }
    expectEqual(response.date, seconds.map { Timestamp(seconds: 1_796_083_200) + .seconds($0) })
    expectEqual(HTTPOutcome.response(response).date, response.date)
  }
}
