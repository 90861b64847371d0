// SPDX-License-Identifier: Apache-2.0
package import Authorization
import ExternalInput
import HTTPMessages
package import LocationDaemon
import Timekeeping

/// A token provider held against all that a vehicle and Fleet Engine ask of one: a line for each thing that it must do.
package struct TokenConformance {
  /// What it was asked, and what came.
  package var first: TokenInquiry.Answer
  /// To the same request again; nil when it was not asked.
  package var second: TokenInquiry.Answer?
  /// To somebody with wrong credentials; nil when the settings name none.
  package var stranger: TokenInquiry.Answer?

  private let provider: TokenProvider
  private let hasCertificate: Bool
  private let context: AuthorizationContext

  /// - Parameters:
  ///   - provider: as the settings have it.
  ///   - hasCertificate: whether the box shows one to it.
  package init(
    _ provider: TokenProvider, hasCertificate: Bool, for context: AuthorizationContext, first: TokenInquiry.Answer
  ) {
    self.provider = provider
    self.hasCertificate = hasCertificate
    self.context = context
    self.first = first
  }

  /// All of them; when no token comes, why, and no more.
  package var findings: [Finding] {
    guard let inspection = first.inspection else { return [TokenFindings.failure(first)] + transport }
    return [answered] + transport + [expiration(inspection)] + [size] + aspects(inspection) + again + strangers
  }

  private var answered: Finding {
    let time = "\(max(first.took.nanoseconds, 0) / 1_000_000) ms"
    let key = provider.format.tokenKey
    switch provider {
    case .http: return .pass("it answers with JSON in \(time), and the token stands at `\(key)`")
    case .command: return .pass("the program ends well in \(time), and the token stands at `\(key)`")
    case .file: return .pass("the file holds a token")
    }
  }

  // MARK: - The answer

  private var response: HTTPResponse? {
    if case .http(.response(let response)) = first.outcome { response } else { nil }
  }

  private var transport: [Finding] {
    guard let response else { return [] }
    if (300..<400).contains(response.status) { return [] }
    return [contentType(response), caching(response)]
  }

  private func contentType(_ response: HTTPResponse) -> Finding {
    let type = response.header("content-type")?.prefix { $0 != ";" }.lowercased()
    guard type == "application/json" else {
      return .warn(
        "the answer's Content-Type is \(type.map { "\"\(ExternalText($0, limit: 60))\"" } ?? "not stated")",
        "Answer with Content-Type: application/json")
    }
    return .pass("the answer says that it is JSON")
  }

  /// A token that a cache keeps is given to others, or too late.
  private func caching(_ response: HTTPResponse) -> Finding {
    let words = (response.header("cache-control") ?? "").lowercased().split { $0 == "," || $0 == " " }
    if let age = response.header("age").flatMap({ Int($0) }), age > 0 {
      return .fail("the answer has lain in a cache for \(age) s", "Answer with Cache-Control: no-store")
    }
    if words.contains("no-store") { return .pass("no cache may keep the answer") }
    return .warn(
      words.isEmpty
        ? "the answer does not say that no cache may keep it" : "the answer's Cache-Control lets a cache keep it",
      "Answer with Cache-Control: no-store")
  }

  private func expiration(_ inspection: TokenInspection) -> Finding {
    if case .failure(let failure) = first.verdict, [.missingField, .unknownLifetime].contains(failure.reason) {
      return .fail(failure.message, failure.advice)
    }
    guard let told = first.toldExpiration else { return .pass("the token's end is read in its own `exp`") }
    let key = provider.format.expirationKey ?? ""
    guard let seconds = inspection.claims?.value(at: "exp")?.integer else {
      return .warn("`\(key)` can be read, and there is no `exp` to hold it against", "Sign `exp`")
    }
    let late = told - Timestamp(seconds: seconds)
    let distance = late < .zero ? .zero - late : late
    guard distance > TokenFindings.tolerance else { return .pass("`\(key)` can be read, and agrees with `exp`") }
    let advice =
      "Tell the token's own end, and check token.expiration_format (it is \(provider.format.expiration.rawValue))"
    return late > .zero
      ? .fail("`\(key)` is \(distance.spoken) after `exp`: the vehicle would keep a dead token", advice)
      : .warn(
        "`\(key)` is \(distance.spoken) before `exp`: it is asked more often than it need be", advice)
  }

  private var size: Finding {
    let count = first.secret?.reveal().utf8.count ?? 0
    guard count > 4096 else { return .pass("the token has \(count) bytes") }
    return .warn(
      "the token has \(count) bytes; servers take 8 to 16 kB of headers in all, and each update carries it",
      "Sign only the claims that Fleet Engine reads: docs/token-provider.md")
  }

  // MARK: - The token

  private typealias Kind = TokenInspection.Problem.Kind

  private func aspects(_ inspection: TokenInspection) -> [Finding] {
    let scope = context.scope
    let life = inspection.lifetime.map { $0.spoken } ?? ""
    let aspects: [(kinds: Set<Kind>, good: String)] = [
      ([.headerUnreadable, .unsigned, .algorithm, .signatureMissing], "it is signed with RS256, as far as it says"),
      ([.keyIDMissing], "`kid` names the key"),
      ([.audience], "the audience is Fleet Engine"),
      ([.account], "`iss` and `sub` are one account"),
      (
        [.issueTimeMissing, .expirationMissing, .lifetimeTooLong, .lifetimeEmpty, .notYetValid, .expired],
        "it lives for \(life), not longer than the hour that is allowed, and its time is now"
      ),
      (
        [.authorizationMissing, .claimMissing, .claimMistyped, .otherContext, .anyContext],
        "the `authorization` claim is for \(scope.noun) \"\(scope.id)\""
      ),
    ]
    // Nothing can be said of the parts of something that is no token.
    if let problem = inspection.problems.first(where: { $0.kind == .notJWT }) { return [problem.finding] }
    return aspects.flatMap { aspect in
      let problems = inspection.problems.filter { aspect.kinds.contains($0.kind) }
      return problems.isEmpty ? [.pass(aspect.good)] : problems.map(\.finding)
    }
  }

  // MARK: - Other requests

  private var again: [Finding] {
    guard let second else { return [] }
    guard let inspection = second.inspection else {
      return [.fail("asked again at once, it gives no token: \(sentence(second))", "Let it answer each request alike")]
    }
    let before = Set((first.inspection?.problems ?? []).map(\.kind.rawValue))
    let new = inspection.problems.filter { $0.isFatal && !before.contains($0.kind.rawValue) }
    if let problem = new.first {
      return [.fail("asked again at once, it gives a token with a problem: \(problem.sentence)", problem.advice)]
    }
    return [
      .pass("asked again at once, it gives \(second.secret == first.secret ? "the same token" : "another token")")
    ]
  }

  private var strangers: [Finding] {
    guard let stranger else {
      guard case .http = provider else { return [] }
      return [
        .warn(
          "nothing in the settings says who asks: whoever reaches the URL gets a token",
          "Give each box a credential or a certificate: token.headers, token.client_certificate")
      ]
    }
    if stranger.secret != nil {
      return [
        .fail("it gives a token for wrong credentials too", "Let it see who asks before it signs, and answer 401")
      ]
    }
    guard case .http(let outcome) = stranger.outcome else { return [] }
    switch outcome {
    case .response(let response) where [401, 403].contains(response.status):
      return [.pass("it refuses wrong credentials: HTTP \(response.status)")]
    case .response(let response):
      return [
        .warn(
          "it answers wrong credentials with HTTP \(response.status)", "401 or 403 would tell the box what is wrong")
      ]
    case .failure(let failure):
      switch failure.kind {
      case .handshakeFailed where hasCertificate, .broken where hasCertificate:
        return [.pass("it takes no connection without the box's certificate")]
      default:
        return [.warn("it could not be asked with wrong credentials: \(failure.message)", "Try again")]
      }
    }
  }

  private func sentence(_ answer: TokenInquiry.Answer) -> String {
    if case .failure(let failure) = answer.verdict { failure.message } else { "" }
  }
}
