// SPDX-License-Identifier: Apache-2.0
import Expectations
import HTTPMessages
import Testing

@testable import Configuration

struct WebAddressTests {
  @Test(
    "loopback addresses are recognized",
    arguments: [
      ("http://127.0.0.1", true), ("http://127.255.0.9:80/x", true), ("http://[::1]:8080", true),
      ("http://LOCALHOST", true),
      ("http://127.0.0.1.example.com", false), ("http://localhost.example.com", false), ("http://128.0.0.1", false),
      ("http://127.1", true), ("http://127.0.0.01", true), ("http://127.0.0.256", false), ("http://[::2]", false),
      ("http://0.0.0.0", false), ("http://localhost.", false),
    ])
  func loopback(_ text: String, _ expected: Bool) throws {
    try expectEqual(WebAddress.parse(text, schemes: ["http"]).isLoopback, expected)
  }

  @Test(
    "an invalid URL, or one with a user name or another scheme, is rejected",
    arguments: [
      "http://localhost@example.com", "http://localhost\\@example.com", "http://localhost#@example.com", "http://",
      "http:/localhost", "http:///localhost", "http://a b", "http://ä", "http://[::1", "http://[::1]x", "http://[]",
      "http://a:b",
      "http://a:0",
      "://a", "http://{x}", "http://a:1:2", "http://\u{0}", "ftp://a",
    ])
  func refused(_ text: String) {
    #expect(throws: ValueProblem.self) { try WebAddress.parse(text, schemes: ["http"]) }
  }

  @Test(
    "an IPv6 address without brackets is reported as such",
    arguments: ["http://::1:8700", "http://fd00::1/x", "http://::1"])
  func brackets(_ text: String) {
    let problem = #expect(throws: ValueProblem.self) { try WebAddress.parse(text, schemes: ["http"]) }
    expectEqual(problem?.message.contains("has an IPv6 address without brackets; write"), true)
    expectEqual(problem?.message.contains("/x"), false)
  }

  @Test("an origin is lower-case and has no path")
  func origin() throws {
    try expectEqual(
      WebAddress.parse("HTTPS://Example.COM:8443/a?b", schemes: ["https"]).origin, "https://example.com:8443")
    try expectEqual(WebAddress.parse("https://[::1]:1", schemes: ["https"]).origin, "https://[::1]:1")
  }
}
