// SPDX-License-Identifier: Apache-2.0
package import ExternalInput
package import HTTPMessages
package import JSON
package import Timekeeping

/// The result of checking a token against everything that Fleet Engine requires: for a person who wants to know why the
/// token is rejected.
///
/// It contains the token's header and claims, never the token or its signature.
package struct TokenInspection: Equatable, Sendable {
  /// What Fleet Engine requires of a token, in the order of its parts.
  package enum Aspect: Sendable, CaseIterable {
    case form, signature, keyID, audience, account, times, authorization
  }

  /// A defect of the token.
  package struct Problem: ReportedProblem, Equatable, Sendable {
    /// The part of the token, or the time or claim, that is wrong.
    package enum Kind: Sendable, CaseIterable {
      case notJWT, headerUnreadable, unsigned, algorithm, keyIDMissing, signatureMissing
      case audience, account
      case issueTimeMissing, expirationMissing, lifetimeTooLong, lifetimeEmpty, notYetValid, expired
      case authorizationMissing, claimMissing, claimWrongType, otherContext, anyContext
    }

    package let kind: Kind
    /// What is wrong, and what it should be.
    package let sentence: Sentence

    /// The part of the token that it concerns.
    package var aspect: Aspect { row.aspect }
    package var advice: String? { row.advice }

    private var row: (aspect: Aspect, advice: String?) {
      switch kind {
      case .notJWT: (.form, TokenFailure.Reason.notJWT.advice)
      case .headerUnreadable, .unsigned, .algorithm, .signatureMissing:
        (.signature, "sign with the private key of a Google service account, RS256")
      case .keyIDMissing: (.keyID, "set `kid` to the key's private_key_id")
      case .audience: (.audience, "set \"aud\": \"\(TokenInspection.audience)\"")
      case .account: (.account, "set both to the service account's e-mail address")
      case .issueTimeMissing, .expirationMissing, .lifetimeTooLong, .lifetimeEmpty:
        (.times, "set `iat` to the time of signing, and `exp` to at most 3600 seconds later")
      case .notYetValid: (.times, "check the clock of the machine that signs")
      case .expired: (.times, TokenFailure.Reason.expired.advice)
      case .authorizationMissing, .claimMissing, .claimWrongType:
        (.authorization, TokenFailure.Reason.missingClaim.advice)
      case .otherContext: (.authorization, TokenFailure.Reason.wrongContext.advice)
      case .anyContext: (.authorization, "sign for this one ID")
      }
    }

    /// Whether Fleet Engine rejects the token because of this. Otherwise it is only bad practice.
    package var isFatal: Bool {
      switch kind {
      case .keyIDMissing, .anyContext: false
      default: true
      }
    }
  }

  /// `aud` of every token for Fleet Engine.
  package static let audience = "https://fleetengine.googleapis.com/"
  /// The longest lifetime that Fleet Engine accepts.
  package static let maximumLifetime = Duration.seconds(3600)
  /// The allowed clock skew: how far `iat` may be in the future.
  package static let allowedSkew = Duration.seconds(600)

  /// The JOSE header; nil if it cannot be parsed.
  package private(set) var header: JSONValue?
  /// The claims; nil if they cannot be parsed.
  package private(set) var claims: JSONValue?
  /// `exp` minus `iat`.
  package private(set) var lifetime: Duration?
  /// `exp` minus the time of the inspection; negative if it has expired. Nil if either is unknown.
  package private(set) var remaining: Duration?
  /// All problems, in the order of the token's parts.
  package private(set) var problems: [Problem] = []

  /// - Parameters:
  ///   - context: what the token should be for; nil skips that check.
  ///   - time: when the token should be valid; nil if no clock is reliable, which skips these checks.
  package init(of token: Secret, for context: AuthorizationContext?, at time: Timestamp?) {
    let parsed: JSONWebToken
    do throws(TokenFailure) {
      parsed = try JSONWebToken(token)
    } catch {
      note(.notJWT, error.sentence)
      return
    }
    header = parsed.header
    claims = parsed.claims
    inspectHeader(hasSignature: parsed.hasSignature)
    inspectParties(parsed.claims, showing: context?.names ?? [])
    let claims = TokenClaims(parsed.claims)
    inspectTimes(claims, at: time)
    inspectAuthorization(claims, parsed.claims, for: context)
  }

  /// Why Fleet Engine would reject the token, in one line; nil if it would not.
  package var rejection: String? {
    let sentences = problems.filter(\.isFatal).map(\.sentence.text)
    return sentences.isEmpty ? nil : sentences.joined(separator: "; ")
  }

  private mutating func note(_ kind: Problem.Kind, _ sentence: Sentence) {
    problems.append(Problem(kind: kind, sentence: sentence))
  }

  private mutating func inspectHeader(hasSignature: Bool) {
    guard let header else {
      return note(.headerUnreadable, "the header, the first part, is not a JSON object in base64url")
    }
    switch header.value(at: "alg")?.string {
    case "RS256"?: break
    case let none? where none.lowercased() == "none":
      note(.unsigned, "the algorithm is \"none\": it is not signed, so anyone could have made it; it must be RS256")
    case let other?:
      note(.algorithm, "the algorithm is \"\(other.shown)\", and Fleet Engine accepts only RS256")
    case nil: note(.algorithm, "the header has no `alg`; it must be RS256")
    }
    if header.value(at: "kid")?.string?.isEmpty ?? true {
      note(.keyIDMissing, "the header has no `kid`, the ID of the service account's key; Google finds the key by it")
    }
    if !hasSignature { note(.signatureMissing, "the signature, the third part, is empty") }
  }

  private mutating func inspectParties(_ claims: JSONValue, showing names: [String]) {
    let audiences =
      claims.value(at: "aud")?.string.map { [$0] } ?? claims.value(at: "aud")?.array?.compactMap(\.string) ?? []
    if audiences.isEmpty {
      note(.audience, "there is no audience (`aud`); it must be \(TokenInspection.audience)")
    } else if !audiences.contains(TokenInspection.audience) {
      let slash = audiences.contains("https://fleetengine.googleapis.com") ? ", with the slash at the end" : ""
      note(
        .audience,
        "the audience (`aud`) is \"\((audiences.first ?? "").shown)\"; it must be \(TokenInspection.audience)\(slash)")
    }
    let (issuer, subject) = (claims.value(at: "iss")?.string, claims.value(at: "sub")?.string)
    if issuer?.isEmpty ?? true || subject?.isEmpty ?? true {
      note(.account, "`iss` and `sub` must both be the e-mail address of the service account that signs")
    } else if issuer != subject {
      note(
        .account,
        "`iss` (\(ExternalText(issuer ?? "", limit: 80, showing: names))) and `sub` (\(ExternalText(subject ?? "", limit: 80, showing: names))) differ; both must be the service account that signs"
      )
    }
  }

  private mutating func inspectTimes(_ claims: TokenClaims, at time: Timestamp?) {
    if claims.issuedAt == nil { note(.issueTimeMissing, "there is no time of issue (`iat`, whole seconds since 1970)") }
    if claims.expiresAt == nil { note(.expirationMissing, "there is no expiration (`exp`, whole seconds since 1970)") }
    if let issued = claims.issuedAt, let expires = claims.expiresAt {
      let life = expires - issued
      lifetime = life
      if life <= .zero {
        note(.lifetimeEmpty, "it expires before it is issued (`exp` is not after `iat`)")
      } else if life > TokenInspection.maximumLifetime {
        note(
          .lifetimeTooLong,
          "it lives for \(life.wholeSeconds) s (`exp` less `iat`); Fleet Engine accepts at most an hour, 3600 s")
      }
    }
    guard let time else { return }
    if let expires = claims.expiresAt {
      remaining = expires - time
      if expires <= time { note(.expired, "it expired \((time - expires).wholeSeconds) s ago") }
    }
    if let issued = claims.issuedAt, issued - time > TokenInspection.allowedSkew {
      note(
        .notYetValid,
        "it is issued \((issued - time).wholeSeconds) s in the future; Fleet Engine accepts up to 600 s"
      )
    }
  }

  private mutating func inspectAuthorization(
    _ claims: TokenClaims, _ all: JSONValue, for context: AuthorizationContext?
  ) {
    guard let authorization = claims.authorization else {
      let claim = context.map { "{\"\($0.scope.claim)\": \"\($0.scope.id)\"}" } ?? "{\"deliveryvehicleid\": \"…\"}"
      return note(
        .authorizationMissing,
        all.value(at: "authorization") == nil
          ? "there is no `authorization` claim; it must be \(claim)"
          : "the `authorization` claim is not an object; it must be \(claim)")
    }
    if let tasks = authorization["taskids"], tasks.array == nil {
      note(.claimWrongType, "`taskids` is not an array, as in [\"*\"]")
    }
    guard let scope = context?.scope else { return }
    switch claims.permission(for: scope) {
    case .granted: break
    case .grantedForAll:
      note(
        .anyContext,
        "it is for every \(scope.noun) (\"*\"): with a token stolen from this box, anyone can act for the whole fleet; it should be for \"\(scope.id)\""
      )
    case .otherService(let mistake): note(.claimMissing, "it \(mistake)")
    case .missing:
      let names = authorization.keys.sorted().prefix(6).map { "`\($0.shown)`" }.joined(separator: ", ")
      let has: Sentence = names.isEmpty ? "is empty" : "has \(ExternalText(names)) only"
      note(.claimMissing, "the `authorization` claim \(has); it must have `\(scope.claim)`: \"\(scope.id)\"")
    case .otherID(let id):
      note(.otherContext, "it is for \(scope.noun) \"\(id.shown)\", and not for \"\(scope.id)\"")
    }
  }
}

extension String {
  /// Limited in length, and on one line, for use in a sentence.
  fileprivate var shown: ExternalText { ExternalText(self, limit: 80) }
}
