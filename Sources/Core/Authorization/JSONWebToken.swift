// SPDX-License-Identifier: Apache-2.0
import ExternalInput
import FoundationEssentials
import HTTPMessages

/// The parts of a JWT in its compact form (RFC 7519, RFC 7515 section 7.1). The signature is not verified: only Fleet
/// Engine has the key.
struct JSONWebToken {
  /// The JOSE header; nil if it is not a JSON object in base64url.
  let header: JSONValue?
  /// A JSON object.
  let claims: JSONValue
  let hasSignature: Bool

  /// The maximum length of a token, in bytes. Google's have about 900.
  static let maximumSize = 16_384

  /// - Throws: `TokenFailure` with reason `notJWT` when it does not have three parts, or its payload is not a JSON object.
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
        "the token holds a line break, a space or another character that no JWT has: only base64url and dots may be in it"
      )
    }
    let parts = text.split(separator: ".", omittingEmptySubsequences: false)
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
    guard let bytes = base64URL(part), let value = try? JSONValue(parsing: bytes), value.object != nil else {
      return nil
    }
    return value
  }

  private static func base64URL(_ text: Substring) -> [UInt8]? {
    var standard = text.utf8.map { byte -> UInt8 in
      switch byte {
      case UInt8(ascii: "-"): UInt8(ascii: "+")
      case UInt8(ascii: "_"): UInt8(ascii: "/")
      default: byte
      }
    }
    // The decoder requires the padding that RFC 7515 omits.
    while standard.count % 4 != 0 { standard.append(UInt8(ascii: "=")) }
    return Data(base64Encoded: Data(standard)).map { [UInt8]($0) }
  }
}
