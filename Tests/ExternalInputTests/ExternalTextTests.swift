// SPDX-License-Identifier: Apache-2.0
import Expectations
import ExternalInput
import Testing

struct ExternalTextTests {
  private static let examples = [
    "eyJhbGciOiJSUzI1NiJ9", "eyJhbGciOiJSUzI1NiJ9.eyJpYXQiOjF9.c2lnbmF0dXJlLWEtYi1jLWQtZTE",
    "eyJhbGciOiJSUzI1NiIsInR5cCI6IkpXVCJ9.eyJpc3MiOiJmbGVldEBwcm9qLmlhbSJ9.SflKxwRJSMeKKF2QT4fwpMeJf36POk6yJVadQssw5c",
    "ya29A0AfH6SMBx1234567890", "9f86d081884c7d659a2feaa0c55ad015A3BF", "Q2xpZW50U2VjcmV0VGhhdElzTG9uZzEyMzQ1Njc4OTA=",

    "3aa0f8d4c9be71d2f6c1",
  ]

  /// Variants of a secret, as a careless or hostile program may quote it.
  private static func disguises(_ secret: String) -> [(String, String)] {
    let half = secret.index(secret.startIndex, offsetBy: secret.count / 2)
    func pieces(_ length: Int, _ separator: String) -> String {
      var result = ""
      for (index, character) in secret.enumerated() {
        if index > 0, index % length == 0 { result += separator }
        result.append(character)
      }
      return result
    }
    return [
      ("plain", secret), ("lower", secret.lowercased()), ("upper", secret.uppercased()),
      ("slash", "\(secret[..<half])/\(secret[half...])"), ("reversed", String(secret.reversed())),
      ("pieces of 8", pieces(8, " ")), ("pieces of 6", pieces(6, "/")), ("pieces of 5", pieces(5, "\", \"")),
      ("zero width", pieces(3, "\u{200B}")), ("direction", "\u{202E}" + pieces(4, "\u{2066}")),
      ("controls", pieces(9, "\u{1B}")), ("lower pieces", pieces(10, " ").lowercased()),
    ]
  }

  @Test("a secret is masked, in upper or lower case and however it is split", arguments: examples)
  func secrets(secret: String) {
    for (name, form) in ExternalTextTests.disguises(secret) {
      for text in [form, "got \(form), sorry", "token=\(form)", "\"\(form)\"", "/\(form)/x", "\(form)\n"] {
        let shown = ExternalText(text).description
        expect(shown.contains("<redacted>"), "\(name): \(text) -> \(shown)")
        // The text that is left must not reveal more than a fragment of the secret.
        let left = shown.replacing("<redacted>", with: "").lowercased().filter { $0.isLetter || $0.isNumber }
        let extra = text.contains("sorry") ? 8 : text.hasPrefix("token=") ? 5 : text.hasSuffix("/x") ? 1 : 0
        expect(left.count <= extra + secret.count / 4, "\(name): \(text) -> \(shown)")
      }
    }
  }

  /// A project, a VIN and a UUID, as used for fleets and vehicles.
  private static let names = ["acme-fleet-3f9a2b", "WDB9066351S123456", "7f3a2c1e-90ab-4d5e-8f12-3456789abcde"]

  @Test(
    "names in the settings are shown even if they look like secrets, but not as a part of a longer word",
    arguments: names)
  func ownNames(name: String) {
    let text = "Vehicle providers/acme-fleet-3f9a2b/deliveryVehicles/\(name) not found"
    expectEqual(ExternalText(text, showing: ["acme-fleet-3f9a2b", name]).description, text)
    expectEqual(ExternalText("\(name): \(name)", showing: [name]).description, "\(name): \(name)")
    // A longer word that begins with the name is masked.
    let longer = "\(name)9f86d081884c7d65"
    expect(!ExternalText("token \(longer)", showing: [name]).description.contains("9f86d081884c7d65"))
  }

  @Test("a secret in pieces with the vehicle's name between them is masked", arguments: examples)
  func piecesBetweenNames(secret: String) {
    for name in ExternalTextTests.names {
      for length in [4, 5, 6, 8] {
        var text = ""
        for (index, character) in secret.enumerated() {
          if index > 0, index % length == 0 { text += " \(name) " }
          text.append(character)
        }
        let shown = ExternalText(text, limit: 2000, showing: [name]).description
        expect(shown.contains(name))
        let rest = [name, "<redacted>"].reduce(shown) { $0.replacing($1, with: "") }
        let left = rest.count { $0.isLetter || $0.isNumber }
        // No more is visible than without the name.
        let plain = ExternalText(text.replacing(" \(name) ", with: "  "), limit: 2000).description
        expect(
          left <= plain.replacing("<redacted>", with: "").count { $0.isLetter || $0.isNumber }, "\(text): \(shown)")
      }
    }
  }

  @Test("less than 5 % of the characters of random tokens are visible, however the tokens are quoted")
  func random() {
    var random = SystemRandomNumberGenerator()
    let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")
    var (seen, all) = (0, 0)
    for _ in 0..<300 {
      let token = String((0..<60).map { _ in alphabet.randomElement(using: &random) ?? "x" })
      for (_, form) in ExternalTextTests.disguises(token) {
        let shown = ExternalText(form).description.replacing("<redacted>", with: "")
        seen += shown.count { $0.isLetter || $0.isNumber }
        all += token.count
      }
    }
    expect(seen * 20 < all, "\(seen) of \(all)")
  }

  @Test("a very long word is masked, even if it consists of ordinary words")
  func longWords() {
    expectEqual(ExternalText("the correcthorsebatterystaple").description, "the <redacted>")
    expectEqual(ExternalText("card 4111111111111111, ID 123e4567-e89b-12d3-a456-426614174000").description.count, 30)
    expectEqual(ExternalText("THE CORRECTHORSEBATTERYSTAPLE").description, "THE <redacted>")
  }

  @Test(
    "a value that is assigned to the name of a secret is masked, however short it is",
    arguments: [
      ("run --password hunter2 now", "run --password <redacted> now"),
      ("[\"get\", \"--api-key\", \"abc12\"]", "[\"get\", \"--api-key\", \"<redacted>\"]"),
      ("a key hunter2 is wrong", "a key hunter2 is wrong"), ("--user van --verbose", "--user van --verbose"),
      ("https://box:hunter2@host.example/t", "https://<redacted>@host.example/t"),
      ("https://box@host.example:80/t", "https://box@host.example:80/t"),
      ("password=hunter2", "password=<redacted>"), ("Password: hunter2 rejected", "Password: <redacted> rejected"),
      ("db_passwd = \"correct horse\"", "db_passwd = \"<redacted>\""), ("?token=abc&x=1", "?token=<redacted>"),
      (#"{"api_key": "abc", "user": "fleet"}"#, #"{"api_key": "<redacted>", "user": "fleet"}"#),
      ("client_secret=abc;retry=3", "client_secret=<redacted>;retry=3"),
      ("Authorization: Bearer hush", "Authorization: <redacted>"),
      (String(repeating: "k7", count: 24) + "Bearer hush", "<redacted>"),
      ("basic Zm9v rejected", "basic <redacted> rejected"), ("accessToken='x.y.z'", "accessToken='<redacted>'"),
    ])
  func assigned(text: String, shown: String) {
    expectEqual(ExternalText(text).description, shown)
  }

  @Test(
    "useful text is not masked",
    arguments: [
      "PERMISSION_DENIED: Permission 'fleetengine.deliveryvehicles.updateLocation' denied",
      "/usr/lib/python3/dist-packages/google/auth/transport/requests.py: line 12",
      "vehicle truck-17 at https://tokens.example.com/token/delivery_driver/truck-17",
      "ModuleNotFoundError: No module named 'requests'", "ACCESS_TOKEN_EXPIRED 2026-11-21T12:00:00Z 1796083200000", "",
      "JWT does not contain any scopes.", "Straße, 東京", "Invalid token: it has expired",
      "Request had invalid authentication credentials. Expected OAuth 2 access token, login cookie or other valid",
      "Permission denied on resource project my-project-123 (or it may not exist).",
      "The JWT is expired at 2026-11-21T12:00:00.123Z; the clock of this server is right",
      "Fleet Engine API has not been used in project 123456789012 before or it is disabled. Enable it by visiting",
      "curl: (6) Could not resolve host: tokens.example.com",
      "JWT verification fails: JWKS doesn't have key to match kid or alg from Jwt",
      "délai dépassé à la requête", "Zugriff verweigert: Fahrzeug nicht gefunden",
    ])
  func plain(text: String) {
    expectEqual(ExternalText(text).description, text)
  }

  @Test("text becomes a single line without control, direction or invisible characters")
  func oneLine() {
    expectEqual(ExternalText("a\nb\tc\u{7F}\u{0}d\r\n").description, "a b c  d  ")
    expectEqual(ExternalText("x\u{202E}y\u{9B}31mz\u{85}w\u{2028}v\u{200B}u\u{FEFF}").description, "xy 31mz w vu")
    expectEqual(ExternalText("\u{FF41}\u{1D41A}\u{24D0}\u{E000}").description, "????")
    let stacked = "a" + String(repeating: "\u{301}", count: 1000)
    expectEqual(ExternalText(stacked).description.unicodeScalars.count, 3)
  }

  @Test("long text is truncated, and the truncation is marked")
  func shortened() {
    let words = String(repeating: "word ", count: 100_000)
    let shown = ExternalText(words).description
    expectEqual(shown.unicodeScalars.count, ExternalText.maximumLength + 1)
    expect(shown.hasSuffix("…"))
    expectEqual(ExternalText("four words in all", limit: 4).description, "four…")
    expectEqual(ExternalText([UInt8](words.utf8)).description, shown)
    // Only the first 2048 characters are examined: the beginning of a secret at their end is removed.
    let cut = ExternalText(String(repeating: ". ", count: 1022) + "eyJhbGciOiJSUzI1NiJ9", limit: 2048).description
    expect(!cut.contains("eyJ") && cut.hasSuffix("…"), "\(cut.suffix(20))")
  }

  @Test("bytes that are not UTF-8 are shown as replacement characters, and zero bytes as blanks")
  func noText() {
    expectEqual(ExternalText([0x61, 0xFF, 0x62]).description, "a\u{FFFD}b")
    expect(ExternalText([UInt8](repeating: 0, count: 3)).isBlank)
  }

  @Test("another party's text appears in the full text of a message, but not in its public text")
  func sentence() {
    let said = ExternalText("no such vehicle")
    let sentence: Sentence = "HTTP \(404): \(said)"
    let whole: Sentence = "offline: \(sentence); " + "check it"
    expectEqual(whole.text, "offline: HTTP 404: no such vehicle; check it")
    expectEqual(whole.ownText, "offline: HTTP 404: …; check it")
    expectEqual(Sentence(own: "own"), "own")
  }
}
