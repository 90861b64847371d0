// SPDX-License-Identifier: Apache-2.0
import ExternalInput
import HTTPMessages
import JSON

/// The parts of a JWT in its compact form (RFC 7519, RFC 7515 section 7.1). The signature is not verified: only Fleet
/// Engine has the key.
struct JSONWebToken {
  /// The JOSE header; nil if it is not a JSON object in base64url.
  let header: JSONValue?
  /// A JSON object.
  let claims: JSONValue
  let hasSignature: Bool

  /// The maximum length of a token, in bytes. Google's tokens have about 900.
  static let maximumSize = 16_384

  /// - Throws: `TokenFailure` with reason `notJWT` if it does not have three parts, or its payload is not a JSON
  ///   object.
  init(_ token: Secret) throws(TokenFailure) {
    let text = token.reveal()
    guard text.utf8.count <= JSONWebToken.maximumSize else {
      throw TokenFailure(
        .notJWT, "the token has \(text.utf8.count) bytes, which no header carries; a JWT for Fleet Engine has about 900"
      )
    }
    guard text.utf8.allSatisfy(JSONWebToken.isTokenByte) else {
      throw TokenFailure(
        .notJWT,
        "the token contains a line break, a space or another character that no JWT has: only base64url and dots may be in it"
      )
    }
    let parts = text.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false).map { Substring($0) }
    guard parts.count == 3, let claims = JSONWebToken.object(parts[1]) else {
      throw TokenFailure(
        .notJWT, "the token is not a JWT (three base64url parts joined by dots, a JSON object in the second)")
    }
    header = JSONWebToken.object(parts[0])
    self.claims = claims
    hasSignature = !parts[2].isEmpty
  }

  /// Base64url, optional padding, and the dots between the parts.
  private static func isTokenByte(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "="), UInt8(ascii: "."):
      true
    default: false
    }
  }

  private static func object(_ part: Substring) -> JSONValue? {
    guard let bytes = decodeBase64URL(part), let value = try? JSONValue(parsing: bytes), value.object != nil else {
      return nil
    }
    return value
  }

  /// Base64url (RFC 4648 section 5) or base64 (section 4), with or without padding; nil for anything else. Unused bits
  /// of the last character are ignored.
  static func decodeBase64URL(_ text: Substring) -> [UInt8]? {
    let digits = text.utf8.prefix { $0 != UInt8(ascii: "=") }
    let padding = text.utf8.count - digits.count
    guard digits.count % 4 != 1, padding == 0 || padding < 3 && text.utf8.count % 4 == 0,
      text.utf8.suffix(padding).allSatisfy({ $0 == UInt8(ascii: "=") })
    else { return nil }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(digits.count * 3 / 4)
    var (pending, bits): (UInt32, UInt32) = (0, 0)
    for digit in digits {
      guard let value = base64URLValue(digit) else { return nil }
      pending = (pending << 6 | UInt32(value)) & 0xFFFF
      bits += 6
      if bits >= 8 {
        bits -= 8
        bytes.append(UInt8(truncatingIfNeeded: pending >> bits))
      }
    }
    return bytes
  }

  /// The value of a base64 digit, in either alphabet.
  private static func base64URLValue(_ digit: UInt8) -> UInt8? {
    switch digit {
    case UInt8(ascii: "A")...UInt8(ascii: "Z"): digit - UInt8(ascii: "A")
    case UInt8(ascii: "a")...UInt8(ascii: "z"): digit - UInt8(ascii: "a") + 26
    case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0") + 52
    case UInt8(ascii: "-"), UInt8(ascii: "+"): 62
    case UInt8(ascii: "_"), UInt8(ascii: "/"): 63
    default: nil
    }
  }
}
