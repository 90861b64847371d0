// SPDX-License-Identifier: Apache-2.0
import Expectations
import HTTPMessages
import Testing

struct HTTPResponseTests {
  @Test("header names are case-insensitive, and the first header of a name is used")
  func headers() {
    let response = HTTPResponse(status: 200, headers: [("RETRY-after", "1"), ("Retry-After", "2")])
    expectEqual(response.header("retry-After"), "1")
    expectNil(response.header("date"))
  }

  @Test("all characters except the unreserved ones are percent-encoded, byte by byte")
  func percentEncoding() {
    expectEqual("truck-17_a.b~c".percentEncoded, "truck-17_a.b~c")
    expectEqual("LKW 1/ä?#%".percentEncoded, "LKW%201%2F%C3%A4%3F%23%25")
    expectEqual("".percentEncoded, "")
  }
}
