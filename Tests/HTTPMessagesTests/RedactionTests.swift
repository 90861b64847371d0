// SPDX-License-Identifier: Apache-2.0
import HTTPMessages
import Testing

@Suite struct RedactionTests {
  @Test(
    "what looks like a secret is not there any more",
    arguments: [
      "eyJhbGciOiJSUzI1NiJ9", "eyJhbGciOiJSUzI1NiJ9.eyJpYXQiOjF9.c2lnbmF0dXJlLWEtYi1jLWQtZTE",
      "ya29A0AfH6SMBx1234567890", "0123456789abcdef0123456789ABCDEF", "Q2xpZW50U2VjcmV0VGhhdElzTG9uZzEyMzQ1Njc4OTA=",
      "AbcdefghijklmnopqrstuvwxyzAbcdefghijklmnopqrstuvwxyz",
    ])
  func secrets(secret: String) {
    for text in [secret, "got \(secret), sorry", "token=\(secret)", "\"\(secret)\"", "/\(secret)/x", "\(secret)\n"] {
      let shown = text.withoutSecrets
      for part in secret.split(separator: ".") { #expect(!shown.contains(part), "\(shown)") }
      #expect(shown.contains("<redacted>"))
    }
  }

  @Test("what follows the name of a scheme is a secret, however short")
  func schemes() {
    #expect("Authorization: Bearer hush".withoutSecrets == "Authorization: Bearer <redacted>")
    #expect("basic Zm9v rejected".withoutSecrets == "basic <redacted> rejected")
  }

  @Test(
    "what a person needs stays",
    arguments: [
      "PERMISSION_DENIED: Permission 'fleetengine.deliveryvehicles.updateLocation' denied",
      "/usr/lib/python3/dist-packages/google/auth/transport/requests.py: line 12",
      "vehicle 123e4567-e89b-12d3-a456-426614174000 at https://tokens.example.com/token/delivery_driver/truck-17",
      "ModuleNotFoundError: No module named 'requests'", "ACCESS_TOKEN_EXPIRED 2026-11-21T12:00:00Z 1796083200000", "",
      "JWT does not contain any scopes.", "Straße, 東京",
    ])
  func plain(text: String) {
    #expect(text.withoutSecrets == text)
  }

  @Test("it is one line")
  func oneLine() {
    #expect("a\nb\tc\u{7F}\u{0}d\r\n".withoutSecrets == "a b c  d  ")
  }
}
