// SPDX-License-Identifier: Apache-2.0
import Authorization
import Expectations
import HTTPMessages
import LocationDaemon
import Testing

@testable import Diagnosis

struct TokenDescriptionTests {
  @Test("a valid token is shown with its header, claims, times and lifetime, and no problem")
  func good() throws {
    let description = TokenDescription(try TokenFixture.answer(), revealsSecrets: false)
    expect(description.isUsable)
    expectEqual(
      description.text,
      """
      Header
        alg           "RS256"
        kid           "key-1"
      Claims
        aud           "https://fleetengine.googleapis.com/"
        authorization {"deliveryvehicleid": "truck-17"}
        exp           1796086800  (2026-12-01T01:00:00Z)
        iat           1796083200  (2026-12-01T00:00:00Z)
        iss           "a@b"
        sub           "a@b"
      Signature
        3 bytes; only Google can verify it; --reveal shows it
      Lifetime
        `exp` is in 60 min
        the daemon would use it for 60 min (its expiration minus the response's Date)
      Problems
        none

      """)
  }

  @Test("the token and its signature are shown only on request, and control sequences are never shown")
  func secrets() throws {
    let inner = TokenFixture.token()
    let token = TokenFixture.token(["note": "\"\\u001b[2J\"", "inner": "\"\(inner)\""], signature: "c2lnbmF0dXJl")
    let closed = TokenDescription(try TokenFixture.answer(token), revealsSecrets: false).text
    expect(!closed.contains("c2lnbmF0dXJl") && !closed.contains("eyJ"))
    expect(closed.contains("<redacted>"))
    expect(closed.contains(#""\u001b[2J""#) && !closed.contains("\u{1B}"))
    let open = TokenDescription(try TokenFixture.answer(token), revealsSecrets: true).text
    expect(open.contains("Signature\n  c2lnbmF0dXJl\n"))
    expect(open.hasSuffix("Token\n  \(token)\n"))
  }

  @Test("every problem is shown once, with a mark if Fleet Engine accepts it, and a missing token is explained")
  func problems() throws {
    let token = TokenFixture.token(
      header: #"{"alg":"none"}"#, ["authorization": #"{"deliveryvehicleid":"*"}"#], signature: "")
    let description = TokenDescription(try TokenFixture.answer(token), revealsSecrets: false)
    expect(!description.isUsable)
    expect(description.text.contains("  the algorithm is \"none\""))
    expect(description.text.contains("for \"truck-17\" (Fleet Engine accepts it nevertheless)"))
    expect(description.text.contains("Signature\n  none\n"))
    let marked = TokenDescription(
      try TokenFixture.answer(TokenFixture.token(header: #"{"alg":"RS256"}"#)), revealsSecrets: false)
    expect(marked.isUsable)
    let refused = TokenDescription(
      try TokenFixture.answer(.http(.response(HTTPResponse(status: 404)))), revealsSecrets: true)
    expect(!refused.isUsable)
    expect(
      refused.text.hasPrefix(
        "Lifetime\n  the daemon would not use it\nProblems\n  the token provider answered HTTP 404"))
  }

  @Test("a problem of the response is shown even if the token itself is valid")
  func answer() throws {
    let description = TokenDescription(try TokenFixture.answer(end: nil), revealsSecrets: false)
    expect(!description.isUsable)
    expect(description.text.contains("Problems\n  the token provider gave nothing at `end`"))
  }
}
