// SPDX-License-Identifier: Apache-2.0
import Expectations
import HTTPMessages
import Testing

struct SecretTests {
  private let secret = Secret("hunter2")

  private func dumped(_ value: some Any) -> String {
    var text = ""
    dump(value, to: &text)
    return text
  }

  @Test("a secret is never printed, alone or in another value")
  func neverPrints() {
    let header = HTTPRequest.Header("Authorization", .secret(prefix: "Bearer ", secret))
    let request = HTTPRequest(method: .get, url: "https://example.com", headers: [header])
    let holders: [Any] = [
      secret, Optional(secret) as Any, [secret], ["key": secret], (1, secret), header, header.value, request,
    ]
    for holder in holders {
      expect(!"\(holder)".contains("hunter2"))
      expect(!String(describing: holder).contains("hunter2"))
      expect(!String(reflecting: holder).contains("hunter2"))
      expect(!dumped(holder).contains("hunter2"))
    }
    expectEqual("\(secret)", "<redacted>")
    expectEqual(secret.debugDescription, "<redacted>")
    expect(Mirror(reflecting: secret).children.isEmpty)
  }

  @Test("a secret can be neither encoded nor decoded, so no encoded structure contains one")
  func neverEncodes() {
    expect(!(Secret.self is any Encodable.Type))
    expect(!(Secret.self is any Decodable.Type))
    expect(!(HTTPRequest.self is any Encodable.Type))
    expect(!((secret as Any) is any LosslessStringConvertible))
  }

  @Test("reveal() returns the text of a secret; secrets can be compared, and tested for emptiness")
  func reveal() {
    expectEqual(secret.reveal(), "hunter2")
    expect(!secret.isEmpty)
    expect(Secret("").isEmpty)
    expectEqual(secret, Secret("hunter2"))
    expect(secret != Secret("hunter3"))
  }
}
