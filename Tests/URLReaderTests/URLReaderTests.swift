// SPDX-License-Identifier: Apache-2.0
import Expectations
import HTTPMessages
import SystemCalls
import Testing
import URLReader

struct URLReaderTests {
  @Test("a URL is split into its parts, in lower case where case does not matter")
  func parts() throws {
    try expectEqual(
      WebAddress(reading: "HTTPS://Example.COM:8443/A?b={id}"),
      WebAddress(scheme: "https", host: "example.com", port: 8443, path: "/A?b={id}"))
    try expectEqual(WebAddress(reading: "socks5h://proxy"), WebAddress(scheme: "socks5h", host: "proxy"))
    try expectEqual(WebAddress(reading: "http://[0:0:0:0:0:0:0:1]:80/").host, "::1")
    expect(try WebAddress(reading: "https://user@h/").hasCredentials)
    expect(try WebAddress(reading: "https://:pass@h/").hasCredentials)
  }

  @Test("an IPv4 address is the one that libcurl will connect to, however it is written")
  func addresses() throws {
    for text in ["http://127.1", "http://2130706433", "http://0x7f.0.0.1", "http://127.0.0.01"] {
      try expectEqual(WebAddress(reading: text).host, "127.0.0.1", "\(text)")
    }
    try expectEqual(WebAddress(reading: "http://127.0.0.256").host, "127.0.0.256")
  }

  @Test(
    "an invalid URL is rejected with a code for its mistake, and a message that does not contain the URL",
    arguments: [
      ("host.example.com", "noScheme"), ("://h", "noScheme"), ("mailto:x", "noScheme"), ("", "noScheme"),
      ("http:/h", "noScheme"), ("http://", "badHost"), ("http:///h", "badHost"), ("http://{x}", "badHost"),
      ("http://[::1", "badHost"), ("http://a b", "badHost"),
      ("http://a:b", "badPort"), ("http://a:0", "badPort"), ("http://a:99999", "badPort"), ("http://a:1:2", "badPort"),
      ("http://a/b c", "malformed"),
    ])
  func problems(_ text: String, _ code: String) {
    let error = #expect(throws: URLError.self) { try WebAddress(reading: text) }
    expectEqual(error?.code.rawValue, code)
    expect(text.isEmpty || error?.message.contains(text) == false)
  }
}
