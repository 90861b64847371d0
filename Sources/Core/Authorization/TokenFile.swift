// SPDX-License-Identifier: Apache-2.0
import ExternalInput
package import HTTPMessages
import JSON

/// A file in which another program keeps a current token: the token itself, or JSON that contains it.
package struct TokenFile: Equatable, Sendable {
  /// Absolute; the file may not exist yet.
  package var path: String
  /// The format, if the file is JSON.
  package var format: TokenResponseFormat

  package init(path: String, format: TokenResponseFormat) {
    self.path = path
    self.format = format
  }

  /// The result of reading the file.
  package enum Outcome: Equatable, Sendable {
    /// The file's text, and the time since it was written.
    case text(Secret, age: Duration)
    /// Why it cannot be read: a name for metrics, and a sentence with the path and the remedy.
    case unreadable(reason: String, String)
  }

  /// The token in the file, not validated.
  ///
  /// - Throws: `TokenFailure` that names the file.
  func secret(
    in outcome: Outcome
  ) throws(TokenFailure) -> (Secret, json: JSONValue?, response: TokenResponseFormat.Response) {
    switch outcome {
    case .unreadable(let reason, let why): throw TokenFailure(.file(reason), Sentence(own: why))
    case .text(let text, let age):
      let bytes = [UInt8](text.reveal().utf8)
      var response = TokenResponseFormat.Response(body: bytes, origin: "the token file \(path)")
      response.age = max(age, .zero)
      response.isStored = true
      // A compact JWT starts with the base64 of `{"`, so never with a brace.
      guard bytes.first(where: { $0 > 32 }) != UInt8(ascii: "{") else {
        let (secret, json) = try format.secret(in: response)
        return (secret, json, response)
      }
      let words = text.reveal().split(whereSeparator: \.isWhitespace)
      guard let first = words.first else { throw TokenFailure(.missingData, "\(response.origin) is empty") }
      let secret = Secret(String(first))
      guard words.count == 1, (try? JSONWebToken(secret)) != nil else {
        throw TokenFailure(
          .notJWT,
          "\(response.origin) contains no complete token: it is half-written, or neither one JWT nor a JSON object")
      }
      return (secret, nil, response)
    }
  }
}
