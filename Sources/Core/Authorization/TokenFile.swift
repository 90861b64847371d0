// SPDX-License-Identifier: Apache-2.0
package import HTTPMessages
import Timekeeping

/// A file in which another program keeps a token up to date: the token itself, or JSON with it.
package struct TokenFile: Equatable, Sendable {
  package var path: String
  /// How JSON is read.
  package var format: TokenResponseFormat

  package init(path: String, format: TokenResponseFormat) {
    self.path = path
    self.format = format
  }

  /// What came of reading it.
  package enum Outcome: Equatable, Sendable {
    /// Its text, and how long ago it was written.
    case text(Secret, age: Duration)
    /// Why it cannot be read: a word for metrics, and a sentence with its path and what to do.
    case unreadable(reason: String, String)
  }

  /// - Throws: `TokenFailure` that names the file.
  func token(
    from outcome: Outcome, for context: AuthorizationContext, at now: Moment, buildDate: Timestamp
  ) throws(TokenFailure) -> AccessToken {
    switch outcome {
    case .unreadable(let reason, let why): throw TokenFailure(.file(reason), why)
    case .text(let text, let age):
      let bytes = [UInt8](text.reveal().utf8)
      var answer = TokenResponseFormat.Answer(body: bytes, party: "the token file \(path)")
      answer.age = max(age, .zero)
      answer.isStored = true
      // A token in its compact form begins with the letters of `{"`.
      guard bytes.first(where: { $0 > 32 }) != UInt8(ascii: "{") else {
        return try format.token(from: answer, for: context, at: now, buildDate: buildDate)
      }
      let token = text.reveal().split(whereSeparator: \.isWhitespace)
      guard token.count == 1, let token = token.first else {
        throw TokenFailure(
          token.isEmpty ? .missingData : .notJWT,
          token.isEmpty
            ? "\(answer.party) is empty" : "\(answer.party) holds neither one token alone nor a JSON object")
      }
      do throws(TokenFailure) {
        return try format.token(Secret(String(token)), from: answer, for: context, at: now, buildDate: buildDate)
      } catch {
        guard error.reason == .notJWT else { throw error }
        throw TokenFailure(.notJWT, "\(answer.party) holds no whole token: it is half-written, or no JWT")
      }
    }
  }
}
